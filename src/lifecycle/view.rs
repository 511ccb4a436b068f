//! What `decide` sees of one session, and the one rule over it (architecture section 4).
//!
//! The view is bounded: the session, its current and newer turns, the bundles of the current turn that are not
//! decided, those with an open claim, and what the command names. Never history. May import: ids and its siblings.

use serde::{Deserialize, Serialize};

use crate::ids::{
    ClaimId, ClientKey, Epoch, MessageId, Micros, Ordinal, PendingId, PermissionId, TaskId, TurnId, WaiterId,
    WorkspaceId,
};

use super::question::{Bundle, Question};
use super::session::Session;
use super::turn::Turn;

/// A wait for a bundle's answer, durable so that every server knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    /// The wait.
    pub id: WaiterId,
    /// What it waits for.
    pub pending_id: PendingId,
    /// The backend generation that holds it.
    pub epoch: Epoch,
}

/// A permission request that is not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// Its message row.
    pub message_id: MessageId,
    /// Its own id.
    pub id: PermissionId,
    /// Its turn.
    pub turn_id: TurnId,
}

/// What a client key led to the first time (decisions 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyResult {
    /// A bundle was asked.
    Asked(PendingId),
    /// A response was claimed.
    Responded(PendingId, ClaimId),
    /// A prompt became this turn.
    Prompted(TurnId),
}

/// A used client key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRecord {
    /// Where the key is unique.
    pub scope: KeyScope,
    /// The key.
    pub key: ClientKey,
    /// Hash of the first request's body; another body under the same key is a typed error.
    pub body_hash: String,
    /// What came of it.
    pub result: KeyResult,
}

/// Where a client key is unique (decisions 7). The principal is part of each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Asks: one session and turn.
    Turn(TurnId),
    /// Responses: one bundle, one principal.
    Bundle(PendingId, crate::ids::PrincipalId),
    /// Prompts: one session, one principal.
    Session(crate::ids::PrincipalId),
}

/// The task that a new session would belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskRef {
    /// The task.
    pub id: TaskId,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// How many sessions it has.
    pub session_count: i64,
}

/// A message that the command names and that is no question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageRef {
    /// The row.
    pub id: MessageId,
    /// Its turn.
    pub turn_id: TurnId,
}

/// One session, as far as a decision may need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionView {
    /// None: no such session.
    pub session: Option<Session>,
    /// The task named by `CreateSession`, if it exists.
    pub task: Option<TaskRef>,
    /// The newest turn that is no reservation and all newer ones, turns that are not over, sources of open claims, and
    /// the turn named; by ordinal.
    pub turns: Vec<Turn>,
    /// Bundles with undecided rows in the current turn or the one that a refused reservation gives back, with open
    /// claims, with waiters, and the one named.
    pub bundles: Vec<Bundle>,
    /// Waiters of those bundles.
    pub waiters: Vec<Waiter>,
    /// Unresolved permission requests of the current turn, and the one named.
    pub permissions: Vec<Permission>,
    /// What the command's key led to before.
    pub keys: Vec<KeyRecord>,
    /// The message named, if it is no question.
    pub message: Option<MessageRef>,
    /// Backend generations whose servers are gone: their waiters, claims and reservations have no owner.
    pub dead_epochs: Vec<Epoch>,
    /// The greatest ordinal given out, even to turns deleted since or not loaded.
    pub last_ordinal: Ordinal,
    /// The greatest start given out (INV-03).
    pub last_started_at: Micros,
}

/// Where a bundle stands: computed, never stored (specification, state machine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BundleState {
    /// Answerable, and somebody waits.
    ActiveLive,
    /// Answerable; an answer starts a new turn.
    ActiveDetached,
    /// A response is being delivered.
    DeliveryClaimed,
    /// Over.
    Terminal,
    /// History of an older turn.
    SupersededHistory,
}

/// What a session or task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingAction {
    /// A question.
    Clarification,
    /// A permission.
    Permission,
}

/// Where a bundle stands, from what a reader knows of its session.
pub fn bundle_state(
    bundle: &Bundle,
    current_turn: Option<&TurnId>,
    is_live_session: bool,
    has_waiter: bool,
) -> BundleState {
    if bundle.open_claim().is_some() {
        BundleState::DeliveryClaimed
    } else if bundle.pending().next().is_none() || !is_live_session {
        BundleState::Terminal
    } else if bundle.turn_id().is_none() || bundle.turn_id() != current_turn {
        BundleState::SupersededHistory
    } else if has_waiter {
        BundleState::ActiveLive
    } else {
        BundleState::ActiveDetached
    }
}

impl SessionView {
    /// `current(s)`: the authoritative turn with the greatest ordinal. The only such rule.
    pub fn current_turn(&self) -> Option<&Turn> {
        self.turns.iter().filter(|turn| turn.is_authoritative()).max_by_key(|turn| turn.ordinal)
    }

    /// The turn of that id, if it is loaded.
    pub fn turn(&self, id: &TurnId) -> Option<&Turn> {
        self.turns.iter().find(|turn| &turn.id == id)
    }

    /// The one turn that is still a reservation (INV-33).
    pub fn reservation(&self) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.reservation.is_some())
    }

    /// The bundle of that id, if it is loaded.
    pub fn bundle(&self, id: &PendingId) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| &bundle.pending_id == id)
    }

    /// The row of that id, if it is loaded.
    pub fn question(&self, id: &MessageId) -> Option<&Question> {
        self.bundles.iter().flat_map(|bundle| &bundle.questions).find(|question| &question.id == id)
    }

    /// The session exists and is not over.
    pub fn is_live(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.state.is_terminal())
    }

    /// The bundle's one turn is the session's current turn.
    pub fn is_of_current_turn(&self, bundle: &Bundle) -> bool {
        match (bundle.turn_id(), self.current_turn()) {
            (Some(own), Some(current)) => own == &current.id,
            _ => false,
        }
    }

    /// `active(bundle)`: undecided rows, of the current turn, in a live session (INV-01).
    pub fn is_active(&self, bundle: &Bundle) -> bool {
        bundle.pending().next().is_some() && self.is_of_current_turn(bundle) && self.is_live()
    }

    /// Active bundles, in the order they were asked.
    pub fn active_bundles(&self) -> impl Iterator<Item = &Bundle> {
        self.bundles.iter().filter(|bundle| self.is_active(bundle))
    }

    /// Somebody whose server is alive waits for it.
    pub fn has_waiter(&self, id: &PendingId) -> bool {
        self.waiters.iter().any(|w| &w.pending_id == id && !self.dead_epochs.contains(&w.epoch))
    }

    /// Where the bundle stands.
    pub fn bundle_state(&self, bundle: &Bundle) -> BundleState {
        let current = self.current_turn().map(|turn| &turn.id);
        bundle_state(bundle, current, self.is_live(), self.has_waiter(&bundle.pending_id))
    }

    /// What the session waits for: a clarification before a permission (decisions 19).
    pub fn pending_action(&self) -> Option<PendingAction> {
        let session = self.session.as_ref()?;
        if !session.state.is_input_capable() {
            return None;
        }
        let current = self.current_turn()?;
        if self.active_bundles().next().is_some() {
            Some(PendingAction::Clarification)
        } else {
            let asks = self.permissions.iter().any(|p| p.turn_id == current.id);
            asks.then_some(PendingAction::Permission)
        }
    }

    /// The workflow guard: nothing answerable is left (decisions 18).
    pub fn workflow_may_advance(&self) -> bool {
        self.active_bundles().next().is_none()
    }
}
