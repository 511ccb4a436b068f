//! A task. May import: store, lifecycle.

use async_graphql::{ID, Object};

use crate::lifecycle;
use crate::store::{SessionRow, TaskListRow, TaskRow};

use super::enums::PendingAction;
use super::{DateTime, TaskSession};

/// Sessions that come with a task, at most.
const SESSIONS_MAX: usize = 50;

/// A piece of work.
#[derive(Clone)]
pub struct Task {
    row: TaskRow,
    sessions: Vec<SessionRow>,
}

impl From<TaskListRow> for Task {
    fn from(row: TaskListRow) -> Self {
        Self { row: row.task, sessions: row.sessions }
    }
}

/// Across a task a permission comes before a clarification, over sessions that can take input (decisions 19).
fn pending(sessions: &[SessionRow]) -> Option<(lifecycle::PendingAction, &SessionRow)> {
    let of = |action| {
        let waits = |row: &&SessionRow| row.session.state.is_input_capable() && row.pending_action == Some(action);
        sessions.iter().find(waits).map(|row| (action, row))
    };
    of(lifecycle::PendingAction::Permission).or_else(|| of(lifecycle::PendingAction::Clarification))
}

/// A piece of work, with the sessions in which agents do it.
#[Object]
impl Task {
    /// Opaque; names this task for ever.
    pub(super) async fn id(&self) -> ID {
        self.row.id.as_str().into()
    }

    /// The workspace, which is the unit of access.
    async fn workspace_id(&self) -> ID {
        self.row.workspace_id.as_str().into()
    }

    /// A short heading.
    async fn title(&self) -> &str {
        &self.row.title
    }

    /// What it is about; may be empty.
    async fn description(&self) -> &str {
        &self.row.description
    }

    /// Where it stands, in its owner's words, such as `TODO`.
    async fn state(&self) -> &str {
        &self.row.state
    }

    /// When it was made.
    async fn created_at(&self) -> DateTime {
        self.row.created_at.into()
    }

    /// When its own fields last changed.
    async fn updated_at(&self) -> DateTime {
        self.row.updated_at.into()
    }

    /// When something last happened in it; lists go by it.
    async fn last_activity_at(&self) -> DateTime {
        self.row.last_activity_at.into()
    }

    /// What somebody has to act on in any of its sessions, a permission before a clarification; null: nothing.
    async fn pending_action(&self) -> Option<PendingAction> {
        pending(&self.sessions).map(|(action, _)| action.into())
    }

    /// The newest session that can take input and has that action; null: none has one.
    async fn pending_action_session(&self) -> Option<TaskSession> {
        pending(&self.sessions).map(|(_, row)| TaskSession(row.clone()))
    }

    /// What somebody has to act on in the primary session; null: nothing, or there is no primary session.
    async fn primary_session_pending_action(&self) -> Option<PendingAction> {
        let primary = self.sessions.iter().find(|row| row.session.is_primary);
        primary.and_then(|row| row.pending_action).map(Into::into)
    }

    /// The task's first choice among its sessions; null: it has none.
    async fn primary_session(&self) -> Option<TaskSession> {
        self.sessions.iter().find(|row| row.session.is_primary).cloned().map(TaskSession)
    }

    /// Its newest sessions, newest first, at most 50; `taskSessions` has all of them.
    #[graphql(complexity = "5 * child_complexity + 1")]
    async fn sessions(&self) -> Vec<TaskSession> {
        self.sessions.iter().take(SESSIONS_MAX).cloned().map(TaskSession).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: lifecycle::SessionState, action: Option<lifecycle::PendingAction>) -> SessionRow {
        use crate::ids::{Epoch, Generation, Micros, Revision, Sequence, SessionId, TaskId, WorkspaceId};
        SessionRow {
            session: lifecycle::Session {
                id: SessionId::new(format!("{state:?}{action:?}")),
                task_id: TaskId::new("t"),
                workspace_id: WorkspaceId::new("w"),
                state,
                is_primary: false,
                executor: None,
                agent_session: None,
                is_watchdog_on: false,
                generation: Generation(0),
                sequence: Sequence(0),
                created_at: Micros(0),
                updated_at: Micros(0),
                completed_at: None,
            },
            current_turn: None,
            is_current_visible: false,
            pending_action: action,
            revision: Revision { epoch: Epoch(1), sequence: Sequence(1) },
            active_bundle: None,
        }
    }

    #[test]
    fn across_a_task_a_permission_comes_before_a_clarification() {
        use lifecycle::PendingAction::{Clarification, Permission};
        use lifecycle::SessionState::{Idle, Running, WaitingForInput};
        let clarification = row(WaitingForInput, Some(Clarification));
        let permission = row(Running, Some(Permission));
        let found = |rows: &[SessionRow]| pending(rows).map(|(action, row)| (action, row.session.id.clone()));
        let expected = Some((Permission, permission.session.id.clone()));
        assert_eq!(found(&[clarification.clone(), permission.clone()]), expected);
        assert_eq!(found(&[permission, clarification.clone()]), expected);
        assert_eq!(found(&[row(Idle, Some(Permission)), row(Running, None)]), None);
        assert_eq!(found(std::slice::from_ref(&clarification)), Some((Clarification, clarification.session.id)));
    }
}
