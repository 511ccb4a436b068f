//! What `decide` returns. May import: ids and its siblings.

use crate::ids::{ClaimId, MessageId, PendingId, QuestionId, SessionId, TurnId};

use super::change::Change;
use super::event::Event;
use super::turn::{DispatchOutcome, TurnEnd};

/// The changes to make, the events to announce, and what the caller does next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// In order; all or none.
    pub changes: Vec<Change>,
    /// In order.
    pub events: Vec<Event>,
    /// What came of it.
    pub effect: Effect,
}

impl Decision {
    /// Changes that turn, or a row of it.
    pub fn touches(&self, turn: &TurnId) -> bool {
        self.changes.iter().any(|change| match change {
            Change::SetTurn(_, own) => &own.id == turn,
            Change::InsertMessage(row) => &row.turn_id == turn,
            Change::InsertQuestion(row) | Change::SetQuestion(_, row) => &row.turn_id == turn,
            Change::InsertPermission(permission, ..) => &permission.turn_id == turn,
            _ => false,
        })
    }

    /// The turns that a newer one takes over: their agents have to be stopped (decisions 13).
    pub fn superseded(&self) -> impl Iterator<Item = &TurnId> {
        self.changes.iter().filter_map(|change| match change {
            Change::SetTurn(_, turn) if matches!(turn.end, Some((_, TurnEnd::Superseded))) => Some(&turn.id),
            _ => None,
        })
    }

    /// Arms a watchdog.
    pub fn arms_watchdog(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::SetTurn(_, turn) if turn.watchdog.is_some()))
    }
}

/// How a bundle ended, or that it has not (design: agents, `status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeStatus {
    /// Somebody answered.
    Answered,
    /// Somebody skipped.
    Rejected,
    /// Nobody has.
    Pending,
    /// A newer turn came.
    Superseded,
    /// The session ended.
    Expired,
    /// The asker withdrew it.
    Cancelled,
}

/// One answer in the words that the agent used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpokenAnswer {
    /// The question.
    pub question_id: QuestionId,
    /// Labels of the chosen options, in the question's order.
    pub selected: Vec<String>,
    /// Free text.
    pub text: Option<String>,
}

/// What an agent is told of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// How it stands.
    pub status: OutcomeStatus,
    /// The bundle.
    pub pending_id: PendingId,
    /// Its turn.
    pub turn_id: TurnId,
    /// In bundle order; questions without an answer are left out.
    pub answers: Vec<SpokenAnswer>,
    /// Why it was skipped; may be empty.
    pub reject_reason: String,
}

/// A claim that was made, as its responder carries it on. Immutable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimTicket {
    /// The claim.
    pub id: ClaimId,
    /// The bundle.
    pub pending_id: PendingId,
    /// Exactly the rows taken.
    pub message_ids: Vec<MessageId>,
}

/// What became of a claim, for who asks again with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimFate {
    /// Still being delivered.
    Open,
    /// It stands, and reached its end.
    Delivered(Option<DispatchOutcome>),
    /// It stands in history, undelivered: a newer turn or the session's end came first.
    Retired,
    /// It was undone.
    Restored,
}

/// What the caller of a decision learns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing beyond success.
    #[default]
    Done,
    /// Nothing was there to change.
    Unchanged,
    /// The session that was made.
    Session(SessionId),
    /// The turn that was accepted, reserved or concerned.
    Turn(TurnId),
    /// The same key came before, and became this turn.
    ReplayedTurn(TurnId),
    /// The message that was made.
    Message(MessageId),
    /// Asked: how it stands now, and whether the bundle is new.
    Asked {
        /// How it stands.
        outcome: Outcome,
        /// Made by this command.
        is_new: bool,
    },
    /// How a bundle stands, for a waiter.
    Outcome(Outcome),
    /// Claimed; a waiter has to take it.
    HandOver(ClaimTicket),
    /// Claimed and reserved; mark, then dispatch.
    Dispatch(ClaimTicket, TurnId),
    /// Over at once: a skip that nobody waits for.
    Settled(ClaimTicket),
    /// The same key came before; this is its claim and what became of it.
    Replayed(ClaimId, ClaimFate),
    /// The dispatch is closed with this knowledge.
    Closed(DispatchOutcome),
    /// The turn was cancelled; interrupt its agent.
    Interrupt(TurnId),
    /// The turn's work is over; whether the workflow may advance (decisions 18).
    Completed {
        /// The turn.
        turn_id: TurnId,
        /// Nothing answerable is left.
        may_advance: bool,
    },
    /// The event proves nothing about a turn, and was dropped.
    Dropped,
    /// What recovery did.
    Recovered(Recovery),
}

/// What recovery did to one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Recovery {
    /// Reservations rolled back, their claims restored.
    pub rolled_back: usize,
    /// Reservations kept: the dispatch may have reached the agent.
    pub kept: usize,
    /// Claims restored.
    pub restored: usize,
    /// Claims retired.
    pub retired: usize,
    /// Bundles marked detached.
    pub detached: usize,
    /// Sessions that were over and still held something as pending.
    pub expired: usize,
}
