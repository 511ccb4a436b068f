//! Loads what stands of a session, whatever the command is: the part of a view that outlives it, and nothing of
//! history. Few statements, each one kept. `focus` adds what a command names. May import: the store's shared parts.

use std::collections::BTreeSet;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, Micros, Ordinal, PendingId, SessionId, TurnId, WaiterId};
use crate::lifecycle::{Bundle, Focus, SessionView, Turn, Waiter};
use crate::store::error::Error;
use crate::store::records::{MessageRecord, SessionRecord, TurnRecord};
use crate::store::schema::{
    backend_generations as generations, clarification_waiters as waiters, task_session_messages as messages,
    task_session_turns as turns, task_sessions as sessions,
};

use super::{Conn, bundles, focus};

diesel::define_sql_function! {
    #[sql_name = "COALESCE"]
    fn number_or(number: Nullable<BigInt>, other: BigInt) -> BigInt;
}

diesel::alias!(task_session_turns as older: Older, task_session_messages as inner_rows: InnerRows);

use crate::store::schema::{task_session_messages, task_session_turns};

/// All that a command may need.
pub(in crate::store) async fn load(
    conn: &mut Conn,
    session: &SessionId,
    focus: &Focus,
    own: Option<Epoch>,
) -> Result<SessionView, Error> {
    let mut view = standing(conn, session, own).await?;
    focus::add(conn, session, focus, own, &mut view).await?;
    Ok(view)
}

/// What stands, for a server of that generation; a generation that is over is refused.
pub(in crate::store) async fn standing(
    conn: &mut Conn,
    session: &SessionId,
    own: Option<Epoch>,
) -> Result<SessionView, Error> {
    let mut view = SessionView::default();
    load_session(conn, session, own, &mut view).await?;
    if view.session.is_none() {
        return Ok(view);
    }
    turns_load(conn, session, &mut view).await?;
    view.waiters = waiters_load(conn, session).await?;
    standing_rows(conn, session, &mut view).await?;
    let named: BTreeSet<PendingId> =
        view.watched().chain(view.waiters.iter().map(|waiter| &waiter.pending_id)).cloned().collect();
    for id in named {
        add_bundle(conn, session, &id, &mut view).await?;
    }
    view.waiters.retain(|waiter| view.bundles.iter().any(|bundle| bundle.pending_id == waiter.pending_id));
    add_missing_turns(conn, session, &mut view).await?;
    Ok(view)
}

async fn load_session(
    conn: &mut Conn,
    session: &SessionId,
    own: Option<Epoch>,
    view: &mut SessionView,
) -> Result<(), Error> {
    let is_alive =
        |epoch: i64| exists(generations::table.filter(generations::epoch.eq(epoch)).filter(generations::is_live));
    let epoch = own.map_or(0, |epoch| epoch.0);
    let found: Option<(SessionRecord, i64, i64, bool)> = sessions::table
        .filter(sessions::id.eq(session.as_str()))
        .select((SessionRecord::as_select(), sessions::last_ordinal, sessions::last_started_us, is_alive(epoch)))
        .first(conn)
        .await
        .optional()?;
    let is_own_alive = match found {
        Some((record, ordinal, started, is_own_alive)) => {
            view.session = Some(record.read()?);
            view.last_ordinal = Ordinal(ordinal);
            view.last_started_at = Micros(started);
            is_own_alive
        }
        None => diesel::select(is_alive(epoch)).get_result(conn).await?,
    };
    match own {
        Some(epoch) if !is_own_alive => Err(Error::Fenced(epoch)),
        _ => Ok(()),
    }
}

/// The newest turn that no refusal can take back and all newer ones, reservations, and turns that are not over (an
/// attempted successor is current before its predecessor ends).
async fn turns_load(conn: &mut Conn, session: &SessionId, view: &mut SessionView) -> Result<(), Error> {
    let own = || turns::table.filter(turns::session_id.eq(session.as_str()));
    let settled = older
        .filter(older.field(turns::session_id).eq(session.as_str()))
        .filter(older.field(turns::is_authoritative))
        .filter(not(older.field(turns::is_reserved)))
        .order(older.field(turns::ordinal).desc())
        .limit(1)
        .select(older.field(turns::ordinal))
        .single_value();
    let newest = own().filter(turns::ordinal.ge(number_or(settled, 0))).select(TurnRecord::as_select());
    let reserved = own().filter(turns::is_reserved).select(TurnRecord::as_select());
    let open = own().filter(not(turns::has_ended)).select(TurnRecord::as_select());
    let rows: Vec<TurnRecord> = newest.union_all(reserved).union_all(open).load(conn).await?;
    add_turns(&mut view.turns, rows)
}

