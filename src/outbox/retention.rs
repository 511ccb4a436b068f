//! Forgets what happened long ago, so that the log does not grow for ever; whoever comes back with an older cursor
//! is told of a gap. May import: store, ports.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::ids::Micros;
use crate::ports::Clock;
use crate::store::{self, Store};

/// How long events are kept, and how they are forgotten.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Older ones are forgotten.
    pub keep: Duration,
    /// Looks again after this time.
    pub period: Duration,
    /// Events forgotten by one write, so that no write waits long for it.
    pub batch: i64,
}

impl Retention {
    /// Forgets until stopped.
    pub async fn run(self, store: Store, clock: Arc<dyn Clock>, stop: CancellationToken) {
        loop {
            if let Err(error) = self.forget(&store, clock.now()).await {
                tracing::warn!(%error, "old events could not be forgotten");
            }
            tokio::select! {
                () = tokio::time::sleep(self.period) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn forget(&self, store: &Store, now: Micros) -> Result<(), store::Error> {
        let keep = i64::try_from(self.keep.as_micros()).unwrap_or(i64::MAX);
        let before = Micros(now.0.saturating_sub(keep));
        while let Some(last) = store.outbox_over(before, self.batch).await? {
            store.outbox_forget(last).await?;
        }
        Ok(())
    }
}
