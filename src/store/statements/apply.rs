//! Makes a decision's changes in rows, each one guarded; a row that is not as decided upon fails the whole job.
//! `SessionView::apply` makes the same changes in memory. May import: the store's shared parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::crash;
use crate::ids::{MessageId, Micros, PermissionId, SessionId, TurnId};
use crate::lifecycle::{
    Change, KeyRecord, KeyResult, MessageRow, PERMISSION_KIND, Permission, Question, QuestionGuard, Session,
    SessionView, Turn, TurnGuard, Waiter, permission_metadata, question_metadata,
};
use crate::store::error::Error;
use crate::store::kept::Kept;
use crate::store::records::{KeyRow, NewMessageRecord, SessionRecord, TurnRecord, json, object, result_columns};
use crate::store::schema::{
    clarification_waiters as waiters, client_keys as keys, task_session_messages as messages,
    task_session_turns as turns, task_sessions as sessions,
};

use super::{Conn, view};

/// Makes the changes in order.
pub(in crate::store) async fn apply(
    conn: &mut Conn,
    session: &SessionId,
    view: &SessionView,
    changes: &[Change],
) -> Result<(), Error> {
    let made = changes.iter().find_map(|change| match change {
        Change::InsertSession(made) => Some(&made.id),
        _ => None,
    });
    let own = made.unwrap_or(session).as_str();
    // A session's row is written once, as the last of its rewrites says.
    let last_set = changes.iter().rposition(|change| matches!(change, Change::SetSession(_)));
    for (index, change) in changes.iter().enumerate() {
        if matches!(change, Change::SetSession(_)) && Some(index) != last_set {
            continue;
        }
        make(conn, own, view, change).await?;
        crash::point(between(change));
    }
    Ok(())
}

/// The crash point behind a row that is written, in a transaction that is still open.
fn between(change: &Change) -> &'static str {
    match change {
        Change::InsertQuestion(_) => "CP-02",
        Change::InsertTurn(_) | Change::SetTurn(..) => "CP-25",
        Change::DeleteReservation(_) => "CP-35",
        _ => "CP-10",
    }
}

async fn make(conn: &mut Conn, own: &str, view: &SessionView, change: &Change) -> Result<(), Error> {
    match change {
        Change::InsertSession(session) => session_insert(conn, session).await,
        Change::SetSession(session) => session_set(conn, view.session.as_ref(), session).await,
        Change::DeleteSession => session_delete(conn, own).await,
        Change::InsertTurn(turn) => turn_insert(conn, own, turn).await,
        Change::SetTurn(guard, turn) => turn_set(conn, own, *guard, turn).await,
        Change::DeleteReservation(id) => reservation_delete(conn, own, id).await,
        Change::InsertQuestion(question) => message_insert(conn, NewMessageRecord::question(own, question)).await,
        Change::SetQuestion(guard, question) => question_set(conn, own, guard, question).await,
        Change::InsertMessage(row) => message_insert(conn, transcript_record(own, row)).await,
        Change::SetMessageContent(id, content, at) => content_set(conn, own, id, content, *at).await,
        Change::DeleteMessage(id) => message_delete(conn, own, id).await,
        Change::InsertPermission(permission, content, at) => {
            message_insert(conn, permission_record(own, permission, content, *at)).await
        }
        Change::ResolvePermission(id, status, at) => permission_resolve(conn, own, id, status, *at).await,
        Change::InsertWaiter(waiter) => waiter_insert(conn, own, waiter).await,
        Change::DeleteWaiter(pending, id) => {
            let row = waiters::table.find((pending.as_str(), id.as_str()));
            one(diesel::delete(row).execute(conn).await?, "waiter", id.as_str())
        }
        Change::InsertKey(record) => key_insert(conn, own, record).await,
        Change::DeleteKeys(result) => keys_delete(conn, own, result).await,
        // Written by the engine, which may do so once for many decisions.
        Change::TouchTask(_) => Ok(()),
    }
}

/// Exactly one row met the guard.
fn one(count: usize, what: &str, id: &str) -> Result<(), Error> {
    if count == 1 { Ok(()) } else { Err(Error::Guard(format!("{what} {id}: {count} rows"))) }
}