pub(super) fn add_turns(found: &mut Vec<Turn>, rows: Vec<TurnRecord>) -> Result<(), Error> {
    for row in rows {
        if !found.iter().any(|turn| turn.id.as_str() == row.id) {
            found.push(row.read()?);
        }
    }
    found.sort_by_key(|turn| turn.ordinal);
    Ok(())
}

/// Whole bundles with an undecided row in the current or the settled turn or with an intent, and open permissions of
/// the current turn.
async fn standing_rows(conn: &mut Conn, session: &SessionId, view: &mut SessionView) -> Result<(), Error> {
    let current = view.current_turn().map_or("", |turn| turn.id.as_str());
    let settled = view.settled_turn().map_or("", |turn| turn.id.as_str());
    let own = || messages::table.filter(messages::session_id.eq(session.as_str()));
    let inner = || inner_rows.filter(inner_rows.field(messages::session_id).eq(session.as_str()));
    let turn = inner_rows.field(messages::turn_id);
    let open = inner()
        .filter(inner_rows.field(messages::is_open))
        .filter(turn.eq(current).or(turn.eq(settled)).or(turn.eq("")))
        .select(inner_rows.field(messages::pending_id));
    let claimed =
        inner().filter(inner_rows.field(messages::has_intent)).select(inner_rows.field(messages::pending_id));
    let of_open = own().filter(messages::is_question).filter(messages::pending_id.eq_any(open));
    let of_claimed = own().filter(messages::is_question).filter(messages::pending_id.eq_any(claimed));
    let permitted = own().filter(messages::is_permission_open).filter(messages::turn_id.eq(current));
    let rows: Vec<MessageRecord> = of_open
        .select(MessageRecord::as_select())
        .union_all(of_claimed.select(MessageRecord::as_select()))
        .union_all(permitted.select(MessageRecord::as_select()))
        .load(conn)
        .await?;
    view.permissions = rows.iter().filter_map(MessageRecord::permission).collect();
    add_bundles(&mut view.bundles, &rows)
}

/// Adds a whole bundle, if it is not loaded.
pub(super) async fn add_bundle(
    conn: &mut Conn,
    session: &SessionId,
    id: &PendingId,
    view: &mut SessionView,
) -> Result<(), Error> {
    if view.bundle(id).is_some() {
        return Ok(());
    }
    let rows: Vec<MessageRecord> = messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .filter(messages::is_question)
        .filter(messages::pending_id.eq(id.as_str()))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?;
    add_bundles(&mut view.bundles, &rows)
}

/// Adds bundles whose rows are all here; a row may be here twice.
fn add_bundles(found: &mut Vec<Bundle>, rows: &[MessageRecord]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    let mut questions = Vec::new();
    for row in rows.iter().filter(|row| seen.insert(row.id.as_str())) {
        questions.extend(row.question()?);
    }
    found.extend(bundles::group(questions));
    found.sort_by(|a, b| a.place().cmp(&b.place()));
    Ok(())
}

/// Turns of loaded bundles that are older than the current one.
pub(super) async fn add_missing_turns(
    conn: &mut Conn,
    session: &SessionId,
    view: &mut SessionView,
) -> Result<(), Error> {
    let named = view.bundles.iter().flat_map(|bundle| &bundle.questions).map(|question| &question.turn_id);
    let missing: BTreeSet<&TurnId> =
        named.filter(|id| !id.as_str().is_empty() && view.turn(id).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let rows: Vec<TurnRecord> = turns::table
        .filter(turns::id.eq_any(missing.into_iter().map(TurnId::as_str)))
        .filter(turns::session_id.eq(session.as_str()))
        .select(TurnRecord::as_select())
        .load(conn)
        .await?;
    add_turns(&mut view.turns, rows)
}

/// A session's waiters; they are few, because a superseded or decided bundle has none.
async fn waiters_load(conn: &mut Conn, session: &SessionId) -> Result<Vec<Waiter>, Error> {
    let rows: Vec<(String, String, i64)> = waiters::table
        .filter(waiters::session_id.eq(session.as_str()))
        .order((waiters::pending_id, waiters::id))
        .select((waiters::id, waiters::pending_id, waiters::epoch))
        .load(conn)
        .await?;
    let read = |(id, pending, epoch)| Waiter {
        id: WaiterId::new(id),
        pending_id: PendingId::new(pending),
        epoch: Epoch(epoch),
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Whether a message is there at all that names the turn.
pub(super) async fn is_referenced(conn: &mut Conn, turn: &TurnId) -> Result<bool, Error> {
    let rows = messages::table.filter(messages::turn_id.eq(turn.as_str()));
    let is_absent: bool = diesel::select(not(exists(rows))).get_result(conn).await?;
    Ok(!is_absent)
}
