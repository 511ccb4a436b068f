//! Tasks, for runtimes. May import: authority, store, ids.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use crate::authority::CreateTask;
use crate::ids::{TaskId, WorkspaceId};
use crate::store::TaskPatch;

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::Task;
use super::{answer, result_union};

/// A task to make.
#[derive(InputObject)]
pub struct CreateTaskInput {
    /// Its workspace; null: the caller's first one.
    workspace_id: Option<ID>,
    /// A short heading; at least one character.
    title: String,
    /// What it is about; may be empty.
    #[graphql(default)]
    description: String,
}

/// Changes of a task's own fields; null leaves a field as it is.
#[derive(InputObject)]
pub struct UpdateTaskInput {
    /// The task.
    task_id: ID,
    /// The heading.
    title: Option<String>,
    /// What it is about.
    description: Option<String>,
    /// Where it stands, in its owner's words.
    state: Option<String>,
}

/// The task as it is now.
pub struct TaskPayload {
    pub(super) id: TaskId,
}

/// The task as it is now.
#[Object]
impl TaskPayload {
    /// The task's id.
    async fn task_id(&self) -> ID {
        self.id.as_str().into()
    }

    /// The task; null: it was deleted meanwhile.
    async fn task(&self, ctx: &Context<'_>) -> Option<Result<Task>> {
        let id = self.id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Task::from))
    }
}

/// The task is gone, with its sessions and all that they held.
#[derive(SimpleObject)]
pub struct DeleteTaskPayload {
    /// The task that was.
    task_id: ID,
}

result_union! {
    /// What came of making a task.
    CreateTaskResult(TaskPayload)
}
result_union! {
    /// What came of changing a task.
    UpdateTaskResult(TaskPayload)
}
result_union! {
    /// What came of deleting a task.
    DeleteTaskResult(DeleteTaskPayload)
}

#[derive(Default)]
pub struct Tasks;

#[Object]
impl Tasks {
    /// Makes a task. For runtimes.
    async fn create_task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The task to make.")] input: CreateTaskInput,
    ) -> Result<CreateTaskResult> {
        let create = CreateTask {
            workspace_id: input.workspace_id.map(|id| WorkspaceId::new(id.0)),
            title: input.title,
            description: input.description,
        };
        let made = authority(ctx)?.create_task(viewer(ctx)?, create).await;
        answer(made, |id| CreateTaskResult::Done(TaskPayload { id }))
    }

    /// Changes a task's own fields. For runtimes.
    async fn update_task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The task and its new fields.")] input: UpdateTaskInput,
    ) -> Result<UpdateTaskResult> {
        let id = TaskId::new(input.task_id.0);
        let patch = TaskPatch { title: input.title, description: input.description, state: input.state };
        let done = authority(ctx)?.update_task(viewer(ctx)?, &id, patch).await;
        answer(done, |()| UpdateTaskResult::Done(TaskPayload { id }))
    }

    /// Deletes a task with its sessions, turns and messages. For runtimes.
    async fn delete_task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The task's id.")] task_id: ID,
    ) -> Result<DeleteTaskResult> {
        let done = authority(ctx)?.delete_task(viewer(ctx)?, &TaskId::new(task_id.as_str())).await;
        answer(done, |()| DeleteTaskResult::Done(DeleteTaskPayload { task_id }))
    }
}
