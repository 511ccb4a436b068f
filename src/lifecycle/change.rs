//! What a decision changes, as data: [`SessionView::apply`] changes memory, `store::apply` changes rows.
//!
//! Each change that rewrites a row carries the guard that the row must meet; the store asserts that exactly one
//! row met it. May import: ids and its siblings.

use serde_json::{Map, Value};

use crate::ids::{MessageId, Micros, PendingId, PermissionId, TurnId, WaiterId};

use super::question::{Bundle, Question, Status};
use super::session::Session;
use super::turn::Turn;
use super::view::{KeyRecord, KeyResult, MessageRef, Permission, SessionView, Waiter};

/// What a question row must be for its rewrite.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuestionGuard {
    /// Its status as decided upon.
    pub status: Status,
    /// Whether it carries a delivery intent.
    pub has_intent: bool,
}

/// What a turn must be for its rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TurnGuard {
    /// Whether it is a reservation.
    pub is_reserved: bool,
    /// Whether it is one that was attempted.
    pub is_attempted: bool,
    /// Whether it is over.
    pub has_ended: bool,
}

impl TurnGuard {
    /// The guard that this turn meets.
    pub fn of(turn: &Turn) -> Self {
        Self {
            is_reserved: turn.reservation.is_some(),
            is_attempted: turn.reservation.as_ref().is_some_and(|r| r.is_attempted),
            has_ended: turn.end.is_some(),
        }
    }
}

/// A transcript message to insert; no question and no permission.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageRow {
    /// Its id.
    pub id: MessageId,
    /// Its turn.
    pub turn_id: TurnId,
    /// `user`, `agent` or `system`.
    pub author: String,
    /// `message`, `tool_call`, …
    pub kind: String,
    /// Its text.
    pub content: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// When.
    pub created_at: Micros,
}

/// One change of one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Inserts the session.
    InsertSession(Session),
    /// Rewrites the session's row; its counters only grow.
    SetSession(Session),
    /// Removes the session with its turns, messages, keys and waiters.
    DeleteSession,
    /// Inserts a turn.
    InsertTurn(Turn),
    /// Rewrites a turn that meets the guard.
    SetTurn(TurnGuard, Turn),
    /// Removes a reservation that no message references, with nothing else.
    DeleteReservation(TurnId),
    /// Inserts a question row.
    InsertQuestion(Question),
    /// Rewrites a question row that meets the guard.
    SetQuestion(QuestionGuard, Question),
    /// Inserts a message.
    InsertMessage(MessageRow),
    /// Replaces a message's text.
    SetMessageContent(MessageId, String, Micros),
    /// Removes a message or question.
    DeleteMessage(MessageId),
    /// Inserts a permission request.
    InsertPermission(Permission, String, Micros),
    /// Resolves one, to that status.
    ResolvePermission(PermissionId, String, Micros),
    /// Inserts a waiter.
    InsertWaiter(Waiter),
    /// Removes a waiter.
    DeleteWaiter(PendingId, WaiterId),
    /// Remembers a client key.
    InsertKey(KeyRecord),
    /// Forgets the keys that led to this: it was undone.
    DeleteKeys(KeyResult),
    /// The task was active.
    TouchTask(Micros),
}

impl Change {
    /// What it changes can move a pending action (decisions 25).
    pub fn touches_projection(&self) -> bool {
        !matches!(
            self,
            Self::InsertMessage(_)
                | Self::SetMessageContent(..)
                | Self::InsertKey(_)
                | Self::DeleteKeys(_)
                | Self::InsertWaiter(_)
                | Self::DeleteWaiter(..)
                | Self::TouchTask(_)
                | Self::DeleteSession
        )
    }
}

impl SessionView {
    /// Makes the change in memory. The store makes the same one in rows; a differential test keeps them equal.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::InsertSession(session) | Change::SetSession(session) => self.session = Some(session.clone()),
            Change::DeleteSession => *self = Self::default(),
            Change::InsertTurn(turn) => {
                self.last_ordinal = self.last_ordinal.max(turn.ordinal);
                self.last_started_at = self.last_started_at.max(turn.started_at);
                self.turns.push(turn.clone());
            }
            Change::SetTurn(_, turn) => replace(&mut self.turns, turn, |t| t.id == turn.id),
            Change::DeleteReservation(id) => self.turns.retain(|turn| &turn.id != id),
            Change::InsertQuestion(question) => self.insert_question(question),
            Change::SetQuestion(_, question) => {
                let rows = self.bundles.iter_mut().flat_map(|bundle| &mut bundle.questions);
                rows.filter(|row| row.id == question.id).for_each(|row| row.clone_from(question));
            }
            Change::InsertMessage(row) => {
                self.message = Some(MessageRef { id: row.id.clone(), turn_id: row.turn_id.clone() });
            }
            Change::DeleteMessage(id) => {
                self.bundles.iter_mut().for_each(|bundle| bundle.questions.retain(|row| &row.id != id));
                self.bundles.retain(|bundle| !bundle.questions.is_empty());
                self.permissions.retain(|permission| &permission.message_id != id);
                self.message = self.message.take().filter(|message| &message.id != id);
            }
            Change::InsertPermission(permission, ..) => self.permissions.push(permission.clone()),
            Change::ResolvePermission(id, ..) => self.permissions.retain(|permission| &permission.id != id),
            Change::InsertWaiter(waiter) => self.waiters.push(waiter.clone()),
            Change::DeleteWaiter(bundle, id) => {
                self.waiters.retain(|waiter| (&waiter.pending_id, &waiter.id) != (bundle, id));
            }
            Change::InsertKey(record) => self.keys.push(record.clone()),
            Change::DeleteKeys(result) => self.keys.retain(|record| &record.result != result),
            Change::SetMessageContent(..) | Change::TouchTask(_) => {}
        }
    }

    fn insert_question(&mut self, question: &Question) {
        let place = self.bundles.iter_mut().find(|bundle| bundle.pending_id == question.pending_id);
        match place {
            Some(bundle) => bundle.questions.push(question.clone()),
            None => self
                .bundles
                .push(Bundle { pending_id: question.pending_id.clone(), questions: vec![question.clone()] }),
        }
    }
}

fn replace<T: Clone>(items: &mut [T], with: &T, is_it: impl Fn(&T) -> bool) {
    items.iter_mut().filter(|item| is_it(item)).for_each(|item| item.clone_from(with));
}
