//! The writer lane: one thread owns the only writing connection and commits waiting jobs as a group.
//! May import: the store's shared parts.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use diesel::SqliteConnection;
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::store::error::Error;
use crate::store::job::Job;
use crate::store::meter::Meter;
use crate::store::options::SqliteOptions;

use super::connection::{damage, open_writer, with, wrap};
use super::desk::Desk;
use super::files::{Files, log_of};
use super::lock::FileLock;
use super::schema_check::prepare;

/// How long the lane rests before it looks at the size of the log.
const IDLE: Duration = Duration::from_secs(2);
/// A log of this size is truncated when the lane rests.
const WAL_BYTES_MAX: u64 = 64 * 1024 * 1024;

type Queued = Box<dyn Job<Desk>>;
type Manager = AnsiTransactionManager;

/// The sending end.
pub(super) struct Lane {
    metrics: Metrics,
    jobs: SyncSender<Queued>,
    ended: oneshot::Receiver<Result<(), Error>>,
}

impl Lane {
    /// Takes the file's lock, opens, checks and migrates it on the lane's own thread.
    /// `lost` is cancelled before anybody is told that a commit is in doubt for good.
    pub(super) async fn start(
        options: SqliteOptions,
        meter: Arc<Meter>,
        lost: CancellationToken,
    ) -> Result<Self, Error> {
        let (jobs, queue) = sync_channel(options.queue_max);
        let metrics = options.metrics.clone();
        let (opened, is_open) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let run = move || {
            let mut writer = match Writer::open(options, meter, lost) {
                Ok(writer) => {
                    let _ = opened.send(Ok(()));
                    writer
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return;
                }
            };
            let served = writer.serve(&queue);
            let _ = end.send(writer.close(served));
        };
        std::thread::Builder::new().name("store-writer".to_owned()).spawn(run)?;
        is_open.await.unwrap_or(Err(Error::Closed))?;
        Ok(Self { metrics, jobs, ended })
    }

    pub(super) fn send(&self, job: Queued) -> Result<(), Error> {
        // Counted first: the writer may take it before this returns.
        self.metrics.write_queued();
        self.jobs.try_send(job).map_err(|error| {
            self.metrics.write_taken(1);
            match error {
                TrySendError::Full(_) => Error::QueueFull,
                TrySendError::Disconnected(_) => Error::Closed,
            }
        })
    }

    /// Takes no more jobs; answers when the last has run.
    pub(super) fn end(self) -> oneshot::Receiver<Result<(), Error>> {
        self.ended
    }
}

/// The lane's thread.
struct Writer {
    desk: Desk,
    options: SqliteOptions,
    meter: Arc<Meter>,
    files: Files,
    lost: CancellationToken,
    has_written: bool,
    has_checked: bool,
    /// Held until the last connection of the lane is closed.
    _lock: FileLock,
}

impl Writer {
    fn open(options: SqliteOptions, meter: Arc<Meter>, lost: CancellationToken) -> Result<Self, Error> {
        let lock = FileLock::take(&options.path)?;
        super::schema_check::check_header(&options.path)?;
        let mut raw = open_writer(&options.path, options.busy_timeout_ms)?;
        prepare(&mut raw)?;
        let desk = Desk::new(wrap(raw, &meter), options.views_max);
        let files = Files::opened(&options.path);
        Ok(Self { desk, options, meter, files, lost, has_written: false, has_checked: false, _lock: lock })
    }

