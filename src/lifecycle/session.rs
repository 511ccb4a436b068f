//! A session and its states (decisions 13). May import: ids.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentSessionId, Generation, Micros, Sequence, SessionId, TaskId, WorkspaceId};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionState {
    /// Made; no prompt yet.
    Created,
    /// Its agent is being started.
    Starting,
    /// Its agent works on the current turn.
    Running,
    /// Its turn is over and nothing is asked.
    Idle,
    /// Something is asked.
    WaitingForInput,
    /// Over, well. A prompt may take it up again.
    Completed,
    /// Over, badly.
    Failed,
    /// Over, by request.
    Cancelled,
}

impl SessionState {
    /// Every state, in the order of a session's life.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Starting,
        Self::Running,
        Self::Idle,
        Self::WaitingForInput,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Over: nothing of it is answerable (INV-29).
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Shown as an owner of pending input.
    pub fn is_input_capable(self) -> bool {
        matches!(self, Self::Running | Self::WaitingForInput)
    }

    /// The name in SQL, JSON and GraphQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Idle => "IDLE",
            Self::WaitingForInput => "WAITING_FOR_INPUT",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The state of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// One conversation with an agent about a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The task it works on.
    pub task_id: TaskId,
    /// The workspace of that task.
    pub workspace_id: WorkspaceId,
    /// Where it stands.
    pub state: SessionState,
    /// The task's first choice among its sessions.
    pub is_primary: bool,
    /// Who resumes its agent: the name of an executor, or none.
    pub executor: Option<String>,
    /// The conversation at its agent that this session is, once there is one.
    pub agent_session: Option<AgentSessionId>,
    /// Whether a confirmed answer without agent activity falls back to a dispatch (decisions 3).
    pub is_watchdog_on: bool,
    /// The number of the last prompt handed out.
    pub generation: Generation,
    /// The durable projection counter (INV-27).
    pub sequence: Sequence,
    /// When it was made.
    pub created_at: Micros,
    /// When it last changed.
    pub updated_at: Micros,
    /// When it ended, if it did.
    pub completed_at: Option<Micros>,
}

impl Session {
    /// The other is this one with a later sequence and time, and nothing else.
    pub fn differs_in_counters_only(&self, other: &Self) -> bool {
        let moved = Self { sequence: other.sequence, updated_at: other.updated_at, ..self.clone() };
        &moved == other
    }
}
