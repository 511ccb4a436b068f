//! A connection: opened with its settings, and run in place on the thread that owns it.
//! May import: the store's shared parts.

use std::path::Path;
use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;
use diesel_async::AsyncConnection;
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::store::error::Error;
use crate::store::meter::{Meter, instrument};

/// What the statements run on.
pub(in crate::store) type Conn = SyncConnectionWrapper<SqliteConnection, Inline>;

/// Runs each statement at once on the calling thread, which belongs to the database.
#[derive(Debug)]
pub(in crate::store) struct Inline;

impl SpawnBlocking for Inline {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn std::error::Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        ready(Ok(task())).boxed()
    }

    fn get_runtime() -> Self {
        Self
    }
}

/// Opens the file for writing, and makes it if it is not there.
pub(super) fn open_writer(path: &Path, busy_timeout_ms: u64) -> Result<SqliteConnection, Error> {
    let mut conn = establish(path, "rwc")?;
    conn.batch_execute(&format!("PRAGMA busy_timeout = {busy_timeout_ms};"))?;
    // FULL, never NORMAL: a lost attempt marker is a second dispatch.
    conn.batch_execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768; PRAGMA journal_size_limit = 67108864; \
         PRAGMA wal_autocheckpoint = 8192;",
    )?;
    Ok(conn)
}

/// Opens the file for reading.
pub(super) fn open_reader(path: &Path, busy_timeout_ms: u64) -> Result<SqliteConnection, Error> {
    let mut conn = establish(path, "ro")?;
    conn.batch_execute(&format!(
        "PRAGMA busy_timeout = {busy_timeout_ms}; PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; \
         PRAGMA cache_size = -16384; PRAGMA mmap_size = 268435456;"
    ))?;
    Ok(conn)
}

fn establish(path: &Path, mode: &str) -> Result<SqliteConnection, Error> {
    let text = path.to_str().ok_or_else(|| Error::Foreign("its path is not UTF-8".to_owned()))?;
    let escaped = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    SqliteConnection::establish(&format!("file:{escaped}?mode={mode}"))
        .map_err(|error| Error::Foreign(format!("{text} does not open: {error}")))
}

/// Makes it a connection of statements.
pub(super) fn wrap(conn: SqliteConnection, meter: &Arc<Meter>) -> Conn {
    let mut conn = Conn::with_runtime(conn, Inline);
    conn.set_instrumentation(instrument(Arc::clone(meter)));
    conn
}

/// Runs something on the connection below.
pub(super) fn with<R: Send + 'static>(
    conn: &mut Conn,
    work: impl FnOnce(&mut SqliteConnection) -> QueryResult<R> + Send + 'static,
) -> Result<R, Error> {
    let result = conn.spawn_blocking(work).now_or_never().ok_or(Error::Panicked)?;
    Ok(result?)
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    quick_check: String,
}

/// What a check of the pages finds; nothing: the file is whole.
pub(super) fn damage(conn: &mut SqliteConnection) -> QueryResult<Vec<String>> {
    let lines = diesel::sql_query("SELECT quick_check FROM pragma_quick_check").load::<Line>(conn)?;
    Ok(lines.into_iter().map(|line| line.quick_check).filter(|line| line != "ok").collect())
}
