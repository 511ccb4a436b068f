//! The event log. May import: the store's shared parts.

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::RunQueryDsl;

use crate::ids::{Micros, Position, SessionId, TaskId, WorkspaceId};
use crate::lifecycle::{Event, OutboxRow};
use crate::store::error::Error;
use crate::store::records::OutboxRecord;
use crate::store::rows::OutboxSpan;
use crate::store::schema::outbox_events;

use super::{CHUNK, Conn, seam};

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
    if events.is_empty() {
        return Ok(None);
    }
    let mut bodies = Vec::with_capacity(events.len());
    for event in events {
        let body = serde_json::to_string(&event.kind);
        bodies.push((event, body.map_err(|error| Error::Corrupt(format!("event {}: {error}", event.id)))?));
    }
    seam::lock_log(conn).await?;
    let positions: Vec<i64> =
        Append { place, session_id: place.session_id.as_ref().map(SessionId::as_str), bodies }
            .get_results(conn)
            .await?;
    Ok(positions.into_iter().max().map(Position))
}

/// All events of a decision as one statement; Diesel makes one for each row on SQLite.
struct Append<'a> {
    place: &'a Place,
    session_id: Option<&'a str>,
    bodies: Vec<(&'a Event, String)>,
}

impl<'a, DB> QueryFragment<DB> for Append<'a>
where
    DB: Backend,
    str: ToSql<Text, DB>,
    Option<&'a str>: ToSql<Nullable<Text>, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("INSERT INTO outbox_events (event_id, body, workspace_id, task_id, session_id, created_us)");
        let Place { workspace_id, task_id, at, .. } = self.place;
        for (index, (event, body)) in self.bodies.iter().enumerate() {
            out.push_sql(if index == 0 { " VALUES (" } else { ", (" });
            for text in [event.id.as_str(), body.as_str(), workspace_id.as_str(), task_id.as_str()] {
                out.push_bind_param::<Text, str>(text)?;
                out.push_sql(", ");
            }
            out.push_bind_param::<Nullable<Text>, Option<&str>>(&self.session_id)?;
            out.push_sql(", ");
            out.push_bind_param::<BigInt, i64>(&at.0)?;
            out.push_sql(")");
        }
        out.push_sql(" RETURNING position");
        Ok(())
    }
}

impl QueryId for Append<'_> {
    type QueryId = ();

    /// Its text, which differs by the number of events, is what its preparation is kept under.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Append<'_> {
    type SqlType = BigInt;
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

/// What the log holds: everything behind `floor`, up to `tip`; both 0 where nothing ever happened.
pub(in crate::store) async fn span(conn: &mut Conn) -> Result<OutboxSpan, Error> {
    let oldest = outbox_events::table.order(outbox_events::position).select(outbox_events::position);
    let oldest: Option<i64> = oldest.first(conn).await.optional()?;
    let floor = Position(oldest.map_or(0, |oldest| oldest.saturating_sub(1)));
    Ok(OutboxSpan { floor, tip: tip(conn).await? })
}

/// The last of the oldest events, at most `limit`, that the bus took and that are older than `before`. What is behind
/// the first that stays, stays; so does the newest, by which the log knows how far it came.
pub(in crate::store) async fn over(
    conn: &mut Conn,
    before: Micros,
    limit: i64,
) -> Result<Option<Position>, Error> {
    let newest = tip(conn).await?;
    let oldest: Vec<(i64, i64, bool)> = outbox_events::table
        .filter(outbox_events::position.lt(newest.0))
        .order(outbox_events::position)
        .limit(limit)
        .select((outbox_events::position, outbox_events::created_us, outbox_events::is_accepted))
        .load(conn)
        .await?;
    let is_over = |(_, created_us, is_accepted): &(i64, i64, bool)| *is_accepted && *created_us < before.0;
    Ok(oldest.into_iter().take_while(is_over).last().map(|(position, ..)| Position(position)))
}

/// Forgets events up to a position that is over. How many went.
pub(in crate::store) async fn forget(conn: &mut Conn, last: Position) -> Result<usize, Error> {
    Ok(diesel::delete(outbox_events::table.filter(outbox_events::position.le(last.0))).execute(conn).await?)
}

/// Marks events as taken by the bus; those that are marked already stay as they are.
pub(in crate::store) async fn accept(conn: &mut Conn, positions: &[Position], now: Micros) -> Result<(), Error> {
    seam::lock_acceptance(conn).await?;
    for chunk in positions.chunks(CHUNK) {
        let ids: Vec<i64> = chunk.iter().map(|position| position.0).collect();
        let rows = outbox_events::table
            .filter(outbox_events::position.eq_any(ids))
            .filter(diesel::dsl::not(outbox_events::is_accepted));
        diesel::update(rows).set(outbox_events::accepted_us.eq(now.0)).execute(conn).await?;
    }
    Ok(())
}
