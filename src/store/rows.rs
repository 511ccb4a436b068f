//! What reads return, in the domain's words. May import: ids, lifecycle.

use serde_json::{Map, Value};

use crate::ids::{
    MessageId, Micros, Ordinal, PendingId, Position, Revision, SessionId, TaskId, TokenId, TurnId, WorkspaceId,
};
use crate::lifecycle::{
    Bundle, BundleState, Decision, PendingAction, Question, Session, Summary, TaskFacts, Turn, bundle_state,
    task_pending,
};

/// A decision that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What was decided, and is durable now.
    pub decision: Decision,
    /// The place of its last event; none: it announced nothing.
    pub last_position: Option<Position>,
}

/// How far the log of events reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxSpan {
    /// What came up to here is not kept.
    pub floor: Position,
    /// The newest event.
    pub tip: Position,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Micros,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// A short heading.
    pub title: String,
    /// What it is about; may be empty.
    pub description: String,
    /// Where it stands, in its owner's words.
    pub state: String,
    /// When it was made.
    pub created_at: Micros,
    /// When its own fields last changed.
    pub updated_at: Micros,
    /// When something last happened in it; lists go by it.
    pub last_activity_at: Micros,
}

/// Changes of a task's own fields; none leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPatch {
    /// The heading.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Where it stands.
    pub state: Option<String>,
}

/// Which tasks a page lists, beside what the caller may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Of one workspace.
    pub workspace: Option<WorkspaceId>,
    /// With (or without) a session that waits for somebody.
    pub has_pending_action: Option<bool>,
}

/// A task's place in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskKey {
    /// Its last activity.
    pub last_activity_at: Micros,
    /// Breaks ties.
    pub id: TaskId,
}

/// A task with its summary and sessions, read in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskListRow {
    /// The task.
    pub task: TaskRow,
    /// The summary as it is stored, right or wrong; none: none is stored.
    pub summary: Option<Summary>,
    /// Its newest sessions, at most [`super::SESSIONS_PER_TASK_MAX`] of them, and those behind them that are primary
    /// or wait for somebody; newest first.
    pub sessions: Vec<SessionRow>,
}

impl TaskListRow {
    /// What somebody has to act on, and the newest session that waits for it.
    pub fn pending(&self) -> Option<(PendingAction, &SessionRow)> {
        let sessions = self.sessions.iter().map(|row| (row.session.state, row.pending_action));
        let (place, action) = task_pending(sessions)?;
        Some((action, self.sessions.get(place)?))
    }

    /// The task's first choice among its sessions.
    pub fn primary(&self) -> Option<&SessionRow> {
        self.sessions.iter().find(|row| row.session.is_primary)
    }

    /// What its summary has to say.
    pub fn facts(&self) -> TaskFacts {
        TaskFacts {
            pending: self.pending().map(|(action, row)| (action, row.session.id.clone())),
            primary: self.primary().map(|row| (row.session.id.clone(), row.session.state)),
        }
    }
}

/// What came of bringing a task's summary up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It says what the sessions say; `is_new`: it did not before.
    Told {
        /// The summary as it is stored now.
        summary: Summary,
        /// This call has written it.
        is_new: bool,
    },
    /// Another writer was quicker; look again.
    Lost,
    /// The task is gone.
    Gone,
}

/// A session with what is derived of it, read in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub session: Session,
    /// The newest authoritative turn.
    pub current_turn: Option<TurnId>,
    /// That turn may be shown (decisions 10).
    pub is_current_visible: bool,
    /// What the session waits for.
    pub pending_action: Option<PendingAction>,
    /// The version of these derived values.
    pub revision: Revision,
    /// The oldest active bundle: the one a chat shows.
    pub active_bundle: Option<PendingId>,
}

/// A bundle with what decides where it stands, read in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleRow {
    /// The bundle, whole.
    pub bundle: Bundle,
    /// Its session.
    pub session_id: SessionId,
    /// The session's task.
    pub task_id: TaskId,
    /// The task's workspace.
    pub workspace_id: WorkspaceId,
    /// The session's state.
    pub session_state: crate::lifecycle::SessionState,
    /// Its one turn is the session's current turn.
    pub is_current: bool,
    /// The session's current turn.
    pub current_turn: Option<TurnId>,
    /// The same, where it may be shown (decisions 10).
    pub current_visible: Option<TurnId>,
    /// Somebody whose server is alive waits for it.
    pub has_waiter: bool,
    /// The version of these derived values.
    pub revision: Revision,
}

impl BundleRow {
    /// Where the bundle stands.
    pub fn state(&self) -> BundleState {
        let is_live = !self.session_state.is_terminal();
        bundle_state(&self.bundle, self.current_turn.as_ref(), is_live, self.has_waiter)
    }

    /// When it was asked: its first row.
    pub fn created_at(&self) -> Micros {
        self.bundle.place().0.unwrap_or_default()
    }
}

/// Which bundles the inbox lists, beside what the caller may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingFilter {
    /// Of one workspace.
    pub workspace: Option<WorkspaceId>,
    /// Of one task.
    pub task: Option<TaskId>,
    /// Of one session.
    pub session: Option<SessionId>,
}

/// A turn with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// The turn.
    pub turn: Turn,
    /// Its session.
    pub session_id: SessionId,
    /// The session's task.
    pub task_id: TaskId,
    /// The task's workspace.
    pub workspace_id: WorkspaceId,
}

/// A message of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRowOut {
    /// Its id.
    pub id: MessageId,
    /// Its session.
    pub session_id: SessionId,
    /// Its turn; may be empty in imported rows.
    pub turn_id: TurnId,
    /// `user`, `agent` or `system`.
    pub author: String,
    /// `message`, `tool_call`, `clarification_request`, `permission_request`, …
    pub kind: String,
    /// Its text.
    pub content: String,
    /// Its metadata without private keys.
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: Micros,
    /// When it last changed.
    pub updated_at: Micros,
    /// The question, if it is one that can be read.
    pub question: Option<Question>,
}

/// A message's place in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageKey {
    /// When it was made.
    pub created_at: Micros,
    /// Breaks ties.
    pub id: MessageId,
}

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// After this one.
    pub after: Option<MessageKey>,
    /// Before this one.
    pub before: Option<MessageKey>,
    /// At most so many.
    pub limit: i64,
    /// Newest first, from the end.
    pub is_backward: bool,
}

/// An access token. `id` and `hash` say which; what it may do is its `role` and `workspaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// Its id.
    pub id: TokenId,
    /// SHA-256 of its secret.
    pub hash: [u8; 32],
    /// Its role's name.
    pub role: String,
    /// What it reaches; none: everything.
    pub workspaces: Option<Vec<WorkspaceId>>,
    /// Bound to that session: it dies with it.
    pub session_id: Option<SessionId>,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Micros,
    /// When it ends, if it does.
    pub expires_at: Option<Micros>,
    /// When it was taken back, if it was.
    pub revoked_at: Option<Micros>,
}

/// A visible turn's place in its session.
pub type TurnKey = Ordinal;
