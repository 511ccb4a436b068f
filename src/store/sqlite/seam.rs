//! What statements need of this engine alone. Nothing is locked here: the writer lane runs one job after the other.
//! May import: the store's shared parts.

use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;

use crate::ids::{Micros, SessionId, TaskId};
use crate::store::error::Error;

use super::Conn;

/// Nobody else changes the session until the transaction ends.
pub(super) async fn lock_session(_conn: &mut Conn, _id: &SessionId) -> Result<(), Error> {
    Ok(())
}

/// Nobody else changes the task until the transaction ends.
pub(super) async fn lock_task(_conn: &mut Conn, _id: &TaskId) -> Result<(), Error> {
    Ok(())
}

/// Nobody else appends events until the transaction ends.
pub(super) async fn lock_log(_conn: &mut Conn) -> Result<(), Error> {
    Ok(())
}

/// Nobody else writes down what the bus took until the transaction ends.
pub(super) async fn lock_acceptance(_conn: &mut Conn) -> Result<(), Error> {
    Ok(())
}

/// The time by the clock that all servers share: the only one's.
pub(super) async fn clock(_conn: &mut Conn, own: Micros) -> Result<Micros, Error> {
    Ok(own)
}

/// Whose last word is not later than this is gone: whoever had the file before, because it is held now.
pub(super) const fn silent_since(_now: Micros, _lapse: Duration) -> Micros {
    Micros(i64::MAX)
}

/// No write of any generation is under way until the transaction ends.
pub(super) async fn lock_generations(_conn: &mut Conn) -> Result<(), Error> {
    Ok(())
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    found: String,
}

/// Damaged pages, and rows whose parents are gone.
pub(super) async fn damage(conn: &mut Conn) -> Result<Vec<String>, Error> {
    let pages = "SELECT quick_check AS found FROM pragma_quick_check WHERE quick_check <> 'ok'";
    let orphans = "SELECT 'row ' || COALESCE(rowid, '') || ' of ' || \"table\" || ' has no ' || parent AS found
        FROM pragma_foreign_key_check";
    let mut found: Vec<Found> = diesel::sql_query(pages).load(conn).await?;
    found.extend(diesel::sql_query(orphans).load::<Found>(conn).await?);
    Ok(found.into_iter().map(|row| row.found).collect())
}
