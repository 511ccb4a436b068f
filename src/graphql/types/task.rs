//! A task. May import: authority.

use async_graphql::{ID, Object};

use crate::authority::{SummaryReading, TaskReading};

use super::enums::PendingAction;
use super::summary::{SummaryState, TaskStatusSummary};
use super::{DateTime, TaskSession};

/// Sessions that come with a task, at most.
const SESSIONS_MAX: usize = 50;

/// A piece of work.
#[derive(Clone)]
pub struct Task(Box<TaskReading>);

impl From<TaskReading> for Task {
    fn from(reading: TaskReading) -> Self {
        Self(Box::new(reading))
    }
}

/// A piece of work, with the sessions in which agents do it.
#[Object]
impl Task {
    /// Opaque; names this task for ever.
    pub(super) async fn id(&self) -> ID {
        self.0.row.task.id.as_str().into()
    }

    /// The workspace, which is the unit of access.
    async fn workspace_id(&self) -> ID {
        self.0.row.task.workspace_id.as_str().into()
    }

    /// A short heading.
    async fn title(&self) -> &str {
        &self.0.row.task.title
    }

    /// What it is about; may be empty.
    async fn description(&self) -> &str {
        &self.0.row.task.description
    }

    /// Where it stands, in its owner's words, such as `TODO`.
    async fn state(&self) -> &str {
        &self.0.row.task.state
    }

    /// When it was made.
    async fn created_at(&self) -> DateTime {
        self.0.row.task.created_at.into()
    }

    /// When its own fields last changed.
    async fn updated_at(&self) -> DateTime {
        self.0.row.task.updated_at.into()
    }

    /// When something last happened in it; lists go by it.
    async fn last_activity_at(&self) -> DateTime {
        self.0.row.task.last_activity_at.into()
    }

    /// Its stored summary, which may be newer than the rest of this answer; null: `statusSummaryState` says why.
    async fn status_summary(&self) -> Option<TaskStatusSummary> {
        match &self.0.summary {
            SummaryReading::Present(summary) => Some(summary.into()),
            SummaryReading::Omitted | SummaryReading::Invalidated => None,
        }
    }

    /// What this answer says of its summary.
    async fn status_summary_state(&self) -> SummaryState {
        (&self.0.summary).into()
    }

    /// What somebody has to act on in any of its sessions, a permission before a clarification; null: nothing. Read
    /// from the sessions, so it holds also where the summary does not.
    async fn pending_action(&self) -> Option<PendingAction> {
        self.0.row.pending().map(|(action, _)| action.into())
    }

    /// The newest session that can take input and has that action; null: none has one.
    async fn pending_action_session(&self) -> Option<TaskSession> {
        self.0.row.pending().map(|(_, row)| TaskSession(row.clone()))
    }

    /// What somebody has to act on in the primary session; null: nothing, or there is no primary session.
    async fn primary_session_pending_action(&self) -> Option<PendingAction> {
        self.0.row.primary().and_then(|row| row.pending_action).map(Into::into)
    }

    /// The task's first choice among its sessions; null: it has none.
    async fn primary_session(&self) -> Option<TaskSession> {
        self.0.row.primary().cloned().map(TaskSession)
    }

    /// Its newest sessions, newest first, at most 50; `taskSessions` has all of them.
    #[graphql(complexity = "5 * child_complexity + 1")]
    async fn sessions(&self) -> Vec<TaskSession> {
        self.0.row.sessions.iter().take(SESSIONS_MAX).cloned().map(TaskSession).collect()
    }
}
