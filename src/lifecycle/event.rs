//! What a decision announces. An event is a trigger: it names rows and carries nothing of them, so no private
//! field can ever be in one (INV-20). May import: ids.

use serde::{Deserialize, Serialize};

use crate::ids::{EventId, MessageId, Micros, Position, SessionId, TaskId, TurnId, WorkspaceId};

/// What happened to which row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// A message or question was added.
    MessageAdded {
        /// The row.
        message_id: MessageId,
    },
    /// A message or question changed.
    MessageUpdated {
        /// The row.
        message_id: MessageId,
    },
    /// A message or question is gone.
    MessageDeleted {
        /// The row that was.
        message_id: MessageId,
        /// Its turn.
        turn_id: TurnId,
    },
    /// A turn was accepted.
    TurnStarted {
        /// The turn.
        turn_id: TurnId,
    },
    /// A turn is over.
    TurnCompleted {
        /// The turn.
        turn_id: TurnId,
    },
    /// The session moved.
    SessionStateChanged,
    /// The session's pending action may have moved.
    ProjectionChanged,
    /// A task's own fields or its summary changed, or it is new.
    TaskChanged,
    /// A task is gone.
    TaskDeleted,
    /// A session is gone.
    SessionDeleted,
}

/// An event with its stable id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Stable over replays.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
}

/// An event in the log of its store, at its commit-ordered place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its place.
    pub position: Position,
    /// The event.
    pub event: Event,
    /// Who may see it.
    pub workspace_id: WorkspaceId,
    /// Its task.
    pub task_id: TaskId,
    /// Its session; none for a task's own events.
    pub session_id: Option<SessionId>,
    /// When its change was committed.
    pub created_at: Micros,
    /// The bus took it.
    pub is_accepted: bool,
}
