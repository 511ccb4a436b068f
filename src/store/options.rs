//! How a store is opened. May import: nothing of this crate.

use std::path::PathBuf;

/// Settings of the embedded store; all sizes count items.
#[derive(Clone, Debug)]
pub struct StoreOptions {
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
}

impl StoreOptions {
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
        }
    }
}
