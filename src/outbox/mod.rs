//! The relay: takes committed events to the bus in order, and marks them accepted. Level-triggered: a hint carries
//! nothing, the log is read again each time. May import: store, bus, lifecycle, ids, ports, crash.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::bus::{Bus, Refused};
use crate::crash;
use crate::ids::Position;
use crate::lifecycle::OutboxRow;
use crate::ports::Clock;
use crate::store::{self, Store};

/// How the relay paces itself.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Looks again after this time even without a hint.
    pub period: Duration,
    /// Events taken per read.
    pub batch: i64,
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
    /// One drain at a time, so that events keep their order; and the last event that was published.
    turn: Mutex<Position>,
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
        let (hint, turn) = (Notify::new(), Mutex::new(Position(0)));
        Self(Arc::new(Inner { store, bus, clock, pace, hint, accepted, turn }))
    }

    /// Something may be there.
    pub fn wake(&self) {
        self.0.hint.notify_one();
    }

    /// Relays until stopped.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            if let Err(error) = self.drain().await {
                tracing::warn!(%error, "events wait in the outbox");
            }
            tokio::select! {
                () = self.0.hint.notified() => {}
                () = tokio::time::sleep(self.0.pace.period) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Takes every waiting event to the bus; at startup this is the replay (INV-21, INV-22).
    ///
    /// # Errors
    /// The first event that stays; those before it are accepted.
    pub async fn drain(&self) -> Result<(), Error> {
        let mut published = self.0.turn.lock().await;
        loop {
            let rows = self.0.store.outbox_unaccepted(Position(0), self.0.pace.batch).await?;
            // What was published and does not wait any more is accepted, even where the writing of that was in doubt.
            let before = |row: &OutboxRow| Position(row.position.0.saturating_sub(1));
            self.tell(rows.first().map_or(*published, |row| before(row).min(*published)));
            let mut taken = Vec::with_capacity(rows.len());
            let refused = rows.iter().find_map(|row| match self.0.bus.publish(row) {
                Ok(()) => {
                    crash::point("CP-53");
                    taken.push(row.position);
                    None
                }
                Err(refused) => Some(refused),
            });
            let last = taken.last().copied();
            if let Some(last) = last {
                *published = last;
                self.0.store.outbox_accept(taken, self.0.clock.now()).await?;
                self.tell(last);
            }
            match (refused, last) {
                (Some(refused), _) => return Err(refused.into()),
                (None, None) => return Ok(()),
                (None, Some(_)) => {}
            }
        }
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
