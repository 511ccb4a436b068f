//! The engine on a PostgreSQL server: a pool of connections, a transaction for each job, each in a task of its own,
//! so that a caller who goes away leaves none open. Nothing is remembered between two transactions, because other
//! processes write too. May import: the store's shared parts.

mod door;
mod migrate;
mod pool;
mod seam;
#[path = "../statements/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "one text, two engines")]
pub(super) mod statements;
mod transaction;
mod wakes;

use std::sync::Arc;
use std::time::Duration;

use diesel_async::AsyncPgConnection;
use futures_util::{FutureExt, TryFutureExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::crash;
use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{Decision, Focus, Refusal, SessionView};
use crate::ports::{IdSource, System};

use super::error::Error;
use super::faults::broken;
use super::job::{Ticket, Work, ticket};
use super::meter::Meter;
use super::options::PostgresOptions;
use super::rows::Decided;
use super::wake::Wake;
use transaction::{Ground, Kind, run, within};
use wakes::Wakes;

#[cfg(test)]
pub(super) use migrate::MIGRATIONS;

/// What the statements run on.
pub(super) type Conn = AsyncPgConnection;

/// How often a transaction that met another one is tried again.
const RETRIES: usize = 5;

/// The connections to one database.
pub(super) struct Postgres {
    ground: Ground,
    maker: pool::Maker,
    wakes: Arc<Wakes>,
    room: Arc<Semaphore>,
    jobs: TaskTracker,
    is_writable: bool,
    meter: Arc<Meter>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects and brings the schema up to date.
    pub(super) async fn open(options: &PostgresOptions) -> Result<Self, Error> {
        Self::prepare(options, true).await
    }

    /// Connects to read only: migrates and writes nothing, and every write answers [`Error::Closed`].
    pub(super) async fn open_to_read(options: &PostgresOptions) -> Result<Self, Error> {
        Self::prepare(options, false).await
    }

    async fn prepare(options: &PostgresOptions, is_writable: bool) -> Result<Self, Error> {
        let meter = Arc::new(Meter::default());
        let maker = pool::Maker::new(options, &meter)?;
        let made = maker.make().map_err(|error| Error::Unreachable(error.to_string())).boxed();
        let first = within(options.connect, made).await?;
        migrate::prepare(first, is_writable).await?;
        Ok(Self {
            ground: Ground {
                pool: maker.clone().pool(options)?,
                connect: options.connect,
                transaction: options.transaction,
                metrics: options.metrics.clone(),
            },
            maker,
            wakes: Arc::new(Wakes::new(System.fresh())),
            room: Arc::new(Semaphore::new(options.queue_max + options.connections_max)),
            jobs: TaskTracker::new(),
            is_writable,
            meter,
        })
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
        let told = session.clone();
        let job = move |ground, ticket| door::pass(ground, ticket, session, focus, epoch, decide);
        let answer = self.send_write(deadline, job).await;
        if !matches!(answer, Ok(Err(_))) {
            self.wakes.tell(Some(&told));
        }
        answer
    }

    /// A write beside the door (CP-63, CP-64).
    pub(super) async fn write<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        let answer = self.send_write(deadline, move |ground, ticket| run(ground, Kind::Write, ticket, work)).await;
        self.wakes.tell(None);
        answer
    }

    /// A write of what is in no view (CP-63, CP-64).
    pub(super) async fn mark<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        self.write(deadline, work).await
    }

    /// Tells the other servers where something happened and hears of it from them, until the connection fails.
    pub(super) async fn exchange_wakes(&self, heard: &(dyn Fn(Wake) + Send + Sync)) -> Result<(), Error> {
        self.wakes.exchange(&self.maker, heard).await
    }

    /// A read of one snapshot.
    pub(super) async fn read<R: Send + 'static>(
        &self,
        deadline: Option<Duration>,
        work: Work<Conn, R>,
    ) -> Result<R, Error> {
        broken("store.read")?;
        match self.send(deadline, move |ground, ticket| run(ground, Kind::Read, ticket, work)).await {
            // Nothing is in doubt after a read.
            Err(Error::UnknownCommit) => Err(Error::Timeout),
            answer => answer,
        }
    }

    async fn send_write<R, T>(
        &self,
        deadline: Option<Duration>,
        job: impl FnOnce(Ground, Ticket<R>) -> T,
    ) -> Result<R, Error>
    where
        R: Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        if !self.is_writable {
            return Err(Error::Closed);
        }
        broken("store.write")?;
        crash::point("CP-63");
        let answer = self.send(deadline, job).await;
        crash::point("CP-64");
        broken("store.written").and(answer)
    }

    /// Runs a job in a task of its own, where it runs to its end whoever waits for it.
    async fn send<R, T>(
        &self,
        deadline: Option<Duration>,
        job: impl FnOnce(Ground, Ticket<R>) -> T,
    ) -> Result<R, Error>
    where
        R: Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        if self.jobs.is_closed() {
            return Err(Error::Closed);
        }
        let place = Arc::clone(&self.room).try_acquire_owned().map_err(|_full| Error::QueueFull)?;
        let (ticket, waiting) = ticket();
        let job = job(self.ground.clone(), ticket);
        self.jobs.spawn(async move {
            job.await;
            drop(place);
        });
        waiting.answer(deadline).await
    }

    pub(super) async fn damage(&self) -> Result<Vec<String>, Error> {
        self.read(None, Box::new(|conn| Box::pin(seam::damage(conn)))).await
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Lets the jobs end, but for those on connections that fell silent; then closes the connections.
    pub(super) async fn close(&self) -> Result<(), Error> {
        self.jobs.close();
        let _silent = timeout(self.ground.connect, self.jobs.wait()).await;
        self.ground.pool.close();
        Ok(())
    }
}
