//! Everything that may be asked of a session: one closed enum (decisions 14). May import: ids and its siblings.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::ids::{
    AgentSessionId, ClaimId, ClientKey, Epoch, Generation, MessageId, Micros, PendingId, PermissionId,
    PrincipalId, QuestionId, TaskId, TurnId, WaiterId,
};

use super::question::{Answer, QuestionSpec};
use super::session::SessionState;
use super::turn::{Lease, TurnKind};

/// When a decision is made, by which backend generation, and the ids it may give out.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The wall clock.
    pub now: Micros,
    /// The deciding server's backend generation.
    pub epoch: Epoch,
    /// A fresh UUIDv7; all ids of the decision derive from it, so a retry gives the same ones.
    pub base: Uuid,
}

impl Stamp {
    /// The n-th fresh id.
    pub fn id(&self, n: u128) -> Uuid {
        Uuid::from_u128(self.base.as_u128().wrapping_add(n))
    }
}

/// A client key with the hash of its request's body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyed {
    /// The key.
    pub key: ClientKey,
    /// Hash of the canonical body.
    pub body_hash: String,
}

/// Which turn the caller believes to be current.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExpectedTurn {
    /// This one.
    Turn(TurnId),
    /// None at all; as much an expectation as a turn (decisions 12).
    NoTurn,
}

/// How an accepted prompt reaches its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// The caller runs the agent: the turn begins now.
    Immediate,
    /// An executor has to take it first: the turn is reserved.
    Dispatch,
}

/// A prompt to accept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AcceptTurn {
    /// The prompt; empty: the runtime keeps it to itself.
    pub prompt: String,
    /// What the turn is for.
    pub kind: TurnKind,
    /// How it reaches the agent.
    pub admission: Admission,
    /// The turn that must be current, if the caller cares.
    pub expected: Option<ExpectedTurn>,
    /// Who prompts.
    pub principal: PrincipalId,
    /// Makes it idempotent.
    pub key: Option<Keyed>,
}

/// A bundle to ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The turn that must be current, if the caller knows it.
    pub expected: Option<ExpectedTurn>,
    /// One to four questions, in canonical form.
    pub questions: Vec<QuestionSpec>,
    /// Shared background; may be empty.
    pub context: String,
    /// The caller's key, or one made of the questions.
    pub key: Keyed,
    /// The key is the caller's own: it re-attaches for ever. One made of the questions re-attaches only while
    /// the bundle is pending or its result was not received (decisions 7).
    pub is_key_explicit: bool,
    /// Who waits, if anybody does.
    pub waiter: Option<WaiterId>,
}

/// An answer to one exact bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Respond {
    /// The bundle.
    pub pending_id: PendingId,
    /// By question; one for each pending question.
    pub answers: Vec<(QuestionId, Answer)>,
    /// The turn that the person saw, if the client says so.
    pub expected_turn: Option<TurnId>,
    /// Who answers.
    pub principal: PrincipalId,
    /// Makes it idempotent.
    pub key: Keyed,
}

/// The rejection of one exact bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Skip {
    /// The bundle.
    pub pending_id: PendingId,
    /// Why; may be empty.
    pub reason: String,
    /// The turn that the person saw, if the client says so.
    pub expected_turn: Option<TurnId>,
    /// Who skips.
    pub principal: PrincipalId,
    /// Makes it idempotent.
    pub key: Keyed,
}

/// A message to append to a turn's transcript.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewMessage {
    /// The turn; none: the current one.
    pub turn_id: Option<TurnId>,
    /// `user`, `agent` or `system`.
    pub author: String,
    /// `message`, `tool_call`, …; never a question or a permission.
    pub kind: String,
    /// Its text.
    pub content: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
}

/// How a dispatch that was attempted ended, as far as the executor can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// The agent took it.
    Accepted,
    /// It may have.
    Unknown,
}

