//! How a store is opened. May import: metrics.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::metrics::Metrics;

/// Which database, and its settings.
#[derive(Clone, Debug)]
pub enum StoreOptions {
    /// A file of this process alone.
    Sqlite(SqliteOptions),
    /// A PostgreSQL server.
    Postgres(PostgresOptions),
}

impl StoreOptions {
    /// The usual settings for that file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        SqliteOptions::new(path).into()
    }

    /// Which one it is, for people; a URL holds a password.
    pub fn name(&self) -> String {
        match self {
            Self::Sqlite(options) => options.path.display().to_string(),
            Self::Postgres(_) => "on PostgreSQL".to_owned(),
        }
    }
}

impl From<SqliteOptions> for StoreOptions {
    fn from(options: SqliteOptions) -> Self {
        Self::Sqlite(options)
    }
}

impl From<PostgresOptions> for StoreOptions {
    fn from(options: PostgresOptions) -> Self {
        Self::Postgres(options)
    }
}

/// Settings of the embedded store; all sizes count items.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The database file.
    pub path: PathBuf,
    /// Reader threads, each with its own connection.
    pub readers: usize,
    /// Jobs that one commit may carry.
    pub batch_max: usize,
    /// Writing jobs that may wait.
    pub queue_max: usize,
    /// Reading jobs that may wait.
    pub read_queue_max: usize,
    /// Sessions whose view the writer keeps between two decisions; 0 keeps none.
    pub views_max: usize,
    /// How long to wait for a lock of the file.
    pub busy_timeout_ms: u64,
    /// Several jobs share a commit. Off only to measure what it is worth.
    pub is_group_commit_on: bool,
    /// What the writer does is counted there.
    pub metrics: Metrics,
}

impl SqliteOptions {
    /// The usual settings for that file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            readers: 2,
            batch_max: 128,
            queue_max: 1024,
            read_queue_max: 1024,
            views_max: 1024,
            busy_timeout_ms: 5_000,
            is_group_commit_on: true,
            metrics: Metrics::default(),
        }
    }
}

/// Settings of the store on a PostgreSQL server.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The server and database, as `postgres://user:password@host/database`; never shown, because of its password.
    pub url: String,
    /// Connections at a time.
    pub connections_max: usize,
    /// Jobs that may wait for a connection.
    pub queue_max: usize,
    /// How long making a connection may take, and how long its first answer; a job waits twice as long for one, so that
    /// one that is broken leaves time for another.
    pub connect: Duration,
    /// How long one statement may run.
    pub statement: Duration,
    /// How long a statement waits for a lock.
    pub lock: Duration,
    /// How long a transaction may stand still before the server ends it.
    pub idle: Duration,
    /// How long the reads of a transaction, and its writes, may take by the clock of this side: a server that does not
    /// even say that it was too slow is gone.
    pub transaction: Duration,
    /// What transactions do is counted there.
    pub metrics: Metrics,
}

impl PostgresOptions {
    /// The usual settings for that database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections_max: 16,
            queue_max: 1024,
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(30),
            lock: Duration::from_secs(10),
            idle: Duration::from_secs(10),
            transaction: Duration::from_secs(60),
            metrics: Metrics::default(),
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions").field("connections_max", &self.connections_max).finish_non_exhaustive()
    }
}
