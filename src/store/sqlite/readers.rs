//! Reading threads, each with its own read-only connection; each job sees one snapshot and keeps it no longer.
//! May import: the store's shared parts.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::store::error::Error;
use crate::store::job::Job;
use crate::store::meter::Meter;
use crate::store::options::SqliteOptions;

use super::connection::{Conn, open_reader, with, wrap};

type Queued = Box<dyn Job<Conn>>;

/// The sending end.
pub(super) struct Readers {
    jobs: SyncSender<Queued>,
}

impl Readers {
    /// Nothing is answered once `lost` is cancelled.
    pub(super) async fn start(
        options: &SqliteOptions,
        meter: &Arc<Meter>,
        lost: &CancellationToken,
    ) -> Result<Self, Error> {
        let (jobs, queue) = sync_channel(options.read_queue_max);
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..options.readers.max(1) {
            let (options, meter, queue) = (options.clone(), Arc::clone(meter), Arc::clone(&queue));
            let lost = lost.clone();
            let (opened, is_open) = oneshot::channel();
            let run = move || {
                let mut conn = match open_reader(&options.path, options.busy_timeout_ms) {
                    Ok(raw) => wrap(raw, &meter),
                    Err(error) => return drop(opened.send(Err(error))),
                };
                let _ = opened.send(Ok(()));
                while let Some(job) = next(&queue) {
                    serve(&mut conn, job, &lost);
                }
            };
            std::thread::Builder::new().name(format!("store-reader-{number}")).spawn(run)?;
            is_open.await.unwrap_or(Err(Error::Closed))?;
        }
        Ok(Self { jobs })
    }

    pub(super) fn send(&self, job: Queued) -> Result<(), Error> {
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Error::QueueFull,
            TrySendError::Disconnected(_) => Error::Closed,
        })
    }
}

/// One idle reader at a time waits for the next job; the lock is free again before the job runs.
fn next(queue: &Mutex<Receiver<Queued>>) -> Option<Queued> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn serve(conn: &mut Conn, mut job: Queued, lost: &CancellationToken) {
    if !job.begin() {
        return;
    }
    if let Err(error) = with(conn, AnsiTransactionManager::begin_transaction) {
        return job.answer(Err(error));
    }
    job.run(conn);
    let ended = with(conn, AnsiTransactionManager::rollback_transaction);
    job.answer(if lost.is_cancelled() { Err(Error::Closed) } else { ended });
}
