//! The store: the only room that knows SQL. One door for writes ([`Store::transact`]), bounded reads beside it.
//!
//! The statements stand once in `statements/`, written against a connection alias; each engine mounts them under
//! itself and brings how a session is serialized, how a commit is made, and its migrations: SQLite and PostgreSQL.
//! May import: ids, scope, lifecycle.

mod check;
mod error;
mod faults;
mod import;
mod job;
mod kept;
mod meter;
mod options;
mod postgres;
mod reads;
mod records;
mod rows;
mod schema;
mod sqlite;
#[cfg(test)]
mod tests;
mod wake;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{Decision, Focus, Refusal, SessionView};

pub use check::{NOT_SHOWN, Violation, shown};
pub use error::Error;
pub use import::Imported;
pub use options::{PostgresOptions, SqliteOptions, StoreOptions};
pub use rows::{
    BundleRow, Decided, MessageKey, MessageRowOut, OutboxSpan, Page, PendingFilter, SessionRow, Settled,
    TaskFilter, TaskKey, TaskListRow, TaskPatch, TaskRow, TokenRow, TurnKey, TurnRow, Workspace,
};
pub use wake::Wake;

/// Sessions that a task carries in a list; more of them are read by their own page.
pub const SESSIONS_PER_TASK_MAX: i64 = 500;

/// An open store. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Engine,
    deadline: Option<Duration>,
}

#[derive(Clone, Debug)]
enum Engine {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

/// Runs a statement function as one job of the engine.
macro_rules! run {
    ($store:ident.$lane:ident($module:ident::$function:ident $(, $argument:expr)*)) => {
        match &$store.engine {
            $crate::store::Engine::Sqlite(engine) => {
                $crate::store::run!(sqlite, engine, $store, $lane, $module::$function $(, $argument)*)
            }
            $crate::store::Engine::Postgres(engine) => {
                $crate::store::run!(postgres, engine, $store, $lane, $module::$function $(, $argument)*)
            }
        }
    };
    ($room:ident, $engine:ident, $store:ident, $lane:ident, $module:ident::$function:ident $(, $argument:expr)*) => {{
        let work: $crate::store::job::Work<$crate::store::$room::Conn, _> = Box::new(move |conn| {
            Box::pin(async move {
                $crate::store::$room::statements::$module::$function(conn $(, $argument)*).await
            })
        });
        $engine.$lane($store.deadline, work).await
    }};
}
pub(in crate::store) use run;

impl Store {
    /// Opens the database and brings its schema up to date; a file that is not there is made.
    ///
    /// # Errors
    /// [`Error::Held`]: another process has the file; [`Error::Unreachable`], [`Error::Address`]: there is no such
    /// server; [`Error::Foreign`], [`Error::NewerSchema`]: not for this program.
    pub async fn open(options: &StoreOptions) -> Result<Self, Error> {
        let engine = match options {
            StoreOptions::Sqlite(options) => Engine::Sqlite(Arc::new(sqlite::Sqlite::open(options).await?)),
            StoreOptions::Postgres(options) => {
                Engine::Postgres(Arc::new(postgres::Postgres::open(options).await?))
            }
        };
        Ok(Self { engine, deadline: None })
    }

    /// Opens the database to read it only, beside a server that runs on it or without one: takes no lock, migrates and
    /// writes nothing. Every write answers [`Error::Closed`].
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::NewerSchema`], [`Error::OlderSchema`]: not for this program as it is.
    pub async fn open_to_read(options: &StoreOptions) -> Result<Self, Error> {
        let engine = match options {
            StoreOptions::Sqlite(options) => {
                Engine::Sqlite(Arc::new(sqlite::Sqlite::open_to_read(options).await?))
            }
            StoreOptions::Postgres(options) => {
                Engine::Postgres(Arc::new(postgres::Postgres::open_to_read(options).await?))
            }
        };
        Ok(Self { engine, deadline: None })
    }

    /// The same store for a caller that waits no longer than this for each answer. A job that has not begun by
    /// then is taken back ([`Error::Timeout`]); one that has runs to its end ([`Error::UnknownCommit`]).
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { engine: self.engine.clone(), deadline: Some(deadline) }
    }

    /// Resolves when the file system failed under a commit or took the file away: the store has closed itself, and only
    /// a new start knows what is stored. A database server looks after its own files.
    pub async fn lost(&self) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.lost().await,
            Engine::Postgres(_) => std::future::pending().await,
        }
    }

    /// Lets all waiting jobs end, then closes the database. Later calls answer [`Error::Closed`].
    ///
    /// # Errors
    /// [`Error::Db`] if the log could not be truncated; nothing is lost by that.
    pub async fn close(&self) -> Result<(), Error> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.close().await,
            Engine::Postgres(engine) => engine.close().await,
        }
    }

    /// The door: loads the session's view, decides, makes the guarded changes, appends the events, commits.
    /// A refusal has written nothing. A caller that goes away changes nothing: the job runs to its end.
    /// Crash points: `authority/points.rs` (CP-01 to CP-64).
    ///
    /// # Errors
    /// [`Error::Fenced`]: `epoch` is over; [`Error::Guard`]: a row was not as decided upon; all but
    /// [`Error::UnknownCommit`] have changed nothing.
    pub async fn transact<F>(
        &self,
        session: &SessionId,
        focus: Focus,
        epoch: Epoch,
        decide: F,
    ) -> Result<Result<Decided, Refusal>, Error>
    where
        F: Fn(&SessionView) -> Result<Decision, Refusal> + Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(engine) => engine.transact(self.deadline, session.clone(), focus, epoch, decide).await,
            Engine::Postgres(engine) => {
                engine.transact(self.deadline, session.clone(), focus, epoch, decide).await
            }
        }
    }

    /// Other servers may be on this database too.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// Tells the other servers of this database where something happened and hears of it from them, by hints that may
    /// be lost, until the connection fails; of a file, for ever.
    ///
    /// # Errors
    /// The connection failed; call it again.
    pub async fn exchange_wakes(&self, heard: &(dyn Fn(Wake) + Send + Sync)) -> Result<(), Error> {
        match &self.engine {
            Engine::Sqlite(_) => std::future::pending().await,
            Engine::Postgres(engine) => engine.exchange_wakes(heard).await,
        }
    }

    /// What a decision would see now.
    ///
    /// # Errors
    /// The world broke.
    pub async fn view(&self, session: &SessionId, focus: Focus) -> Result<SessionView, Error> {
        let session = session.clone();
        run!(self.read(view::load, &session, &focus, None))
    }

    /// Statements executed so far by all connections; what only opens or closes a transaction does not count.
    pub fn statement_count(&self) -> u64 {
        self.meter().statements()
    }

    fn meter(&self) -> Arc<meter::Meter> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.meter(),
            Engine::Postgres(engine) => engine.meter(),
        }
    }
}
