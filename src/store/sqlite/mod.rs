//! The embedded engine: one writing thread that shares commits, a few reading threads, one process per file.
//! May import: the store's shared parts.

mod connection;
mod desk;
mod files;
mod lane;
mod lock;
mod readers;
mod schema_check;
mod seam;
#[path = "../statements/mod.rs"]
pub(super) mod statements;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::ready;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::crash;
use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{Decision, Focus, Refusal, SessionView};

use super::error::Error;
use super::faults::broken;
use super::job::{Job, Work, job};
use super::meter::Meter;
use super::options::SqliteOptions;
use super::rows::Decided;
use desk::Desk;

pub(super) use connection::Conn;
#[cfg(test)]
pub(super) use schema_check::MIGRATIONS;

/// The threads of one open database file.
pub(super) struct Sqlite {
    lane: Mutex<Option<lane::Lane>>,
    readers: Mutex<Option<readers::Readers>>,
    lost: CancellationToken,
    meter: Arc<Meter>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl Sqlite {
    pub(super) async fn open(options: &SqliteOptions) -> Result<Self, Error> {
        let (meter, lost) = (Arc::new(Meter::default()), CancellationToken::new());
        let lane = lane::Lane::start(options.clone(), Arc::clone(&meter), lost.clone()).await?;
        let readers = readers::Readers::start(options, &meter, &lost).await?;
        Ok(Self { lane: Mutex::new(Some(lane)), readers: Mutex::new(Some(readers)), lost, meter })
    }

    /// Readers alone: nothing is locked, migrated or written, and every write answers [`Error::Closed`].
    pub(super) async fn open_to_read(options: &SqliteOptions) -> Result<Self, Error> {
        schema_check::check_header(&options.path)?;
        schema_check::verify(&mut connection::open_reader(&options.path, options.busy_timeout_ms)?)?;
        let (meter, lost) = (Arc::new(Meter::default()), CancellationToken::new());
        let readers = readers::Readers::start(options, &meter, &lost).await?;
        Ok(Self { lane: Mutex::new(None), readers: Mutex::new(Some(readers)), lost, meter })
    }

    /// The door.
    pub(super) async fn transact<F>(
        &self,
        deadline: Option<Duration>,
        session: SessionId,
        focus: Focus,
        epoch: Epoch,
        decide: F,
    ) -> Result<Result<Decided, Refusal>, Error>
    where
        F: Fn(&SessionView) -> Result<Decision, Refusal> + Send + 'static,
    {
        let work: Work<Desk, _> = Box::new(move |desk: &mut Desk| {
            Box::pin(async move { desk.transact(&session, &focus, epoch, decide).await })
        });
        self.send_write(deadline, work).await
    }

    /// A write beside the door; views are loaded anew after it.
    pub(super) async fn write<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        let work: Work<Desk, R> = Box::new(move |desk: &mut Desk| {
            desk.forget_views();
            work(&mut desk.conn)
        });
        self.send_write(deadline, work).await
    }

    /// A write of what is in no view.
    pub(super) async fn mark<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        self.send_write(deadline, Box::new(move |desk: &mut Desk| work(&mut desk.conn))).await
    }

    pub(super) async fn read<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        broken("store.read")?;
        let (job, waiting) = job(work);
        self.send_read(job)?;
        match waiting.answer(deadline).await {
            // Nothing is in doubt after a read.
            Err(Error::UnknownCommit) => Err(Error::Timeout),
            answer => answer,
        }
    }

    async fn send_write<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Desk, R>,
    ) -> Result<R, Error> {
        broken("store.write")?;
        crash::point("CP-63");
        let (job, waiting) = job(work);
        self.send_job(job)?;
        let answer = waiting.answer(deadline).await;
        crash::point("CP-64");
        broken("store.written").and(answer)
    }

    fn send_job(&self, job: Box<dyn Job<Desk>>) -> Result<(), Error> {
        let lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        lane.as_ref().ok_or(Error::Closed)?.send(job)
    }

    fn send_read(&self, job: Box<dyn Job<Conn>>) -> Result<(), Error> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.as_ref().ok_or(Error::Closed)?.send(job)
    }

    /// Resolves when the file system took the database away; from then on every call answers [`Error::Closed`].
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    pub(super) async fn damage(&self) -> Result<Vec<String>, Error> {
        let check = |conn: &mut Conn| connection::with(conn, connection::damage);
        self.read(None, Box::new(move |conn| Box::pin(ready(check(conn))))).await
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Lets the waiting jobs end, then truncates the log of the database and gives up the lock.
    pub(super) async fn close(&self) -> Result<(), Error> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(readers);
        let lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(lane) = lane else { return Ok(()) };
        let ended: oneshot::Receiver<Result<(), Error>> = lane.end();
        ended.await.unwrap_or(Err(Error::Closed))
    }
}
