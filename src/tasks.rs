//! The one place that spawns. What must outlive its request runs here, and a shutdown waits for it.
//! May import: nothing of this crate.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// Tasks did not end within the bound of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} tasks still ran at the end of the shutdown")]
pub struct Unfinished {
    /// How many of them.
    pub count: usize,
}

/// The tasks of one server. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Runs a future to its end, whoever drops the handle. The name stands in its log lines.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let span = tracing::debug_span!("task", name);
        // Where nobody asked for the names of tasks, a task goes on in the trace of who spawned it.
        let span = if span.is_disabled() { tracing::Span::current() } else { span };
        self.tracker.spawn(future.instrument(span))
    }

    /// Cancelled when the shutdown begins; loops end on it.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// How many run now.
    pub fn count(&self) -> usize {
        self.tracker.len()
    }

    /// Tells every task to stop and waits for them.
    ///
    /// # Errors
    /// [`Unfinished`]: some still run after `bound`; they are left alone.
    pub async fn shutdown(&self, bound: Duration) -> Result<(), Unfinished> {
        self.stop.cancel();
        self.tracker.close();
        let waited = tokio::time::timeout(bound, self.tracker.wait()).await;
        waited.map_err(|_elapsed| Unfinished { count: self.count() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_runs_to_its_end_when_its_handle_is_dropped() {
        let tasks = Tasks::default();
        let is_done = Arc::new(AtomicBool::new(false));
        let own = is_done.clone();
        drop(tasks.spawn("test", async move {
            tokio::task::yield_now().await;
            own.store(true, Ordering::SeqCst);
        }));
        assert_eq!(tasks.shutdown(Duration::from_secs(60)).await, Ok(()));
        assert!(is_done.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_shutdown_stops_the_loops_that_listen_for_it() {
        let tasks = Tasks::default();
        let stop = tasks.stop();
        let ended = tasks.spawn("loop", async move { stop.cancelled().await });
        assert_eq!(tasks.shutdown(Duration::from_secs(60)).await, Ok(()));
        ended.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_shutdown_does_not_wait_for_ever_and_counts_what_is_left() {
        let tasks = Tasks::default();
        let _stuck = tasks.spawn("stuck", std::future::pending::<()>());
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Err(Unfinished { count: 1 }));
    }
}
