//! Loads what a decision sees, and nothing of history. Few statements, each one cached; what would find nothing is
//! not asked. May import: the store's shared parts.

use std::collections::BTreeSet;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, MessageId, Micros, Ordinal, PendingId, SessionId, TaskId, TurnId, WaiterId, WorkspaceId};
use crate::lifecycle::{
    Bundle, Focus, FocusScope, KeyRecord, KeyResult, KeyScope, MessageRef, Question, SessionView, TaskRef, Turn,
    Waiter,
};
use crate::store::error::Error;
use crate::store::records::{KeyRow, MessageRecord, SessionRecord, TurnRecord, scope_columns};
use crate::store::schema::{
    backend_generations as generations, clarification_waiters as waiters, client_keys as keys,
    task_session_messages as messages, task_session_turns as turns, task_sessions as sessions, tasks,
};

use super::Conn;

diesel::define_sql_function! {
    #[sql_name = "COALESCE"]
    fn number_or(number: Nullable<BigInt>, other: BigInt) -> BigInt;
}

diesel::alias!(task_session_turns as older: Older, task_session_messages as inner_rows: InnerRows);

use crate::store::schema::{task_session_messages, task_session_turns};

/// Loads a view. With `own`, that generation must be alive: it is about to write.
pub(in crate::store) async fn load(
    conn: &mut Conn,
    session: &SessionId,
    focus: &Focus,
    own: Option<Epoch>,
) -> Result<SessionView, Error> {
    let mut view = SessionView::default();
    load_session(conn, session, own, &mut view).await?;
    if let Some(task) = &focus.task_id {
        view.task = task_load(conn, task).await?;
    }
    if view.session.is_none() {
        return Ok(view);
    }
    view.turns = turns_load(conn, session, focus.turn_id.as_ref()).await?;
    if let Some((key, scope)) = &focus.key
        && let Some(scope) = key_scope(&view, scope)
    {
        view.keys = keys_load(conn, session, &scope, key.as_str()).await?;
    }
    view.waiters = waiters_load(conn, session).await?;
    load_messages(conn, session, focus, &mut view).await?;
    load_missing_turns(conn, session, &mut view).await?;
    view.dead_epochs = dead_epochs(conn, &view, own).await?;
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

async fn task_load(conn: &mut Conn, id: &TaskId) -> Result<Option<TaskRef>, Error> {
    let workspace: Option<String> =
        tasks::table.filter(tasks::id.eq(id.as_str())).select(tasks::workspace_id).first(conn).await.optional()?;
    let Some(workspace) = workspace else { return Ok(None) };
    let count = sessions::table.filter(sessions::task_id.eq(id.as_str())).count().get_result(conn).await?;
    Ok(Some(TaskRef { id: id.clone(), workspace_id: WorkspaceId::new(workspace), session_count: count }))
}

/// The newest turn that no refusal can take back and all newer ones, reservations, turns that are not over (an
/// attempted successor is current before its predecessor ends), and the turn named.
async fn turns_load(conn: &mut Conn, session: &SessionId, named: Option<&TurnId>) -> Result<Vec<Turn>, Error> {
    let settled = older
        .filter(older.field(turns::session_id).eq(session.as_str()))
        .filter(older.field(turns::is_authoritative))
        .filter(not(older.field(turns::is_reserved)))
        .order(older.field(turns::ordinal).desc())
        .limit(1)
        .select(older.field(turns::ordinal))
        .single_value();
    let newest = turns::table
        .filter(turns::session_id.eq(session.as_str()))
        .filter(turns::ordinal.ge(number_or(settled, 0)))
        .select(TurnRecord::as_select());
    let reserved = turns::table
        .filter(turns::session_id.eq(session.as_str()))
        .filter(turns::is_reserved)
        .select(TurnRecord::as_select());
    let open = turns::table
        .filter(turns::session_id.eq(session.as_str()))
        .filter(not(turns::has_ended))
        .select(TurnRecord::as_select());
    let standing = newest.union_all(reserved).union_all(open);
    let rows: Vec<TurnRecord> = match named {
        None => standing.load(conn).await?,
        Some(id) => {
            let named = turns::table
                .filter(turns::id.eq(id.as_str()))
                .filter(turns::session_id.eq(session.as_str()))
                .select(TurnRecord::as_select());
            standing.union_all(named).load(conn).await?
        }
    };
    let mut found = Vec::with_capacity(rows.len());
    add_turns(&mut found, rows)?;
    Ok(found)
}

fn add_turns(found: &mut Vec<Turn>, rows: Vec<TurnRecord>) -> Result<(), Error> {
    for row in rows {
        if !found.iter().any(|turn| turn.id.as_str() == row.id) {
            found.push(row.read()?);
        }
    }
    found.sort_by_key(|turn| turn.ordinal);
    Ok(())
}

fn key_scope(view: &SessionView, scope: &FocusScope) -> Option<KeyScope> {
    match scope {
        FocusScope::CurrentTurn => Some(KeyScope::Turn(view.current_turn()?.id.clone())),
        FocusScope::Bundle(pending, principal) => Some(KeyScope::Bundle(pending.clone(), principal.clone())),
        FocusScope::Session(principal) => Some(KeyScope::Session(principal.clone())),
    }
}

async fn keys_load(
    conn: &mut Conn,
    session: &SessionId,
    scope: &KeyScope,
    key: &str,
) -> Result<Vec<KeyRecord>, Error> {
    let (kind, id, principal) = scope_columns(scope);
    let rows: Vec<KeyRow> = keys::table
        .filter(keys::session_id.eq(session.as_str()))
        .filter(keys::scope_kind.eq(kind))
        .filter(keys::scope_id.eq(id))
        .filter(keys::principal.eq(principal))
        .filter(keys::key.eq(key))
        .select(KeyRow::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(KeyRow::read).collect()
}

/// Bundles, permissions and the message named.
async fn load_messages(
    conn: &mut Conn,
    session: &SessionId,
    focus: &Focus,
    view: &mut SessionView,
) -> Result<(), Error> {
    let current = view.current_turn().map(|turn| turn.id.as_str().to_owned()).unwrap_or_default();
    let settled = settled_turn(view).map(|turn| turn.id.as_str().to_owned()).unwrap_or_default();
    let mut wanted = named_bundles(view, focus);
    let first = focus.pending_id.clone();
    let mut rows = standing_rows(conn, session, [&current, &settled], first.as_ref()).await?;
    if let Some(id) = &focus.message_id {
        rows.extend(message_row(conn, session, id).await?);
    }
    if let Some(id) = &focus.permission_id {
        rows.extend(permission_row(conn, session, id.as_str()).await?);
    }
    let mut found = Found::default();
    found.add(rows, focus)?;
    if let Some(question) = focus.message_id.as_ref().and_then(|id| found.questions.iter().find(|q| &q.id == id)) {
        wanted.insert(question.pending_id.clone());
    }
    wanted.retain(|id| Some(id) != first.as_ref() && !found.is_whole(id));
    for id in &wanted {
        found.whole.insert(id.clone());
        let rows = bundle_rows(conn, session, id).await?;
        found.add(rows, focus)?;
    }
    view.bundles = found.bundles();
    view.waiters.retain(|waiter| view.bundles.iter().any(|bundle| bundle.pending_id == waiter.pending_id));
    view.permissions = found.permissions;
    view.message = found.message;
    Ok(())
}

/// Bundles that the command, a waiter, a watchdog or the command's key names.
fn named_bundles(view: &SessionView, focus: &Focus) -> BTreeSet<PendingId> {
    let mut named: BTreeSet<PendingId> = focus.pending_id.iter().cloned().collect();
    named.extend(view.turns.iter().filter_map(|turn| Some(turn.watchdog.as_ref()?.pending_id.clone())));
    named.extend(view.waiters.iter().map(|waiter| waiter.pending_id.clone()));
    named.extend(view.keys.iter().filter_map(|record| match &record.result {
        KeyResult::Asked(id) => Some(id.clone()),
        KeyResult::Responded(..) | KeyResult::Prompted(_) => None,
    }));
    named
}

/// The turn that is current again once a reservation is refused.
fn settled_turn(view: &SessionView) -> Option<&Turn> {
    let is_settled = |turn: &&Turn| turn.is_authoritative() && turn.reservation.is_none();
    view.turns.iter().filter(is_settled).max_by_key(|turn| turn.ordinal)
}

/// Whole bundles with an undecided row in the current or the settled turn or with an intent, the first one named,
/// and open permissions of the current turn.
async fn standing_rows(
    conn: &mut Conn,
    session: &SessionId,
    [current, settled]: [&str; 2],
    named: Option<&PendingId>,
) -> Result<Vec<MessageRecord>, Error> {
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
    let standing = of_open
        .select(MessageRecord::as_select())
        .union_all(of_claimed.select(MessageRecord::as_select()))
        .union_all(permitted.select(MessageRecord::as_select()));
    let rows = match named {
        None => standing.load(conn).await?,
        Some(id) => {
            let named = own().filter(messages::is_question).filter(messages::pending_id.eq(id.as_str()));
            standing.union_all(named.select(MessageRecord::as_select())).load(conn).await?
        }
    };
    Ok(rows)
}

async fn message_row(conn: &mut Conn, session: &SessionId, id: &MessageId) -> Result<Vec<MessageRecord>, Error> {
    Ok(messages::table
        .filter(messages::id.eq(id.as_str()))
        .filter(messages::session_id.eq(session.as_str()))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?)
}

async fn permission_row(conn: &mut Conn, session: &SessionId, id: &str) -> Result<Vec<MessageRecord>, Error> {
    Ok(messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .filter(messages::is_permission_open)
        .filter(messages::permission_id.eq(id))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?)
}

async fn bundle_rows(conn: &mut Conn, session: &SessionId, id: &PendingId) -> Result<Vec<MessageRecord>, Error> {
    Ok(messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .filter(messages::is_question)
        .filter(messages::pending_id.eq(id.as_str()))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?)
}

/// Message rows sorted into what they are.
#[derive(Default)]
struct Found {
    seen: BTreeSet<String>,
    whole: BTreeSet<PendingId>,
    questions: Vec<Question>,
    permissions: Vec<crate::lifecycle::Permission>,
    message: Option<MessageRef>,
}

impl Found {
    /// The message named does not make its bundle whole; all other question rows come with theirs.
    fn add(&mut self, rows: Vec<MessageRecord>, focus: &Focus) -> Result<(), Error> {
        for row in rows {
            let is_named = focus.message_id.as_ref().is_some_and(|id| id.as_str() == row.id);
            if !self.seen.insert(row.id.clone()) {
                continue;
            }
            if let Some(question) = row.question()? {
                if !is_named {
                    self.whole.insert(question.pending_id.clone());
                }
                self.questions.push(question);
                continue;
            }
            self.permissions.extend(row.permission());
            if is_named {
                let (id, turn_id) = (MessageId::new(row.id), TurnId::new(row.turn_id));
                self.message = Some(MessageRef { id, turn_id });
            }
        }
        Ok(())
    }

    fn is_whole(&self, id: &PendingId) -> bool {
        self.whole.contains(id)
    }

    fn bundles(&mut self) -> Vec<Bundle> {
        super::bundles::group(std::mem::take(&mut self.questions))
    }
}

/// Turns of loaded bundles that are older than the current one.
async fn load_missing_turns(conn: &mut Conn, session: &SessionId, view: &mut SessionView) -> Result<(), Error> {
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

/// Generations that own something loaded and are not alive. Asked only if one beside our own owns anything.
async fn dead_epochs(conn: &mut Conn, view: &SessionView, own: Option<Epoch>) -> Result<Vec<Epoch>, Error> {
    let claims = view.bundles.iter().filter_map(|bundle| Some(bundle.open_claim()?.epoch));
    let reservations = view.turns.iter().filter_map(|turn| Some(turn.reservation.as_ref()?.epoch));
    let waiting = view.waiters.iter().map(|waiter| waiter.epoch);
    let mut owners: BTreeSet<Epoch> = claims.chain(reservations).chain(waiting).collect();
    owners.retain(|epoch| Some(*epoch) != own);
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let alive: Vec<i64> =
        generations::table.filter(generations::is_live).select(generations::epoch).load(conn).await?;
    Ok(owners.into_iter().filter(|epoch| !alive.contains(&epoch.0)).collect())
}

/// Whether a message is there at all that names the turn.
pub(super) async fn is_referenced(conn: &mut Conn, turn: &TurnId) -> Result<bool, Error> {
    let rows = messages::table.filter(messages::turn_id.eq(turn.as_str()));
    let is_absent: bool = diesel::select(not(exists(rows))).get_result(conn).await?;
    Ok(!is_absent)
}
