//! Turns and messages for readers. May import: the store's shared parts.

use diesel::dsl::not;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{MessageId, Ordinal, SessionId, TaskId, TurnId, WorkspaceId};
use crate::scope::Scope;
use crate::store::error::Error;
use crate::store::records::{MessageRecord, TurnRecord};
use crate::store::rows::{MessageRowOut, Page, TurnRow};
use crate::store::schema::{
    task_session_messages as messages, task_session_turns as turns, task_sessions as sessions,
};

use super::{CHUNK, Conn};

fn turn_row((record, task, workspace): (TurnRecord, String, String)) -> Result<TurnRow, Error> {
    let session_id = SessionId::new(record.session_id.as_str());
    let turn = record.read()?;
    Ok(TurnRow { turn, session_id, task_id: TaskId::new(task), workspace_id: WorkspaceId::new(workspace) })
}

/// Turns of those ids, visible or not, in no order.
pub(in crate::store) async fn turns(conn: &mut Conn, ids: &[TurnId]) -> Result<Vec<TurnRow>, Error> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<(TurnRecord, String, String)> = turns::table
            .inner_join(sessions::table)
            .filter(turns::id.eq_any(chunk.iter().map(TurnId::as_str)))
            .select((TurnRecord::as_select(), sessions::task_id, sessions::workspace_id))
            .load(conn)
            .await?;
        for row in rows {
            found.push(turn_row(row)?);
        }
    }
    Ok(found)
}

/// Visible turns of a session, in order.
pub(in crate::store) async fn turns_page(
    conn: &mut Conn,
    session: &SessionId,
    after: Option<Ordinal>,
    limit: i64,
) -> Result<Vec<TurnRow>, Error> {
    let rows: Vec<(TurnRecord, String, String)> = turns::table
        .inner_join(sessions::table)
        .filter(turns::session_id.eq(session.as_str()))
        .filter(turns::is_visible)
        .filter(turns::ordinal.gt(after.map_or(i64::MIN, |ordinal| ordinal.0)))
        .order(turns::ordinal)
        .limit(limit)
        .select((TurnRecord::as_select(), sessions::task_id, sessions::workspace_id))
        .load(conn)
        .await?;
    rows.into_iter().map(turn_row).collect()
}

/// Turns whose dispatch has an unknown outcome, in the order of their ids.
pub(in crate::store) async fn ambiguous(conn: &mut Conn, limit: i64) -> Result<Vec<TurnRow>, Error> {
    let rows: Vec<(TurnRecord, String, String)> = turns::table
        .inner_join(sessions::table)
        .filter(turns::is_ambiguous)
        .order(turns::id)
        .limit(limit)
        .select((TurnRecord::as_select(), sessions::task_id, sessions::workspace_id))
        .load(conn)
        .await?;
    rows.into_iter().map(turn_row).collect()
}

/// Reservations that no worker has claimed, of sessions with that executor, at most one of each session.
pub(in crate::store) async fn offered(
    conn: &mut Conn,
    scope: &Scope,
    executor: &str,
    session: Option<&SessionId>,
    limit: i64,
) -> Result<Vec<TurnRow>, Error> {
    let mut offers = turns::table
        .inner_join(sessions::table)
        .filter(turns::is_reserved)
        .filter(not(turns::is_attempted))
        .filter(sessions::executor.eq(executor))
        .order(turns::session_id)
        .limit(limit)
        .select((TurnRecord::as_select(), sessions::task_id, sessions::workspace_id))
        .into_boxed();
    if let Scope::Workspaces(ids) = scope {
        offers = offers.filter(sessions::workspace_id.eq_any(ids.iter().map(WorkspaceId::as_str)));
    }
    if let Some(id) = session {
        offers = offers.filter(sessions::id.eq(id.as_str()));
    }
    let rows: Vec<(TurnRecord, String, String)> = offers.load(conn).await?;
    rows.into_iter().map(turn_row).collect()
}

/// Messages of those ids, in no order.
pub(in crate::store) async fn messages(conn: &mut Conn, ids: &[MessageId]) -> Result<Vec<MessageRowOut>, Error> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<MessageRecord> = messages::table
            .filter(messages::id.eq_any(chunk.iter().map(MessageId::as_str)))
            .select(MessageRecord::as_select())
            .load(conn)
            .await?;
        for row in rows {
            found.push(row.read()?);
        }
    }
    Ok(found)
}

/// A page of a session's messages by (created, id); backward: newest first.
pub(in crate::store) async fn messages_page(
    conn: &mut Conn,
    session: &SessionId,
    page: &Page,
) -> Result<Vec<MessageRowOut>, Error> {
    let mut rows = messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .limit(page.limit)
        .select(MessageRecord::as_select())
        .into_boxed();
    if let Some(key) = &page.after {
        let is_later = messages::created_us.gt(key.created_at.0).or(messages::id.gt(key.id.as_str()));
        rows = rows.filter(messages::created_us.ge(key.created_at.0)).filter(is_later);
    }
    if let Some(key) = &page.before {
        let is_earlier = messages::created_us.lt(key.created_at.0).or(messages::id.lt(key.id.as_str()));
        rows = rows.filter(messages::created_us.le(key.created_at.0)).filter(is_earlier);
    }
    rows = if page.is_backward {
        rows.order((messages::created_us.desc(), messages::id.desc()))
    } else {
        rows.order((messages::created_us, messages::id))
    };
    let rows: Vec<MessageRecord> = rows.load(conn).await?;
    rows.into_iter().map(MessageRecord::read).collect()
}