/// One change that a caller asks of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begins a session of an existing task.
    CreateSession {
        /// The task.
        task_id: TaskId,
        /// Its executor's name, if it has one.
        executor: Option<String>,
        /// Arms watchdogs.
        is_watchdog_on: bool,
    },
    /// Moves a session between states that are not terminal.
    SetSessionState(SessionState),
    /// Ends it and expires what is pending, at once (INV-29).
    EndSession(SessionState),
    /// Removes it with all that it holds.
    DeleteSession,
    /// Keeps the agent's own name of the conversation, so that a later process can take it up again.
    BindAgent(AgentSessionId),
    /// Accepts or reserves a turn (decisions 13).
    AcceptTurn(AcceptTurn),
    /// The turn's work is over.
    CompleteTurn(TurnId),
    /// Stops the current turn if it is the expected one (decisions 12).
    CancelTurn(ExpectedTurn),
    /// The agent is ready for more (specification, ready events).
    Ready {
        /// The prompt that it finished, if it knows.
        generation: Option<Generation>,
        /// It met an unresolved reservation and waited for it.
        has_overlapped: bool,
    },
    /// Asks a bundle, whole or not at all.
    Ask(Ask),
    /// Waits for a bundle again.
    RegisterWaiter(PendingId, WaiterId),
    /// A wait ended; `is_received`: its stream took the result to the end.
    DropWaiter {
        /// The bundle.
        pending_id: PendingId,
        /// The wait.
        waiter: WaiterId,
        /// The result reached the agent's stream.
        is_received: bool,
    },
    /// Nobody waits any more for what this turn asked.
    Detach(TurnId),
    /// A person answers.
    Respond(Respond),
    /// A person skips.
    Skip(Skip),
    /// The waiter takes the response, before it returns it to the agent (INV-11).
    ConfirmDelivery {
        /// The bundle.
        pending_id: PendingId,
        /// The wait.
        waiter: WaiterId,
        /// When the fallback fires, if the agent then stays silent; none: no fallback.
        watchdog: Option<Micros>,
    },
    /// Retires a claim's intent: the response stands.
    FinalizeClaim(PendingId, ClaimId),
    /// The response was not handed over: answerable again.
    RestoreClaim(PendingId, ClaimId),
    /// The asker withdraws a live bundle (decisions 4).
    Cancel(PendingId),
    /// Expires what is pending in a session that is over.
    Expire,
    /// The at-most-once line: durable before any byte leaves.
    MarkAttempted(TurnId),
    /// What the executor said after the attempt.
    Acknowledge(TurnId, Certainty),
    /// The bus took the turn's start: recovery fields go, the claim is final.
    PublishAccepted(TurnId),
    /// The executor proved that it did not take it.
    RejectDispatch(TurnId),
    /// Takes an offer back, if no worker has claimed it: the change is the proof.
    RevokeDispatch(TurnId),
    /// A worker takes the dispatch: the attempt marker is written in the hand-out.
    ClaimDispatch(TurnId, Lease),
    /// The worker needs longer to acknowledge.
    ExtendLease(TurnId, Micros),
    /// A lease ran out without an acknowledgement: nobody can tell, and nobody else gets the dispatch.
    LapseLease(TurnId),
    /// An operator settles an unknown dispatch.
    ResolveAmbiguous {
        /// The dispatched turn.
        turn_id: TurnId,
        /// The bundle that it answers, if it answers one.
        pending_id: Option<PendingId>,
        /// What the operator found.
        was_accepted: bool,
    },
    /// Arms the fallback of a confirmed answer.
    ArmWatchdog {
        /// The bundle.
        pending_id: PendingId,
        /// When it fires.
        deadline: Micros,
    },
    /// The fallback's time has come.
    FireWatchdog(TurnId),
    /// Appends a message.
    AppendMessage(NewMessage),
    /// Replaces a message's text.
    UpdateMessage {
        /// The row.
        id: MessageId,
        /// Its new text.
        content: String,
    },
    /// Removes a message; a question is one.
    DeleteMessage(MessageId),
    /// An agent asks for a permission.
    RecordPermission {
        /// Its own id.
        id: PermissionId,
        /// What is asked.
        content: String,
    },
    /// The permission was granted, denied or withdrawn.
    ResolvePermission {
        /// Its own id.
        id: PermissionId,
        /// `approved`, `denied`, `cancelled`.
        status: String,
    },
    /// Takes up what a dead backend generation left (architecture section 7).
    Recover,
}

