//! What can be read. May import: authority, store, ids.

use async_graphql::{Context, ID, InputObject, Object, Result};

use crate::authority::TaskReading;
use crate::ids::{PendingId, SessionId, TaskId, WorkspaceId};
use crate::store;

use super::context::{authority, limits, load, viewer};
use super::fault::{bad_argument, fault};
use super::page::{self, Connection};
use super::types::{Clarification, Node, Task, TaskSession, Turn, Viewer};

/// Reads. What is absent and what is not the caller's are the same null.
#[derive(Default)]
pub struct Query;

/// Which tasks.
#[derive(InputObject, Clone, Default)]
pub struct TaskFilter {
    /// Of one workspace; null: of all that the caller sees.
    pub(super) workspace_id: Option<ID>,
    /// With (true) or without (false) something to act on; null: both. `taskChanges` uses it for the snapshot only
    /// and tells of every task afterwards, so that a list can drop what no longer fits.
    pub(super) has_pending_action: Option<bool>,
}

impl From<TaskFilter> for store::TaskFilter {
    fn from(filter: TaskFilter) -> Self {
        Self {
            workspace: filter.workspace_id.map(|id| WorkspaceId::new(id.0)),
            has_pending_action: filter.has_pending_action,
        }
    }
}

/// Which bundles.
#[derive(InputObject, Clone, Default)]
pub struct PendingFilter {
    /// Of one workspace; null: of all that the caller sees.
    workspace_id: Option<ID>,
    /// Of one task; null: of all.
    task_id: Option<ID>,
    /// Of one session; null: of all.
    session_id: Option<ID>,
}

impl From<PendingFilter> for store::PendingFilter {
    fn from(filter: PendingFilter) -> Self {
        Self {
            workspace: filter.workspace_id.map(|id| WorkspaceId::new(id.0)),
            task: filter.task_id.map(|id| TaskId::new(id.0)),
            session: filter.session_id.map(|id| SessionId::new(id.0)),
        }
    }
}

/// Reads. What is absent and what is not the caller's are the same null.
#[Object]
impl Query {
    /// Who asks, as the credentials say.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<Viewer> {
        Ok(Viewer(viewer(ctx)?.clone()))
    }

    /// Anything by its id; null: absent or not the caller's.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of a task, session, turn, message or clarification.")] id: ID,
    ) -> Option<Result<Node>> {
        Node::find(ctx, &id).await.transpose()
    }

    /// A task; null: absent or not the caller's.
    async fn task(&self, ctx: &Context<'_>, #[graphql(desc = "The task's id.")] id: ID) -> Option<Result<Task>> {
        let found = async { load(ctx)?.load_one(TaskId::new(id.0)).await.map_err(fault) };
        Some(found.await.transpose()?.map(Task::from))
    }

    /// Tasks, newest activity first.
    #[graphql(complexity = "page::cost(first, child_complexity)")]
    async fn tasks(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100.")] first: i32,
        #[graphql(desc = "A cursor of this list; null: from the beginning.")] after: Option<String>,
        #[graphql(desc = "Which; null: all.")] filter: Option<TaskFilter>,
    ) -> Result<Connection<Task>> {
        let limit = page::size("first", first)?;
        let after = page::key("after", after.as_deref())?;
        let filter = filter.unwrap_or_default().into();
        let read = authority(ctx)?.read_tasks(viewer(ctx)?, &filter, after, limit.saturating_add(1));
        let key = |reading: &TaskReading| store::TaskKey {
            last_activity_at: reading.row.task.last_activity_at,
            id: reading.row.task.id.clone(),
        };
        Ok(page::page(read.await.map_err(fault)?, limit, false, key, Task::from))
    }

    /// A session; null: absent or not the caller's.
    async fn session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] id: ID,
    ) -> Option<Result<TaskSession>> {
        let found = async { load(ctx)?.load_one(SessionId::new(id.0)).await.map_err(fault) };
        Some(found.await.transpose()?.map(TaskSession))
    }

    /// The sessions of a task, newest first: all of them or an error with code `LIMIT_EXCEEDED`, never a part. Empty
    /// where the task is absent or not the caller's.
    #[graphql(complexity = "10 * child_complexity + 1")]
    async fn task_sessions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The task's id.")] task_id: ID,
    ) -> Result<Vec<TaskSession>> {
        let max = limits(ctx)?.task_sessions_max;
        let ids = [TaskId::new(task_id.0)];
        let read = authority(ctx)?.read_tasks_by_id(viewer(ctx)?, &ids, max.saturating_add(1));
        let found =
            read.await.map_err(fault)?.into_iter().next().map(|task| task.row.sessions).unwrap_or_default();
        if i64::try_from(found.len()).is_ok_and(|count| count > max) {
            return Err(too_many_sessions(max));
        }
        Ok(found.into_iter().map(TaskSession).collect())
    }

    /// A bundle of questions; null: absent or not the caller's.
    async fn clarification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle's `pendingId`.")] pending_id: ID,
    ) -> Option<Result<Clarification>> {
        let found = async { load(ctx)?.load_one(PendingId::new(pending_id.0)).await.map_err(fault) };
        Some(found.await.transpose()?.map(Clarification))
    }

    /// The inbox: everything that can be answered now, oldest first.
    #[graphql(complexity = "page::cost(first, child_complexity)")]
    async fn pending_clarifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100.")] first: i32,
        #[graphql(desc = "A cursor of this list; null: from the beginning.")] after: Option<String>,
        #[graphql(desc = "Which; null: all.")] filter: Option<PendingFilter>,
    ) -> Result<Connection<Clarification>> {
        let limit = page::size("first", first)?;
        let after = page::key("after", after.as_deref())?;
        let filter = filter.unwrap_or_default().into();
        let read = authority(ctx)?.read_inbox(viewer(ctx)?, &filter, after, limit.saturating_add(1));
        Ok(page::page(read.await.map_err(fault)?, limit, false, Clarification::key, Clarification))
    }

    /// Turns whose dispatch may or may not have reached an agent, for an operator to settle with
    /// `resolveAmbiguousDispatch`. Error code `FORBIDDEN` for other roles.
    #[graphql(complexity = "page::cost(first, child_complexity)")]
    async fn ambiguous_dispatches(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100.")] first: i32,
    ) -> Result<Vec<Turn>> {
        let limit = page::size("first", first)?;
        let rows = authority(ctx)?.read_ambiguous(viewer(ctx)?, limit).await.map_err(fault)?;
        Ok(rows.into_iter().map(Turn).collect())
    }
}

fn too_many_sessions(max: i64) -> async_graphql::Error {
    let mut error = bad_argument("taskId", max, format!("the task has more than {max} sessions"));
    if let Some(extensions) = &mut error.extensions {
        extensions.set("code", super::Code::LimitExceeded.as_str());
    }
    error
}