    /// Until nobody sends jobs any more; an error: until the database was lost.
    fn serve(&mut self, queue: &Receiver<Queued>) -> Result<(), Error> {
        loop {
            match queue.recv_timeout(IDLE) {
                Ok(first) => self.commit_group(gather(first, queue, self.batch_max()))?,
                Err(RecvTimeoutError::Timeout) => self.rest()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn batch_max(&self) -> usize {
        if self.options.is_group_commit_on { self.options.batch_max.max(1) } else { 1 }
    }

    /// One BEGIN IMMEDIATE, a savepoint for each job, one COMMIT, then the answers.
    fn commit_group(&mut self, jobs: Vec<Queued>) -> Result<(), Error> {
        self.options.metrics.write_taken(jobs.len());
        let jobs: Vec<_> = jobs.into_iter().filter(|job| job.begin()).collect();
        self.has_written = true;
        if let Err(error) = self.files.check() {
            self.lost.cancel();
            answer_all(jobs, || Error::Unreachable("its file is gone".to_owned()));
            return Err(error);
        }
        if let Err(error) = with(&mut self.desk.conn, |c| Manager::begin_transaction_sql(c, "BEGIN IMMEDIATE")) {
            self.note_failure(&error);
            answer_all(jobs, || Error::Busy);
            return Ok(());
        }
        let mut done: Vec<Queued> = Vec::with_capacity(jobs.len());
        let mut waiting = jobs.into_iter();
        for mut job in waiting.by_ref() {
            let is_whole = self.run_one(job.as_mut());
            done.push(job);
            if !is_whole {
                // The database dropped the whole transaction: nothing of the group is there any more.
                self.reset();
                answer_all(done, || Error::RolledBack);
                answer_all(waiting, || Error::RolledBack);
                return Ok(());
            }
        }
        let start = Instant::now();
        let committed = self.commit();
        self.options.metrics.committed(done.len(), start.elapsed());
        self.conclude(done, committed)
    }

    /// Tells what became of a commit. After a failed sync, what this process reads and what the disk holds may differ,
    /// and no later sync makes it good: whoever asks again is not answered from here.
    fn conclude(&mut self, done: Vec<Queued>, committed: Result<(), Error>) -> Result<(), Error> {
        match committed {
            Ok(()) => done.into_iter().for_each(|job| job.answer(Ok(()))),
            Err(error @ Error::Lost(_)) => {
                self.lost.cancel();
                answer_all(done, || Error::UnknownCommit);
                return Err(error);
            }
            Err(error) => {
                self.note_failure(&error);
                self.reset();
                let is_known = matches!(error, Error::Busy);
                answer_all(done, || if is_known { Error::Busy } else { Error::UnknownCommit });
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.desk.write_touched().now_or_never().ok_or(Error::Panicked)??;
        with(&mut self.desk.conn, Manager::commit_transaction)
    }

    /// Runs a job in its savepoint. False: the savepoint was lost, and with it the transaction.
    fn run_one(&mut self, job: &mut dyn Job<Desk>) -> bool {
        if with(&mut self.desk.conn, Manager::begin_transaction).is_err() {
            return false;
        }
        let step =
            if job.run(&mut self.desk) { Manager::commit_transaction } else { Manager::rollback_transaction };
        with(&mut self.desk.conn, step).is_ok()
    }

    /// Back to a connection without a transaction, whatever it takes.
    fn reset(&mut self) {
        self.desk.forget();
        for _ in 0..2 {
            let _ = with(&mut self.desk.conn, Manager::rollback_transaction);
        }
        match open_writer(&self.options.path, self.options.busy_timeout_ms) {
            Ok(raw) => self.desk = Desk::new(wrap(raw, &self.meter), self.options.views_max),
            Err(error) => tracing::error!(%error, "the database does not open again"),
        }
    }

    /// The first failure that is not a lock has the file checked (decisions 24).
    fn note_failure(&mut self, error: &Error) {
        tracing::error!(%error, "a commit failed");
        if matches!(error, Error::Busy) || std::mem::replace(&mut self.has_checked, true) {
            return;
        }
        match with(&mut self.desk.conn, damage) {
            Ok(damage) if damage.is_empty() => tracing::warn!("the pages of the database are whole"),
            Ok(damage) => tracing::error!(?damage, "the database is damaged"),
            Err(error) => tracing::error!(%error, "the database could not be checked"),
        }
    }

    /// Truncates a log that grew while readers kept it.
    fn rest(&mut self) -> Result<(), Error> {
        self.files.check().inspect_err(|_gone| self.lost.cancel())?;
        if !std::mem::take(&mut self.has_written) {
            return Ok(());
        }
        let bytes = std::fs::metadata(log_of(&self.options.path)).map_or(0, |file| file.len());
        if bytes > WAL_BYTES_MAX
            && let Err(error) = with(&mut self.desk.conn, truncate)
        {
            tracing::warn!(%error, bytes, "the log could not be truncated");
        }
        Ok(())
    }

    /// `served`: how it ended. Closing a database that was lost would write to it once more; what is left of it is for
    /// the next start.
    fn close(mut self, served: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = served {
            tracing::error!(%error, "the store is closed");
            std::mem::forget(self.desk);
            return Err(error);
        }
        with(&mut self.desk.conn, truncate)
    }
}

fn truncate(conn: &mut SqliteConnection) -> diesel::QueryResult<()> {
    conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")
}

fn gather(first: Queued, queue: &Receiver<Queued>, max: usize) -> Vec<Queued> {
    let mut jobs = vec![first];
    while jobs.len() < max {
        match queue.try_recv() {
            Ok(job) => jobs.push(job),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
        }
    }
    jobs
}

fn answer_all(jobs: impl IntoIterator<Item = Queued>, error: impl Fn() -> Error) {
    jobs.into_iter().for_each(|job| job.answer(Err(error())));
}
