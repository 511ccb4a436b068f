//! Backend generations and the store's identity. May import: the store's shared parts.

use std::time::Duration;

use diesel::dsl::not;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, Micros, StoreId};
use crate::store::error::Error;
use crate::store::schema::{backend_generations as generations, store_meta};

use super::{Conn, seam};

/// Gives out the next generation. Older ones of the same server are over, and those that said nothing for `lapse`;
/// what they had begun is through.
pub(in crate::store) async fn allocate(
    conn: &mut Conn,
    server: &str,
    lapse: Duration,
    now: Micros,
) -> Result<Epoch, Error> {
    seam::lock_generations(conn).await?;
    let now = seam::clock(conn, now).await?;
    let older = generations::table
        .filter(generations::is_live)
        .filter(generations::server.eq(server).or(generations::heartbeat_us.le(seam::silent_since(now, lapse).0)));
    diesel::update(older).set(generations::ended_us.eq(now.0)).execute(conn).await?;
    let epoch = newest(conn).await?.next();
    let row = (
        generations::epoch.eq(epoch.0),
        generations::started_us.eq(now.0),
        generations::heartbeat_us.eq(now.0),
        generations::server.eq(server),
    );
    diesel::insert_into(generations::table).values(row).execute(conn).await?;
    Ok(epoch)
}

/// The generation says that it lives; false: it is over.
pub(in crate::store) async fn beat(conn: &mut Conn, epoch: Epoch, now: Micros) -> Result<bool, Error> {
    let now = seam::clock(conn, now).await?;
    let own = generations::table.filter(generations::epoch.eq(epoch.0)).filter(generations::is_live);
    Ok(diesel::update(own).set(generations::heartbeat_us.eq(now.0)).execute(conn).await? == 1)
}

/// Ends the generations that said nothing for `lapse`. How many.
pub(in crate::store) async fn end_silent(conn: &mut Conn, lapse: Duration, now: Micros) -> Result<usize, Error> {
    let now = seam::clock(conn, now).await?;
    let silent = generations::table
        .filter(generations::is_live)
        .filter(generations::heartbeat_us.le(seam::silent_since(now, lapse).0));
    // Nobody is kept waiting where there is nothing to end.
    if silent.count().get_result::<i64>(conn).await? == 0 {
        return Ok(0);
    }
    seam::lock_generations(conn).await?;
    Ok(diesel::update(silent).set(generations::ended_us.eq(now.0)).execute(conn).await?)
}

/// Generations that are over, and what they left is not taken up yet.
pub(in crate::store) async fn unrecovered(conn: &mut Conn) -> Result<Vec<Epoch>, Error> {
    let over = generations::table
        .filter(generations::recovered_us.is_null())
        .filter(not(generations::is_live))
        .order(generations::epoch)
        .select(generations::epoch);
    Ok(over.load(conn).await?.into_iter().map(Epoch).collect())
}

/// What these left is taken up.
pub(in crate::store) async fn set_recovered(conn: &mut Conn, epochs: &[Epoch], now: Micros) -> Result<(), Error> {
    let ids: Vec<i64> = epochs.iter().map(|epoch| epoch.0).collect();
    let rows = generations::table.filter(generations::epoch.eq_any(ids));
    diesel::update(rows).set(generations::recovered_us.eq(now.0)).execute(conn).await?;
    Ok(())
}

/// The newest generation, or 0.
pub(in crate::store) async fn newest(conn: &mut Conn) -> Result<Epoch, Error> {
    let newest = generations::table.order(generations::epoch.desc()).select(generations::epoch);
    Ok(Epoch(newest.first(conn).await.optional()?.unwrap_or(0)))
}

/// The store's identity.
pub(in crate::store) async fn store_id(conn: &mut Conn) -> Result<StoreId, Error> {
    let value: String =
        store_meta::table.filter(store_meta::key.eq("store_id")).select(store_meta::value).first(conn).await?;
    Ok(StoreId::new(value))
}
