//! Coding agents over the Agent Client Protocol: a process per session, started when it is prompted and ended when it
//! is idle. What counts as acceptance stands in the design (agents, executors). May import: dispatch,
//! ids, tasks, config.

mod agent;
mod attempt;
mod dialect;
mod guard;
mod pipe;
mod process;
mod transcript;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{self, AcpVersion};
use crate::ids::{SessionId, TurnId};
use crate::tasks::Tasks;

use super::{Dispatch, Executor, Outcome, Output, Revocation};

use agent::{AgentTask, Order, Prompt};
use attempt::{Attempt, Ticket};
use guard::Guard;

use dialect::{Dialect, Place, V1, V2};

pub use guard::{SUBCOMMAND as GUARD, guard_agents};
pub use transcript::Room;

/// Orders that wait for one agent.
const ORDERS_MAX: usize = 8;

fn dialect_of(version: AcpVersion) -> &'static dyn Dialect {
    match version {
        AcpVersion::V1 => &V1,
        AcpVersion::V2 => &V2,
    }
}

/// What agents may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Processes at a time.
    pub agents_max: usize,
    /// How long a process without work is kept.
    pub idle: Duration,
    /// How long it may take to get ready for a prompt.
    pub open: Duration,
    /// How long it may take to stop its work.
    pub cancel: Duration,
    /// How long it may take to end.
    pub grace: Duration,
    /// How long what it says may wait to be written with what follows.
    pub write: Duration,
    /// Bytes of a line.
    pub line_bytes_max: usize,
    /// Characters of what it says.
    pub room: Room,
}

/// The agent of a session, as far as everybody may know it.
#[derive(Debug)]
struct Handle {
    orders: mpsc::Sender<Order>,
    let_go: CancellationToken,
    is_busy: bool,
    used_at: Instant,
}

/// What the agents of one endpoint share.
#[derive(Debug)]
struct Shared {
    settings: config::Acp,
    bridge: PathBuf,
    guard: Arc<Guard>,
    bounds: Bounds,
    tasks: Tasks,
    output: OnceLock<Arc<dyn Output>>,
    agents: Mutex<HashMap<SessionId, Handle>>,
    attempts: Mutex<HashMap<TurnId, Attempt>>,
}

impl Shared {
    fn dialect(&self) -> &'static dyn Dialect {
        dialect_of(self.settings.version)
    }

    fn place(&self) -> Place {
        Place { directory: self.settings.cwd.clone(), bridge: self.bridge.clone() }
    }

    fn output(&self) -> Option<Arc<dyn Output>> {
        self.output.get().cloned()
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<SessionId, Handle>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempts(&self) -> MutexGuard<'_, HashMap<TurnId, Attempt>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_busy(&self, session: &SessionId, is_busy: bool) {
        if let Some(handle) = self.agents().get_mut(session) {
            handle.is_busy = is_busy;
        }
    }

    /// Forgets an agent that has nothing to do; false: it was given something meanwhile.
    fn forget_idle(&self, session: &SessionId, orders: &mpsc::Receiver<Order>) -> bool {
        let mut agents = self.agents();
        let is_idle = orders.is_empty();
        if is_idle {
            agents.remove(session);
        }
        is_idle
    }

    /// Hands an order to the session's agent, which is started where there is none.
    fn order(self: &Arc<Self>, session: &SessionId, order: Order) -> Result<(), &'static str> {
        let mut agents = self.agents();
        if !agents.contains_key(session) {
            make_room(&mut agents, self.bounds.agents_max)?;
            let (orders, received) = mpsc::channel(ORDERS_MAX);
            let let_go = CancellationToken::new();
            let task = AgentTask::new(self.clone(), session.clone(), received, let_go.clone());
            self.tasks.spawn("agent", task.run());
            let handle = Handle { orders, let_go, is_busy: true, used_at: Instant::now() };
            agents.insert(session.clone(), handle);
        }
        let handle = agents.get_mut(session).ok_or("there is no agent")?;
        handle.used_at = Instant::now();
        handle.is_busy = true;
        handle.orders.try_send(order).map_err(|_full| "the agent has too much to do")
    }
}

/// Lets the agent go that has been idle for the longest, where there are as many as there may be.
fn make_room(agents: &mut HashMap<SessionId, Handle>, max: usize) -> Result<(), &'static str> {
    if agents.len() < max {
        return Ok(());
    }
    let idle = agents.iter().filter(|(_, handle)| !handle.is_busy).min_by_key(|(_, handle)| handle.used_at);
    let session = idle.map(|(session, _)| session.clone()).ok_or("as many agents work as may at a time")?;
    if let Some(handle) = agents.remove(&session) {
        handle.let_go.cancel();
    }
    Ok(())
}

/// Runs coding agents.
#[derive(Clone, Debug)]
pub struct Acp(Arc<Shared>);

impl Acp {
    /// Runs nothing before it is prompted. `bridge` is this binary, for agents that reach no MCP server over HTTP,
    /// and for the guard that ends agents with their server.
    pub fn new(settings: config::Acp, bridge: PathBuf, bounds: Bounds, tasks: Tasks) -> Self {
        Self(Arc::new(Shared {
            settings,
            guard: Guard::new(bridge.clone()),
            bridge,
            bounds,
            tasks,
            output: OnceLock::new(),
            agents: Mutex::default(),
            attempts: Mutex::default(),
        }))
    }

    async fn give(&self, dispatch: Dispatch) -> Outcome {
        let (ticket, told) = Ticket::new();
        let attempt = ticket.attempt.clone();
        self.0.attempts().insert(dispatch.turn_id.clone(), attempt.clone());
        let Dispatch { session_id, turn_id, generation, prompt: text, .. } = dispatch;
        let prompt = Prompt { turn_id: turn_id.clone(), generation, text, ticket };
        let outcome = match self.0.order(&session_id, Order::Prompt(prompt)) {
            Err(reason) => Outcome::Rejected { reason: reason.into() },
            Ok(()) => match told.await {
                Ok(outcome) => outcome,
                // The agent's task ended without a word: how far it got is what is known.
                Err(_ended) => match attempt.take_back() {
                    Revocation::Revoked => Outcome::Rejected { reason: "the agent was ended before".into() },
                    Revocation::AlreadyAccepted => Outcome::Accepted,
                    Revocation::Unknown => Outcome::Unknown { reason: "the agent was ended".into() },
                },
            },
        };
        self.0.attempts().remove(&turn_id);
        outcome
    }
}

impl Executor for Acp {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(self.give(dispatch))
    }

    /// A prompt that still waits for its agent to get ready is taken back for certain; one that was sent is not.
    fn revoke(&self, turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        let attempt = self.0.attempts().remove(&turn_id);
        Box::pin(async move { attempt.map_or(Revocation::Unknown, |attempt| attempt.take_back()) })
    }

    fn interrupt(&self, session_id: SessionId, turn_id: TurnId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (done, stopped) = oneshot::channel();
            let orders = self.0.agents().get(&session_id).map(|handle| handle.orders.clone());
            let Some(orders) = orders else { return };
            if orders.try_send(Order::Interrupt(turn_id, done)).is_ok() {
                // An agent that ended has stopped too.
                let _ended = stopped.await;
            }
        })
    }

    fn release(&self, session_id: &SessionId) {
        if let Some(handle) = self.0.agents().remove(session_id) {
            handle.let_go.cancel();
        }
    }

    fn runs_agents(&self) -> bool {
        true
    }

    fn connect(&self, output: Arc<dyn Output>) {
        if self.0.output.set(output).is_err() {
            tracing::warn!("an executor was connected twice");
        }
    }
}
