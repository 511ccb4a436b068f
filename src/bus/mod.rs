//! Accepts events and feeds whoever listens in this process. Accepting is a step of its own that may fail, whoever
//! listens or not (decisions 15). May import: lifecycle, ids, crash.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast;

use crate::crash;
use crate::lifecycle::OutboxRow;

/// The bus did not take an event; it stays in the outbox.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the bus refused the event")]
pub struct Refused;

/// Decides whether an event is taken; tests put faults here.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Takes the event, or refuses it.
    ///
    /// # Errors
    /// [`Refused`] leaves the event unaccepted.
    fn accept(&self, row: &OutboxRow) -> Result<(), Refused>;
}

/// Takes every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Engine for InProcess {
    fn accept(&self, _row: &OutboxRow) -> Result<(), Refused> {
        crash::fault("bus").map_or(Ok(()), |_how| Err(Refused))
    }
}

/// The one bus of a server. What is sent is a trigger; a listener that lags re-reads the log.
#[derive(Clone, Debug)]
pub struct Bus {
    engine: Arc<dyn Engine>,
    sender: broadcast::Sender<OutboxRow>,
}

impl Bus {
    /// A bus that keeps `capacity` events for its slowest listener.
    pub fn new(engine: Arc<dyn Engine>, capacity: usize) -> Self {
        let (sender, _) = broadcast::channel(capacity.max(1));
        Self { engine, sender }
    }

    /// Offers an event. Nobody listening is no failure.
    ///
    /// # Errors
    /// The engine refused it.
    pub fn publish(&self, row: &OutboxRow) -> Result<(), Refused> {
        self.engine.accept(row)?;
        let _listeners = self.sender.send(row.clone());
        Ok(())
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<OutboxRow> {
        self.sender.subscribe()
    }
}