async fn session_insert(conn: &mut Conn, session: &Session) -> Result<(), Error> {
    let values = (SessionRecord::new(session), sessions::last_ordinal.eq(0), sessions::last_started_us.eq(0));
    one(diesel::insert_into(sessions::table).values(values).execute(conn).await?, "session", session.id.as_str())
}

/// Most decisions move nothing but the session's counters; those are in no index.
async fn session_set(conn: &mut Conn, old: Option<&Session>, session: &Session) -> Result<(), Error> {
    let row = sessions::table
        .filter(sessions::id.eq(session.id.as_str()))
        .filter(sessions::sequence.le(session.sequence.0))
        .filter(sessions::generation.le(session.generation.0));
    let count = if old.is_some_and(|old| old.differs_in_counters_only(session)) {
        let set = (sessions::sequence.eq(session.sequence.0), sessions::updated_us.eq(session.updated_at.0));
        Kept(diesel::update(row).set(set)).execute(conn).await?
    } else {
        Kept(diesel::update(row).set(SessionRecord::new(session))).execute(conn).await?
    };
    one(count, "session", session.id.as_str())
}

/// The cascade of a session stands here, not in the schema.
pub(super) async fn session_delete(conn: &mut Conn, own: &str) -> Result<(), Error> {
    diesel::delete(messages::table.filter(messages::session_id.eq(own))).execute(conn).await?;
    diesel::delete(turns::table.filter(turns::session_id.eq(own))).execute(conn).await?;
    diesel::delete(keys::table.filter(keys::session_id.eq(own))).execute(conn).await?;
    diesel::delete(waiters::table.filter(waiters::session_id.eq(own))).execute(conn).await?;
    one(diesel::delete(sessions::table.filter(sessions::id.eq(own))).execute(conn).await?, "session", own)
}

async fn turn_insert(conn: &mut Conn, own: &str, turn: &Turn) -> Result<(), Error> {
    let insert = diesel::insert_into(turns::table).values(TurnRecord::new(own, turn));
    one(insert.execute(conn).await?, "turn", turn.id.as_str())?;
    // An ordinal is never given out twice, so the session remembers it even when its turn is deleted.
    let row = sessions::table.filter(sessions::id.eq(own)).filter(sessions::last_ordinal.lt(turn.ordinal.0));
    let set = (sessions::last_ordinal.eq(turn.ordinal.0), sessions::last_started_us.eq(turn.started_at.0));
    one(Kept(diesel::update(row).set(set)).execute(conn).await?, "ordinal of turn", turn.id.as_str())
}

async fn turn_set(conn: &mut Conn, own: &str, guard: TurnGuard, turn: &Turn) -> Result<(), Error> {
    let row = turns::table
        .filter(turns::id.eq(turn.id.as_str()))
        .filter(turns::session_id.eq(own))
        .filter(turns::is_reserved.eq(guard.is_reserved))
        .filter(turns::is_attempted.eq(guard.is_attempted))
        .filter(turns::has_ended.eq(guard.has_ended));
    let count = Kept(diesel::update(row).set(TurnRecord::new(own, turn))).execute(conn).await?;
    one(count, "turn", turn.id.as_str())
}

async fn reservation_delete(conn: &mut Conn, own: &str, id: &TurnId) -> Result<(), Error> {
    if view::is_referenced(conn, id).await? {
        return Err(Error::Guard(format!("reservation {id}: a message references it")));
    }
    let row = turns::table
        .filter(turns::id.eq(id.as_str()))
        .filter(turns::session_id.eq(own))
        .filter(turns::is_reserved)
        .filter(turns::has_evidence.eq(false));
    one(diesel::delete(row).execute(conn).await?, "reservation", id.as_str())
}

async fn message_insert(conn: &mut Conn, record: NewMessageRecord) -> Result<(), Error> {
    diesel::insert_into(messages::table).values(record).execute(conn).await?;
    Ok(())
}

fn transcript_record(own: &str, row: &MessageRow) -> NewMessageRecord {
    NewMessageRecord {
        id: row.id.as_str().to_owned(),
        session_id: own.to_owned(),
        turn_id: row.turn_id.as_str().to_owned(),
        author: row.author.clone(),
        kind: row.kind.clone(),
        content: row.content.clone(),
        metadata: json(row.metadata.clone()),
        created_us: row.created_at.0,
        updated_us: row.created_at.0,
    }
}

