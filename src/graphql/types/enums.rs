//! Enums that mirror the lifecycle's. May import: authority, access, lifecycle.

use async_graphql::Enum;

use crate::{access, authority, lifecycle};

/// Where a session stands.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::SessionState")]
pub enum SessionState {
    /// Made; it has had no prompt.
    Created,
    /// Its agent is being started.
    Starting,
    /// Its agent works on the current turn.
    Running,
    /// Its turn is over and nothing is asked.
    Idle,
    /// Something is asked, or the turn is over with something asked.
    WaitingForInput,
    /// Over, well. A prompt may take it up again.
    Completed,
    /// Over, badly. It takes no prompt.
    Failed,
    /// Over, by request. It takes no prompt.
    Cancelled,
}

/// What somebody has to act on.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::PendingAction")]
pub enum PendingAction {
    /// A question wants an answer or a skip.
    Clarification,
    /// A permission wants a decision.
    Permission,
}

/// What an agent does in the foreground.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::ForegroundActivity")]
pub enum ForegroundActivity {
    /// It writes or works.
    Generating,
    /// Its work goes on in the background.
    Background,
}

/// Where a bundle of questions stands. Computed from the rows at every read.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::BundleState")]
pub enum ClarificationState {
    /// Answerable, and its agent waits: the answer arrives in the same turn.
    ActiveLive,
    /// Answerable, and nobody waits: the answer starts a new turn.
    ActiveDetached,
    /// A response is being delivered.
    DeliveryClaimed,
    /// Decided, or its session is over.
    Terminal,
    /// History: a newer turn began, so nobody can answer it any more.
    SupersededHistory,
}

/// How a bundle ended for its agent, or that it has not.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::OutcomeStatus")]
pub enum OutcomeStatus {
    /// Somebody answered.
    Answered,
    /// Somebody skipped.
    Rejected,
    /// Nobody has decided yet.
    Pending,
    /// A newer turn came first.
    Superseded,
    /// The session ended first.
    Expired,
    /// The asker withdrew it.
    Cancelled,
}

/// Why a response cannot be taken.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::ConflictReason")]
pub enum ConflictReason {
    /// A newer turn is current.
    Superseded,
    /// The bundle is decided.
    Terminal,
    /// Another response is being delivered.
    DeliveryClaimed,
    /// The session is over.
    SessionEnded,
    /// Another turn is current than `expectedTurnId` says.
    ExpectedTurnChanged,
}

/// Why a response or prompt did not reach its agent.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "authority::DeliveryFailure")]
pub enum DeliveryFailure {
    /// The agent that waited did not take it in time. It was given back, and can be sent again.
    NotTaken,
    /// Nobody waits and nobody can be called; the agent has to ask again. It was given back.
    AgentUnreachable,
    /// The agent refused it. It was given back.
    Rejected,
    /// It may have reached the agent. It is not sent again.
    Unknown,
    /// The agent took it; the start of its turn is announced later. It is not sent again.
    PublicationFailed,
    /// A step could not be written; `retryable` says whether it can be sent again.
    Persistence,
}

/// What a turn is for.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::TurnKind")]
pub enum TurnKind {
    /// An accepted prompt and its work.
    Work,
    /// A marker that is over when it is made; it never supersedes a question.
    Bookkeeping,
}

/// How a turn ended.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::TurnEnd")]
pub enum TurnEnd {
    /// Its agent finished.
    Completed,
    /// A newer turn took over.
    Superseded,
    /// It was cancelled.
    Cancelled,
    /// Its session ended first.
    SessionEnded,
}

/// What is known of the dispatch that began a turn.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::DispatchOutcome")]
pub enum DispatchOutcome {
    /// The agent took it.
    Accepted,
    /// It may have; nobody can tell, so nothing is sent again.
    Unknown,
    /// An operator found that it had not.
    NotAccepted,
}

/// What is wrong with a value.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "lifecycle::FieldCode")]
pub enum FieldErrorCode {
    /// It has to be there.
    Required,
    /// Too few items; `limit` is the least number.
    TooFew,
    /// Too many items; `limit` is the greatest number.
    TooMany,
    /// Too long; `limit` counts Unicode code points.
    TooLong,
    /// It names nothing that exists.
    Unknown,
    /// It is named twice.
    Duplicate,
    /// It is not allowed here.
    NotAllowed,
}

/// What a token may do.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "access::Role")]
pub enum Role {
    /// Reads, answers, skips and prompts.
    Person,
    /// Runs agents: tasks, sessions, turns, messages, questions.
    Runtime,
    /// An agent in its one session: asks and waits.
    Agent,
    /// Everything, with tokens and ambiguous dispatches.
    Operator,
}

/// How a permission request was decided.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum PermissionDecision {
    /// It was granted.
    Approved,
    /// It was refused.
    Denied,
    /// It was withdrawn.
    Cancelled,
}

impl PermissionDecision {
    /// The name in metadata.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why the domain refuses what was asked.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The client key was used before with another body.
    KeyReused,
    /// The agent works on a turn that asks nothing.
    TurnInProgress,
    /// The session's state does not allow it.
    StateNotAllowed,
    /// A dispatch of the session is not resolved yet. The only reason where asking again later helps.
    DispatchUnresolved,
    /// Nobody waits for this bundle; skip it instead of cancelling.
    NotLive,
    /// The step does not apply any more.
    Stale,
    /// A stored record cannot be read; nothing of it was changed.
    Malformed,
    /// A newer turn is current.
    Superseded,
    /// The bundle is decided.
    Terminal,
    /// Another response is being delivered.
    DeliveryClaimed,
    /// The session is over.
    SessionEnded,
    /// Another turn is current than was expected.
    ExpectedTurnChanged,
}
