//! The use cases, one per file. Each checks access, passes the one door (`transact`) and carries on what a
//! decision leaves to be done. Nothing here holds a rule of the lifecycle, and nothing here holds SQL.
//! May import: dispatch, outbox, store, bus, access, lifecycle, ids, ports, tasks, scope, metrics.

mod admin;
mod agents;
mod ask;
mod changes;
mod clarification;
mod deliver;
mod dispatching;
mod error;
mod hints;
mod identify;
mod messages;
mod owed;
mod pause;
mod points;
mod pulling;
mod read;
mod recover;
mod respond;
mod servers;
mod sessions;
mod summaries;
mod trace;
mod transact;
mod turns;
mod waiting;
mod watchdog;
mod workers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::access::Passes;
use crate::dispatch::Executors;
use crate::ids::Epoch;
use crate::metrics::{Metrics, Sample};
use crate::outbox::Relay;
use crate::ports::{Clock, IdSource};
use crate::store::Store;
use crate::tasks::Tasks;

pub use admin::{CreateTask, NewToken};
pub use ask::{AskInput, Asked, Awaited};
pub use changes::{ChangeItem, ChangesScope, GapReason, Place, Since};
pub use error::{DeliveryFailure, Error, Failure, Fault, FaultCode};
pub use recover::RecoveryError;
pub use respond::{AnswerInput, RespondInput, Responded, SkipInput};
pub use servers::Membership;
pub use sessions::CreateSession;
pub use summaries::{ActivityReport, ErrorReport, SummaryReading, TaskReading};
pub use turns::{Completed, Prompted, Readiness, SendPrompt, StartTurn};
pub use waiting::{Receipt, Waiting};
pub use workers::{Acknowledged, ClaimDispatch, Claimed, LeaseKey, Offer};

use hints::Hints;
use watchdog::Fallbacks;

/// Every bound of the use cases; one budget (decisions 40).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// One pass through the door.
    pub persistence: Duration,
    /// How long a responder waits for a waiter to take its response.
    pub hand_over: Duration,
    /// How long an executor may take to acknowledge.
    pub dispatch: Duration,
    /// How long a worker that claimed a dispatch may take to acknowledge, if it asks for no other time.
    pub lease: Duration,
    /// The same at most, extensions included.
    pub lease_max: Duration,
    /// How long the bus may take to accept a turn's start.
    pub publish: Duration,
    /// How long a prompt or ready event waits for an unresolved dispatch.
    pub ready: Duration,
    /// How long after a lost wait the agent may come back before its turn is paused.
    pub reattach_grace: Duration,
    /// How often a wait looks again without a hint.
    pub poll: Duration,
    /// How long an agent that took an answer may stay silent, in a session with a watchdog.
    pub watchdog: Duration,
    /// How often watchdogs are looked for without a hint.
    pub watchdog_period: Duration,
    /// Watchdogs that are read at a time.
    pub watchdog_batch: i64,
    /// Dispatches on offer that one subscription looks at, the earliest first.
    pub offers_max: i64,
    /// How long one try to bring a task's summary up to date may take.
    pub summary: Duration,
    /// How often that is tried where another writer was quicker.
    pub summary_attempts: u32,
    /// What lies between two tries; the second time twice as long.
    pub summary_pause: Duration,
    /// How long a change waits for more before the summary of its task is brought up to date.
    pub summary_settle: Duration,
    /// Summaries that one read brings up to date, at most.
    pub summary_repairs_max: usize,
    /// Characters of a message, at most.
    pub message_chars_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            persistence: Duration::from_secs(30),
            hand_over: Duration::from_secs(10),
            dispatch: Duration::from_secs(30),
            lease: Duration::from_secs(30),
            lease_max: Duration::from_secs(60),
            publish: Duration::from_secs(5),
            ready: Duration::from_secs(35),
            reattach_grace: Duration::from_secs(30),
            poll: Duration::from_secs(5),
            watchdog: Duration::from_secs(15),
            watchdog_period: Duration::from_secs(1),
            watchdog_batch: 100,
            offers_max: 100,
            summary: Duration::from_secs(1),
            summary_attempts: 3,
            summary_pause: Duration::from_millis(1),
            summary_settle: Duration::from_millis(20),
            summary_repairs_max: 101,
            message_chars_max: 100_000,
        }
    }
}

/// What the authority is made of.
#[derive(Clone)]
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Takes events to the bus.
    pub relay: Relay,
    /// Feeds subscribers.
    pub bus: crate::bus::Bus,
    /// Give prompts to agents.
    pub executors: Executors,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// Runs what must outlive its request.
    pub tasks: Tasks,
    /// This server's backend generation.
    pub epoch: Epoch,
    /// Bounds.
    pub limits: Limits,
    /// What happens is counted there.
    pub metrics: Metrics,
}

struct Inner {
    parts: Parts,
    hints: Hints,
    passes: Passes,
    fallbacks: Fallbacks,
    drain: CancellationToken,
}

/// The only authority on clarifications.
#[derive(Clone)]
pub struct Authority(Arc<Inner>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("epoch", &self.0.parts.epoch).finish_non_exhaustive()
    }
}

impl Authority {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            parts,
            hints: Hints::default(),
            passes: Passes::default(),
            fallbacks: Fallbacks::default(),
            drain: CancellationToken::new(),
        }))
    }

    /// Ends every wait with "pending", so that agents learn of the shutdown before their sockets close.
    pub fn drain(&self) {
        self.0.drain.cancel();
    }

    /// The database, for reads that carry no access of their own.
    pub fn store(&self) -> &Store {
        &self.0.parts.store
    }

    /// The bus that subscribers listen to.
    pub fn bus(&self) -> &crate::bus::Bus {
        &self.0.parts.bus
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.0.parts.metrics
    }

    /// What only a look can tell, for the metrics.
    pub async fn sample(&self) -> Sample {
        let Parts { store, relay, tasks, .. } = &self.0.parts;
        Sample {
            outbox_waiting: relay.waiting().await.ok(),
            statements: store.statement_count(),
            tasks: tasks.count(),
        }
    }

    fn limits(&self) -> &Limits {
        &self.0.parts.limits
    }
}
