//! The executor boundary: how an agent that nobody waits for is given its next prompt (design: agents).
//! May import: store, bus, access, lifecycle, ids, ports, config.

mod acp;
mod output;
mod pull;
#[cfg(feature = "failpoints")]
mod recording;
mod scripted;
mod webhook;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::ids::{Generation, PendingId, SessionId, TurnId};
use crate::lifecycle::SpokenAnswer;

pub use acp::{Acp, Bounds, GUARD, Room, guard_agents};
pub use output::{Door, Failed, Output, Said, Verdict};
pub use pull::{Offered, Pull};
#[cfg(feature = "failpoints")]
pub use recording::Recording;
pub use scripted::{Script, Scripted};
pub use webhook::{Pace, Unusable, Webhook};

/// One prompt on its way to an agent. Its id is its turn: one turn is dispatched at most once (INV-08).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The session.
    pub session_id: SessionId,
    /// The reserved turn, and the dispatch's id.
    pub turn_id: TurnId,
    /// The turn that asked, for an answer.
    pub source_turn_id: Option<TurnId>,
    /// The answered bundle, for an answer.
    pub pending_id: Option<PendingId>,
    /// The prompt's number in its session.
    pub generation: Generation,
    /// What the agent is to read.
    pub prompt: String,
    /// What the person answered to that bundle, in the words that were asked; empty for a plain prompt. The prompt of
    /// a watchdog may tell the answers to more bundles than that one.
    pub answers: Vec<SpokenAnswer>,
    /// Its agent may still work on the turn before, which has to be stopped first.
    pub is_interrupt: bool,
}

/// What an executor knows after the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The agent took it.
    Accepted,
    /// It provably did not, and never will.
    Rejected {
        /// Why, in words for a person.
        reason: String,
    },
    /// Nobody can tell.
    Unknown {
        /// Why, in words for an operator.
        reason: String,
    },
}

/// What came of taking a call back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// It provably never will be taken.
    Revoked,
    /// It was taken before.
    AlreadyAccepted,
    /// Nobody can tell.
    Unknown,
}

/// Gives prompts to agents. One call is one attempt: no retries inside, unless the endpoint promised to take each
/// dispatch once (decisions 9).
pub trait Executor: fmt::Debug + Send + Sync {
    /// Makes the one attempt. The caller bounds it by `within` and then revokes.
    fn dispatch(&self, dispatch: Dispatch, within: Duration) -> BoxFuture<'_, Outcome>;

    /// Takes an unacknowledged call back, where that can be proven.
    fn revoke(&self, turn_id: TurnId) -> BoxFuture<'_, Revocation>;

    /// Stops the agent's work on a turn that was cancelled or superseded (decisions 12, 13). Where there is nothing to stop, nothing
    /// happens; the caller bounds it.
    fn interrupt(&self, _session_id: SessionId, _turn_id: TurnId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The session is over: lets go of whatever is held for its agent.
    fn release(&self, _session_id: &SessionId) {}

    /// Its agents are processes of this server: one that died left their turns with nobody behind them.
    fn runs_agents(&self) -> bool {
        false
    }

    /// Where its agents' output goes; called once, when the server answers.
    fn connect(&self, _output: Arc<dyn Output>) {}
}

/// Which side comes to the other.
#[derive(Clone, Debug)]
pub enum Route {
    /// The agent's side is called; the attempt marker is written before.
    Push(Arc<dyn Executor>),
    /// A worker comes; the attempt marker is written as it claims.
    Pull(Arc<Pull>),
}

impl Route {
    /// Who is called, where somebody is.
    pub fn executor(self) -> Option<Arc<dyn Executor>> {
        match self {
            Self::Push(executor) => Some(executor),
            Self::Pull(_) => None,
        }
    }

    /// Where workers come, where they do.
    pub fn pull(self) -> Option<Arc<Pull>> {
        match self {
            Self::Push(_) => None,
            Self::Pull(pull) => Some(pull),
        }
    }
}

/// Executors by the name that a session gives.
#[derive(Clone, Debug, Default)]
pub struct Executors(BTreeMap<String, Route>);

impl Executors {
    /// Adds one that is called, under a name.
    #[must_use]
    pub fn with(mut self, name: &str, executor: Arc<dyn Executor>) -> Self {
        self.0.insert(name.to_owned(), Route::Push(executor));
        self
    }

    /// Adds one whose workers come, under a name.
    #[must_use]
    pub fn with_pull(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), Route::Pull(Arc::default()));
        self
    }

    /// The executor of that name.
    pub fn get(&self, name: &str) -> Option<Route> {
        self.0.get(name).cloned()
    }

    /// Tells every executor where its agents' output goes.
    pub fn connect(&self, output: &Arc<dyn Output>) {
        let called = self.0.values().cloned().filter_map(Route::executor);
        called.for_each(|executor| executor.connect(output.clone()));
    }

    /// Every name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The names of those whose agents are processes of this server.
    pub fn names_of_runners(&self) -> Vec<String> {
        let runs = |route: &Route| matches!(route, Route::Push(executor) if executor.runs_agents());
        self.0.iter().filter(|(_, route)| runs(route)).map(|(name, _)| name.clone()).collect()
    }
}
