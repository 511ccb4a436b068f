//! What statements need of this engine alone: locks, always in the order generations, session, task, log.
//! May import: the store's shared parts.

use std::time::Duration;

use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Integer};
use diesel_async::RunQueryDsl;

use crate::ids::{Micros, SessionId, TaskId};
use crate::store::error::Error;
use crate::store::schema::{task_sessions as sessions, tasks};

use super::Conn;

/// The first number of our advisory locks: "Answ" in ASCII.
pub(super) const LOCKS: i32 = 0x416e_7377;
/// Held shared by every write, and alone by who ends generations.
pub(super) const GENERATIONS: i32 = 1;
/// Held by who appends events.
const LOG: i32 = 2;
/// Held by who writes down what the bus took.
const ACCEPTANCE: i32 = 4;
/// Held by who migrates.
pub(super) const MIGRATIONS: i32 = 3;

/// Nobody else changes the session until the transaction ends. Not `FOR UPDATE`: rows that refer to it may be written.
pub(super) async fn lock_session(conn: &mut Conn, id: &SessionId) -> Result<(), Error> {
    let row = sessions::table.filter(sessions::id.eq(id.as_str())).select(sessions::id).for_no_key_update();
    row.load::<String>(conn).await?;
    Ok(())
}

/// Nobody else changes the task until the transaction ends.
pub(super) async fn lock_task(conn: &mut Conn, id: &TaskId) -> Result<(), Error> {
    let row = tasks::table.filter(tasks::id.eq(id.as_str())).select(tasks::id).for_no_key_update();
    row.load::<String>(conn).await?;
    Ok(())
}

/// Nobody else appends events until the transaction ends, so positions are in the order of commits.
pub(super) async fn lock_log(conn: &mut Conn) -> Result<(), Error> {
    Lock(LOG).execute(conn).await?;
    Ok(())
}

/// Nobody else writes down what the bus took until the transaction ends: two that touch the same rows would meet.
pub(super) async fn lock_acceptance(conn: &mut Conn) -> Result<(), Error> {
    Lock(ACCEPTANCE).execute(conn).await?;
    Ok(())
}

/// The time by the clock that all servers share: the database's.
pub(super) async fn clock(conn: &mut Conn, _own: Micros) -> Result<Micros, Error> {
    let now = diesel::select(sql::<BigInt>("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
    Ok(Micros(now.get_result(conn).await?))
}

/// Whose last word is not later than this is gone.
pub(super) fn silent_since(now: Micros, lapse: Duration) -> Micros {
    Micros(now.0.saturating_sub(i64::try_from(lapse.as_micros()).unwrap_or(i64::MAX)))
}

/// No write of any generation is under way until the transaction ends: a write holds this shared.
pub(super) async fn lock_generations(conn: &mut Conn) -> Result<(), Error> {
    Lock(GENERATIONS).execute(conn).await?;
    Ok(())
}

/// The server checks its own pages and keeps the references.
pub(super) async fn damage(_conn: &mut Conn) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}

/// An advisory lock of the transaction; none of the session ever, which would stay with a pooled connection.
struct Lock(i32);

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT 1 FROM pg_advisory_xact_lock(");
        out.push_bind_param::<Integer, i32>(&LOCKS)?;
        out.push_sql(", ");
        out.push_bind_param::<Integer, i32>(&self.0)?;
        out.push_sql(")");
        Ok(())
    }
}

impl QueryId for Lock {
    type QueryId = ();

    /// Its text is always the same, and is what its preparation is kept under.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Lock {
    type SqlType = Integer;
}
