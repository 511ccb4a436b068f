//! Sessions, for runtimes. May import: authority, ids.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use crate::authority::CreateSession;
use crate::ids::{SessionId, TaskId};

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::{SessionState, TaskSession};
use super::{answer, result_union};

/// A session to make.
#[derive(InputObject)]
pub struct CreateSessionInput {
    /// Its task.
    task_id: ID,
    /// The name of who resumes its agent; null: nobody, the agent comes back by itself.
    executor: Option<String>,
    /// An answer that is taken but followed by no sign of the agent starts a turn after a while; only with an
    /// executor.
    #[graphql(default)]
    watchdog: bool,
}

/// The session as it is now.
pub struct SessionPayload {
    id: SessionId,
}

/// The session as it is now.
#[Object]
impl SessionPayload {
    /// The session's id.
    async fn session_id(&self) -> ID {
        self.id.as_str().into()
    }

    /// The session; null: it was deleted meanwhile.
    async fn session(&self, ctx: &Context<'_>) -> Option<Result<TaskSession>> {
        let id = self.id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(TaskSession))
    }
}

/// The session is gone, with all that it held.
#[derive(SimpleObject)]
pub struct DeleteSessionPayload {
    /// The session that was.
    session_id: ID,
}

result_union! {
    /// What came of making a session.
    CreateSessionResult(SessionPayload)
}
result_union! {
    /// What came of moving a session.
    SetSessionStateResult(SessionPayload)
}
result_union! {
    /// What came of deleting a session.
    DeleteSessionResult(DeleteSessionPayload)
}

#[derive(Default)]
pub struct Sessions;

#[Object]
impl Sessions {
    /// Makes a session of a task. For runtimes.
    async fn create_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session to make.")] input: CreateSessionInput,
    ) -> Result<CreateSessionResult> {
        let create = CreateSession {
            task_id: TaskId::new(input.task_id.0),
            executor: input.executor,
            is_watchdog_on: input.watchdog,
        };
        let made = authority(ctx)?.create_session(viewer(ctx)?, create).await;
        answer(made, |id| CreateSessionResult::Done(SessionPayload { id }))
    }

    /// Moves a session. `COMPLETED`, `FAILED` and `CANCELLED` end it and expire what is pending, in one transaction.
    /// While a question is answerable, a session that goes on is `RUNNING` or `WAITING_FOR_INPUT`. For runtimes.
    async fn set_session_state(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "Where it is to stand.")] state: SessionState,
    ) -> Result<SetSessionStateResult> {
        let id = SessionId::new(session_id.0);
        let done = authority(ctx)?.set_session_state(viewer(ctx)?, &id, state.into()).await;
        answer(done, |()| SetSessionStateResult::Done(SessionPayload { id }))
    }

    /// Deletes a session with its turns and messages. For runtimes.
    async fn delete_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
    ) -> Result<DeleteSessionResult> {
        let done = authority(ctx)?.delete_session(viewer(ctx)?, &SessionId::new(session_id.as_str())).await;
        answer(done, |()| DeleteSessionResult::Done(DeleteSessionPayload { session_id }))
    }
}