fn permission_record(own: &str, permission: &Permission, content: &str, at: Micros) -> NewMessageRecord {
    NewMessageRecord {
        id: permission.message_id.as_str().to_owned(),
        session_id: own.to_owned(),
        turn_id: permission.turn_id.as_str().to_owned(),
        author: "agent".to_owned(),
        kind: PERMISSION_KIND.to_owned(),
        content: content.to_owned(),
        metadata: json(permission_metadata(permission.id.as_str(), "pending")),
        created_us: at.0,
        updated_us: at.0,
    }
}

async fn question_set(
    conn: &mut Conn,
    own: &str,
    guard: &QuestionGuard,
    question: &Question,
) -> Result<(), Error> {
    let row = messages::table
        .filter(messages::id.eq(question.id.as_str()))
        .filter(messages::session_id.eq(own))
        .filter(messages::status.eq(guard.status.as_str()))
        .filter(messages::has_intent.eq(guard.has_intent));
    let set =
        (messages::metadata.eq(json(question_metadata(question))), messages::updated_us.eq(question.updated_at.0));
    one(Kept(diesel::update(row).set(set)).execute(conn).await?, "question", question.id.as_str())
}

async fn content_set(conn: &mut Conn, own: &str, id: &MessageId, content: &str, at: Micros) -> Result<(), Error> {
    let row = messages::table.filter(messages::id.eq(id.as_str())).filter(messages::session_id.eq(own));
    let set = (messages::content.eq(content), messages::updated_us.eq(at.0));
    one(Kept(diesel::update(row).set(set)).execute(conn).await?, "message", id.as_str())
}

async fn message_delete(conn: &mut Conn, own: &str, id: &MessageId) -> Result<(), Error> {
    let row = messages::table.filter(messages::id.eq(id.as_str())).filter(messages::session_id.eq(own));
    one(diesel::delete(row).execute(conn).await?, "message", id.as_str())
}

async fn permission_resolve(
    conn: &mut Conn,
    own: &str,
    id: &PermissionId,
    status: &str,
    at: Micros,
) -> Result<(), Error> {
    let open = messages::table
        .filter(messages::session_id.eq(own))
        .filter(messages::is_permission_open)
        .filter(messages::permission_id.eq(id.as_str()));
    let found: Option<(String, String)> =
        open.select((messages::id, messages::metadata)).first(conn).await.optional()?;
    let Some((row_id, text)) = found else { return one(0, "permission", id.as_str()) };
    let mut metadata = object(&text, &row_id)?;
    metadata.insert("status".to_owned(), status.into());
    let row = messages::table.filter(messages::id.eq(row_id)).filter(messages::is_permission_open);
    let set = (messages::metadata.eq(json(metadata)), messages::updated_us.eq(at.0));
    one(Kept(diesel::update(row).set(set)).execute(conn).await?, "permission", id.as_str())
}

async fn waiter_insert(conn: &mut Conn, own: &str, waiter: &Waiter) -> Result<(), Error> {
    let values = (
        waiters::pending_id.eq(waiter.pending_id.as_str()),
        waiters::id.eq(waiter.id.as_str()),
        waiters::session_id.eq(own),
        waiters::epoch.eq(waiter.epoch.0),
    );
    diesel::insert_into(waiters::table).values(values).execute(conn).await?;
    Ok(())
}

async fn key_insert(conn: &mut Conn, own: &str, record: &KeyRecord) -> Result<(), Error> {
    diesel::insert_into(keys::table).values(KeyRow::new(own, record)).execute(conn).await?;
    Ok(())
}

async fn keys_delete(conn: &mut Conn, own: &str, result: &KeyResult) -> Result<(), Error> {
    let (kind, id, claim) = result_columns(result);
    let rows = keys::table
        .filter(keys::session_id.eq(own))
        .filter(keys::result_kind.eq(kind))
        .filter(keys::result_id.eq(id))
        .filter(keys::result_claim.eq(claim));
    diesel::delete(rows).execute(conn).await?;
    Ok(())
}
