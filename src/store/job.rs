//! A piece of work for a database connection, and its caller's end of it. May import: error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::error::Error;

/// What runs on a connection `C`. It awaits nothing but the database.
pub(super) type Work<C, R> = Box<dyn for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<R, Error>> + Send>;

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const TAKEN_BACK: u8 = 2;

/// A job as its thread sees it.
pub(super) trait Job<C>: Send {
    /// Begins it; false: its caller took it back, and it must not run.
    fn begin(&self) -> bool;
    /// Runs it; true: what it wrote is to be kept.
    fn run(&mut self, conn: &mut C) -> bool;
    /// Answers its caller. `fate` says what became of the transaction around it; its own failure goes first.
    fn answer(self: Box<Self>, fate: Result<(), Error>);
}

/// The side of a job that runs it: whether it may begin, and where its answer goes.
pub(super) struct Ticket<R> {
    state: Arc<AtomicU8>,
    reply: oneshot::Sender<Result<R, Error>>,
}

impl<R> Ticket<R> {
    /// Begins the job; false: its caller took it back, and it must not run.
    pub(super) fn begin(&self) -> bool {
        self.state.compare_exchange(WAITS, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// A caller that went away does not matter: the job ran to its end.
    pub(super) fn answer(self, result: Result<R, Error>) {
        let _ = self.reply.send(result);
    }
}

/// Makes the two ends of a job.
pub(super) fn ticket<R>() -> (Ticket<R>, Waiting<R>) {
    let state = Arc::new(AtomicU8::new(WAITS));
    let (reply, receiver) = oneshot::channel();
    (Ticket { state: Arc::clone(&state), reply }, Waiting { state, reply: receiver })
}

struct Task<C, R> {
    ticket: Ticket<R>,
    work: Option<Work<C, R>>,
    result: Option<Result<R, Error>>,
}

impl<C, R: Send> Job<C> for Task<C, R> {
    fn begin(&self) -> bool {
        self.ticket.begin()
    }

    fn run(&mut self, conn: &mut C) -> bool {
        let Some(work) = self.work.take() else { return false };
        let result = match catch_unwind(AssertUnwindSafe(|| work(conn).now_or_never())) {
            Ok(Some(result)) => result,
            // It awaited something else than the database; a job must never do that.
            Ok(None) | Err(_) => Err(Error::Panicked),
        };
        let is_kept = result.is_ok();
        self.result = Some(result);
        is_kept
    }

    fn answer(self: Box<Self>, fate: Result<(), Error>) {
        let result = match (self.result, fate) {
            (Some(Err(own)), _) => Err(own),
            (Some(Ok(_)) | None, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(Error::Closed),
        };
        self.ticket.answer(result);
    }
}

/// A caller's end of a job.
pub(super) struct Waiting<R> {
    state: Arc<AtomicU8>,
    reply: oneshot::Receiver<Result<R, Error>>,
}

/// Makes a job and its caller's end.
pub(super) fn job<C: 'static, R: Send + 'static>(work: Work<C, R>) -> (Box<dyn Job<C>>, Waiting<R>) {
    let (ticket, waiting) = ticket();
    (Box::new(Task { ticket, work: Some(work), result: None }), waiting)
}

impl<R> Waiting<R> {
    /// Waits for the answer. With a deadline that passes, a job that has not begun is taken back and known not
    /// to have run; of one that has begun nothing is known (decisions 23).
    pub(super) async fn answer(self, deadline: Option<Duration>) -> Result<R, Error> {
        let Self { state, mut reply } = self;
        let Some(deadline) = deadline else { return reply.await.unwrap_or(Err(Error::Closed)) };
        if let Ok(answer) = tokio::time::timeout(deadline, &mut reply).await {
            return answer.unwrap_or(Err(Error::Closed));
        }
        let taken = state.compare_exchange(WAITS, TAKEN_BACK, Ordering::AcqRel, Ordering::Acquire);
        Err(if taken.is_ok() { Error::Timeout } else { Error::UnknownCommit })
    }
}