/// What a view must hold beyond its standing parts for a command to be decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// A bundle, whatever its state.
    pub pending_id: Option<PendingId>,
    /// A turn, however old.
    pub turn_id: Option<TurnId>,
    /// A message, with its bundle if it is a question.
    pub message_id: Option<MessageId>,
    /// A permission request.
    pub permission_id: Option<PermissionId>,
    /// A client key, of the scope that the command has; an asked bundle comes with it.
    pub key: Option<(ClientKey, FocusScope)>,
    /// The task of a session to be made.
    pub task_id: Option<TaskId>,
}

/// The part of a key's scope that the command knows; the current turn comes from the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FocusScope {
    /// The session's current turn.
    CurrentTurn,
    /// This bundle and principal.
    Bundle(PendingId, PrincipalId),
    /// This session and principal.
    Session(PrincipalId),
}

impl Command {
    /// Only an agent that lives, or its runtime, does this: it has what it was told before, and needs no fallback
    /// (decisions 3).
    pub fn is_agent_activity(&self) -> bool {
        matches!(
            self,
            Self::Ask(_)
                | Self::RegisterWaiter(..)
                | Self::DropWaiter { is_received: true, .. }
                | Self::AppendMessage(_)
                | Self::UpdateMessage { .. }
                | Self::RecordPermission { .. }
                | Self::CompleteTurn(_)
                | Self::Ready { .. }
        )
    }

    /// What the view must hold for it.
    pub fn focus(&self) -> Focus {
        let mut focus = Focus::default();
        match self {
            Self::CreateSession { task_id, .. } => focus.task_id = Some(task_id.clone()),
            Self::AcceptTurn(accept) => {
                focus.key = accept
                    .key
                    .as_ref()
                    .map(|keyed| (keyed.key.clone(), FocusScope::Session(accept.principal.clone())));
            }
            Self::Ask(ask) => focus.key = Some((ask.key.key.clone(), FocusScope::CurrentTurn)),
            Self::Respond(Respond { pending_id, principal, key, .. })
            | Self::Skip(Skip { pending_id, principal, key, .. }) => {
                focus.pending_id = Some(pending_id.clone());
                focus.key = Some((key.key.clone(), FocusScope::Bundle(pending_id.clone(), principal.clone())));
            }
            Self::RegisterWaiter(pending_id, _)
            | Self::DropWaiter { pending_id, .. }
            | Self::ConfirmDelivery { pending_id, .. }
            | Self::FinalizeClaim(pending_id, _)
            | Self::RestoreClaim(pending_id, _)
            | Self::ArmWatchdog { pending_id, .. }
            | Self::Cancel(pending_id) => focus.pending_id = Some(pending_id.clone()),
            Self::CompleteTurn(id)
            | Self::Detach(id)
            | Self::MarkAttempted(id)
            | Self::Acknowledge(id, _)
            | Self::PublishAccepted(id)
            | Self::RejectDispatch(id)
            | Self::RevokeDispatch(id)
            | Self::ClaimDispatch(id, _)
            | Self::ExtendLease(id, _)
            | Self::LapseLease(id)
            | Self::FireWatchdog(id) => focus.turn_id = Some(id.clone()),
            Self::ResolveAmbiguous { turn_id, pending_id, .. } => {
                focus.turn_id = Some(turn_id.clone());
                focus.pending_id.clone_from(pending_id);
            }
            Self::AppendMessage(message) => focus.turn_id.clone_from(&message.turn_id),
            Self::UpdateMessage { id, .. } | Self::DeleteMessage(id) => {
                focus.message_id = Some(id.clone());
            }
            Self::RecordPermission { id, .. } | Self::ResolvePermission { id, .. } => {
                focus.permission_id = Some(id.clone());
            }
            Self::SetSessionState(_)
            | Self::EndSession(_)
            | Self::DeleteSession
            | Self::BindAgent(_)
            | Self::CancelTurn(_)
            | Self::Ready { .. }
            | Self::Expire
            | Self::Recover => {}
        }
        focus
    }
}
