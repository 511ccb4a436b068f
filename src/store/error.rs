//! How the store says that the world broke. A refusal of the domain is no error. May import: ids.

use diesel::result::Error as DbError;

use crate::ids::Epoch;

/// A store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database was locked for longer than it may be. Nothing was changed.
    #[error("the database is busy")]
    Busy,
    /// Too many jobs wait already. Nothing was changed.
    #[error("too many jobs wait for the database")]
    QueueFull,
    /// The deadline passed before the job began. Nothing was changed.
    #[error("the database did not get to it in time")]
    Timeout,
    /// The caller stopped waiting for a job that had begun, or the commit failed in doubt: read it back.
    #[error("it is not known whether the change was committed")]
    UnknownCommit,
    /// Another transaction was in its way: a job of its group, or one that met it at a lock. Nothing was changed.
    #[error("the transaction was rolled back because of another one")]
    RolledBack,
    /// There is no connection to the database, or it broke before anything was committed. Nothing was changed.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The job panicked and was rolled back.
    #[error("a database job panicked")]
    Panicked,
    /// Another process has the file.
    #[error("the database is in use by {holder}")]
    Held {
        /// Who, as it wrote itself down.
        holder: String,
    },
    /// The URL of the database cannot be used.
    #[error("the URL of the database: {0}")]
    Address(String),
    /// The file is a database, or something else, but not ours.
    #[error("not a database of Answerable: {0}")]
    Foreign(String),
    /// A newer program made this schema.
    #[error("the database has schema version {found}, this program knows up to {known}; use a newer program")]
    NewerSchema {
        /// The version in the file.
        found: String,
        /// The newest version of this program.
        known: String,
    },
    /// An older program made this schema, and it may only be read now.
    #[error("the database has an older schema; bring it up to date with `answerable migrate`")]
    OlderSchema,
    /// An import wants a database without tasks.
    #[error("the database holds tasks already; an import wants an empty one")]
    NotEmpty,
    /// What is to be imported cannot be read.
    #[error("the database to import: {0}")]
    Source(String),
    /// What is stored cannot be read.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The file system failed under the database, or took its file away. After a commit that ended so, only a new start
    /// knows what is stored: the store is closed.
    #[error("the database is lost to its file system: {0}")]
    Lost(String),
    /// A row was not what the decision saw, so its job was rolled back. A defect, or a second writer.
    #[error("a row was not as decided upon: {0}")]
    Guard(String),
    /// The server's generation is over: another server took up its work.
    #[error("backend generation {0} is over")]
    Fenced(Epoch),
    /// The file system failed.
    #[error("file system: {0}")]
    Io(#[from] std::io::Error),
    /// The database failed.
    #[error("database: {0}")]
    Db(DbError),
}

impl Error {
    /// The same call may be made again as it is: nothing was changed, and the cause passes.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy | Self::QueueFull | Self::Timeout | Self::RolledBack | Self::Unreachable(_))
    }
}

/// Diesel shows few codes, so the rest is read from the words; this is the one place that does.
impl From<DbError> for Error {
    fn from(error: DbError) -> Self {
        use diesel::result::DatabaseErrorKind::{ClosedConnection, SerializationFailure, UnableToSendCommand};
        let (kind, words) = match &error {
            DbError::DatabaseError(kind, info) => (kind, info.message().to_owned()),
            _ => return Self::Db(error),
        };
        let has = |part: &str| words.contains(part);
        match kind {
            ClosedConnection | UnableToSendCommand => Self::Unreachable(words),
            SerializationFailure => Self::RolledBack,
            _ if has("deadlock detected") => Self::RolledBack,
            _ if has("is locked") || has("due to lock timeout") || has("due to statement timeout") => Self::Busy,
            _ if has("terminating connection") || has("the database system is") => Self::Unreachable(words),
            _ if has("database disk image is malformed") || has("not a database") => Self::Corrupt(words),
            _ if has("disk I/O error") => Self::Lost(words),
            _ => Self::Db(error),
        }
    }
}
