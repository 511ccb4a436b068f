//! Backend generations and the store's identity. May import: the store's shared parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, Micros, StoreId};
use crate::store::error::Error;
use crate::store::schema::{backend_generations as generations, store_meta};

use super::{Conn, seam};

/// Gives out the next generation. One server at a time: every older one is over, and what it had begun is through.
pub(in crate::store) async fn allocate(conn: &mut Conn, now: Micros) -> Result<Epoch, Error> {
    seam::lock_generations(conn).await?;
    let older = generations::table.filter(generations::is_live);
    diesel::update(older).set(generations::ended_us.eq(now.0)).execute(conn).await?;
    let newest: Option<i64> = generations::table
        .order(generations::epoch.desc())
        .select(generations::epoch)
        .first(conn)
        .await
        .optional()?;
    let epoch = Epoch(newest.unwrap_or(0)).next();
    let row =
        (generations::epoch.eq(epoch.0), generations::started_us.eq(now.0), generations::heartbeat_us.eq(now.0));
    diesel::insert_into(generations::table).values(row).execute(conn).await?;
    Ok(epoch)
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
