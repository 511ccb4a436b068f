//! The event log. May import: the store's shared parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Micros, Position, SessionId, TaskId, WorkspaceId};
use crate::lifecycle::{Event, OutboxRow};
use crate::store::error::Error;
use crate::store::records::{NewOutboxRecord, OutboxRecord};
use crate::store::schema::outbox_events;

use super::{CHUNK, Conn};

/// Where events belong, and when they happened.
pub(in crate::store) struct Place {
    pub(in crate::store) workspace_id: WorkspaceId,
    pub(in crate::store) task_id: TaskId,
    pub(in crate::store) session_id: Option<SessionId>,
    pub(in crate::store) at: Micros,
}

/// Appends events in order; the position of the last.
pub(in crate::store) async fn append(
    conn: &mut Conn,
    place: &Place,
    events: &[Event],
) -> Result<Option<Position>, Error> {
    let mut last = None;
    for event in events {
        let body = serde_json::to_string(&event.kind)
            .map_err(|error| Error::Corrupt(format!("event {}: {error}", event.id)))?;
        let record = NewOutboxRecord {
            event_id: event.id.as_str().to_owned(),
            body,
            workspace_id: place.workspace_id.as_str().to_owned(),
            task_id: place.task_id.as_str().to_owned(),
            session_id: place.session_id.as_ref().map(|id| id.as_str().to_owned()),
            created_us: place.at.0,
        };
        let insert = diesel::insert_into(outbox_events::table).values(record);
        last = Some(Position(insert.returning(outbox_events::position).get_result(conn).await?));
    }
    Ok(last)
}

/// Events that the bus has not taken, in order.
pub(in crate::store) async fn unaccepted(
    conn: &mut Conn,
    after: Position,
    limit: i64,
) -> Result<Vec<OutboxRow>, Error> {
    let rows: Vec<OutboxRecord> = outbox_events::table
        .filter(diesel::dsl::not(outbox_events::is_accepted))
        .filter(outbox_events::position.gt(after.0))
        .order(outbox_events::position)
        .limit(limit)
        .select(OutboxRecord::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(OutboxRecord::read).collect()
}

/// All events after a position, in order.
pub(in crate::store) async fn after(
    conn: &mut Conn,
    after: Position,
    limit: i64,
) -> Result<Vec<OutboxRow>, Error> {
    let rows: Vec<OutboxRecord> = outbox_events::table
        .filter(outbox_events::position.gt(after.0))
        .order(outbox_events::position)
        .limit(limit)
        .select(OutboxRecord::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(OutboxRecord::read).collect()
}

/// The position of the newest event, or 0.
pub(in crate::store) async fn tip(conn: &mut Conn) -> Result<Position, Error> {
    let newest = outbox_events::table.order(outbox_events::position.desc()).select(outbox_events::position);
    Ok(Position(newest.first(conn).await.optional()?.unwrap_or(0)))
}

/// Marks events as taken by the bus; those that are marked already stay as they are.
pub(in crate::store) async fn accept(conn: &mut Conn, positions: &[Position], now: Micros) -> Result<(), Error> {
    for chunk in positions.chunks(CHUNK) {
        let ids: Vec<i64> = chunk.iter().map(|position| position.0).collect();
        let rows = outbox_events::table
            .filter(outbox_events::position.eq_any(ids))
            .filter(diesel::dsl::not(outbox_events::is_accepted));
        diesel::update(rows).set(outbox_events::accepted_us.eq(now.0)).execute(conn).await?;
    }
    Ok(())
}
