//! The relay: takes committed events to the bus in order, and writes down that they were accepted, many at a time, for
//! nobody waits for that: lost, it is an event that the next start takes to the bus once more (INV-21). Level-triggered:
//! a hint carries nothing, the log is read again each time. May import: store, bus, lifecycle, ids, ports, crash.

mod retention;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::{Bus, Refused};
use crate::crash;
use crate::ids::Position;
use crate::lifecycle::OutboxRow;
use crate::ports::Clock;
use crate::store::{self, Store};

pub use retention::Retention;

/// How the relay paces itself.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Looks again after this time even without a hint.
    pub period: Duration,
    /// Events taken per read.
    pub batch: i64,
    /// How long an acceptance waits for others before it is written.
    pub settle: Duration,
}

/// Why events stay in the outbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log could not be read, or acceptance not written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The bus did not take one; those behind it wait.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Not accepted in time.
    #[error("the event was not accepted in time")]
    Timeout,
}

struct Inner {
    store: Store,
    bus: Bus,
    clock: Arc<dyn Clock>,
    pace: Pace,
    hint: Notify,
    accepted: watch::Sender<Position>,
    /// One at a time, so that events keep their order.
    progress: Mutex<Progress>,
}

/// How far a relay has come.
#[derive(Default)]
struct Progress {
    /// The last event that the bus took; none: it has not begun.
    last: Option<Position>,
    /// What it took and the store does not know yet, and since when.
    taken: Vec<Position>,
    since: Option<Instant>,
}

/// The one relay of a server.
#[derive(Clone)]
pub struct Relay(Arc<Inner>);

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("pace", &self.0.pace).finish_non_exhaustive()
    }
}

impl Relay {
    /// A relay from this store to this bus.
    pub fn new(store: Store, bus: Bus, clock: Arc<dyn Clock>, pace: Pace) -> Self {
        let (accepted, _) = watch::channel(Position(0));
        let (hint, progress) = (Notify::new(), Mutex::default());
        Self(Arc::new(Inner { store, bus, clock, pace, hint, accepted, progress }))
    }

    /// Something may be there.
    pub fn wake(&self) {
        self.0.hint.notify_one();
    }

    /// Relays until stopped.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let rest = match self.pass().await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::warn!(%error, "events wait in the outbox");
                    self.0.pace.period
                }
            };
            tokio::select! {
                () = self.0.hint.notified() => {}
                () = tokio::time::sleep(rest) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Publishes what is new, and settles what has waited long enough; returns when to look again without a hint.
    async fn pass(&self) -> Result<Duration, Error> {
        let mut progress = self.0.progress.lock().await;
        let published = self.publish(&mut progress).await;
        self.settle_due(&mut progress).await?;
        published?;
        let period = self.0.pace.period;
        Ok(progress.since.map_or(period, |since| self.rest(since).min(period)))
    }

    /// How long it may wait yet.
    fn rest(&self, since: Instant) -> Duration {
        self.0.pace.settle.saturating_sub(since.elapsed())
    }

    /// How many events the bus has not taken; at most as many as a batch has.
    ///
    /// # Errors
    /// The log could not be read.
    pub async fn waiting(&self) -> Result<usize, store::Error> {
        let taken = *self.0.accepted.borrow();
        Ok(self.0.store.outbox_unaccepted(taken, self.0.pace.batch).await?.len())
    }

    /// Takes every waiting event to the bus, and writes that down; at startup this is the replay (INV-21, INV-22).
    ///
    /// # Errors
    /// The first event that stays; those before it are accepted.
    pub async fn drain(&self) -> Result<(), Error> {
        let mut progress = self.0.progress.lock().await;
        let published = self.publish(&mut progress).await;
        self.settle(&mut progress).await?;
        published
    }

    /// What earlier servers left in the outbox first; then the log from there on, whoever appends to it, because every
    /// server has listeners of its own.
    async fn publish(&self, progress: &mut Progress) -> Result<(), Error> {
        if progress.last.is_none() {
            progress.last = Some(self.replay(progress).await?);
        }
        while let Some(last) = progress.last {
            let rows = self.0.store.outbox_after(last, self.0.pace.batch).await?;
            if rows.is_empty() {
                break;
            }
            self.settle_due(progress).await?;
            for row in &rows {
                self.take(row, progress)?;
                progress.last = Some(row.position);
            }
        }
        Ok(())
    }

    /// Takes what waits up to the log's tip to the bus; the tip.
    async fn replay(&self, progress: &mut Progress) -> Result<Position, Error> {
        let tip = self.0.store.outbox_tip().await?;
        let mut last = Position(0);
        loop {
            let rows = self.0.store.outbox_unaccepted(last, self.0.pace.batch).await?;
            self.settle_due(progress).await?;
            for row in rows.iter().take_while(|row| row.position <= tip) {
                self.take(row, progress)?;
            }
            match rows.last() {
                Some(newest) if newest.position < tip => last = newest.position,
                _ => return Ok(tip),
            }
        }
    }

    fn take(&self, row: &OutboxRow, progress: &mut Progress) -> Result<(), Error> {
        self.0.bus.publish(row)?;
        crash::point("CP-53");
        progress.taken.push(row.position);
        progress.since.get_or_insert_with(Instant::now);
        self.tell(row.position);
        Ok(())
    }

    async fn settle_due(&self, progress: &mut Progress) -> Result<(), Error> {
        match progress.since {
            Some(since) if self.rest(since).is_zero() => self.settle(progress).await,
            _ => Ok(()),
        }
    }

    /// What stays in doubt is written again the next time.
    async fn settle(&self, progress: &mut Progress) -> Result<(), Error> {
        if !progress.taken.is_empty() {
            self.0.store.outbox_accept(progress.taken.clone(), self.0.clock.now()).await?;
        }
        progress.taken.clear();
        progress.since = None;
        Ok(())
    }

    /// Everything up to this place is accepted.
    fn tell(&self, position: Position) {
        self.0.accepted.send_if_modified(|last| {
            let is_further = position > *last;
            *last = position.max(*last);
            is_further
        });
    }

    /// Waits until the event at this place is accepted.
    ///
    /// # Errors
    /// Not within `bound`; the relay goes on trying.
    pub async fn accepted(&self, position: Position, bound: Duration) -> Result<(), Error> {
        let mut accepted = self.0.accepted.subscribe();
        self.wake();
        let wait = accepted.wait_for(|last| *last >= position);
        match tokio::time::timeout(bound, wait).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::Timeout),
        }
    }
}
