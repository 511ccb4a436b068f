//! A session. May import: store, lifecycle, ids.

use async_graphql::{Context, ID, Object, Result};

use crate::store::{Page, SessionRow};

use super::super::context::{authority, load};
use super::super::fault::{bad_argument, fault};
use super::super::page::{self, Connection, PAGE_MAX};
use super::enums::SessionState;
use super::{Clarification, DateTime, Message, PendingActionProjection, Task, Turn};

/// One conversation with an agent about a task.
#[derive(Clone)]
pub struct TaskSession(pub(crate) SessionRow);

/// One conversation with an agent about a task.
#[Object]
impl TaskSession {
    /// Opaque; names this session for ever.
    pub(super) async fn id(&self) -> ID {
        self.0.session.id.as_str().into()
    }

    /// Its task; null: the caller may see this session only, as an agent does.
    async fn task(&self, ctx: &Context<'_>) -> Option<Result<Task>> {
        load_task(ctx, self).await.transpose()
    }

    /// The id of its task.
    async fn task_id(&self) -> ID {
        self.0.session.task_id.as_str().into()
    }

    /// Where it stands.
    async fn state(&self) -> SessionState {
        self.0.session.state.into()
    }

    /// It is the task's first choice among its sessions.
    async fn is_primary(&self) -> bool {
        self.0.session.is_primary
    }

    /// Its agent can take input now.
    async fn is_input_capable(&self) -> bool {
        self.0.session.state.is_input_capable()
    }

    /// The name of who resumes its agent; null: nobody, the agent comes back by itself.
    async fn executor(&self) -> Option<&str> {
        self.0.session.executor.as_deref()
    }

    /// When it was made.
    async fn started_at(&self) -> DateTime {
        self.0.session.created_at.into()
    }

    /// When it last changed.
    async fn updated_at(&self) -> DateTime {
        self.0.session.updated_at.into()
    }

    /// When it ended; null: it has not.
    async fn completed_at(&self) -> Option<DateTime> {
        self.0.session.completed_at.map(Into::into)
    }

    /// What it waits for, with a version. Null never comes here: a query that cannot derive it fails instead.
    async fn projection(&self) -> Option<PendingActionProjection> {
        Some((&self.0).into())
    }

    /// Nothing answerable is left, so a workflow may go on.
    async fn workflow_may_advance(&self) -> bool {
        self.0.active_bundle.is_none()
    }

    /// The bundle that a chat shows: the oldest one that can be answered; null: there is none.
    async fn active_clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        let id = self.0.active_bundle.clone()?;
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Clarification))
    }

    /// The newest turn that has authority; null: there is none, or no agent is known to have accepted it yet.
    async fn current_turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.0.current_turn.clone().filter(|_| self.0.is_current_visible)?;
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }

    /// Its turns, oldest first.
    #[graphql(complexity = "page::cost(first, child_complexity)")]
    async fn turns(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100.")] first: i32,
        #[graphql(desc = "A cursor of this list; null: from the beginning.")] after: Option<String>,
    ) -> Result<Connection<Turn>> {
        let limit = page::size("first", first)?;
        let after = page::key("after", after.as_deref())?;
        let rows = authority(ctx)?.read_turn_page(&self.0, after, limit.saturating_add(1)).await.map_err(fault)?;
        Ok(page::page(rows, limit, false, |row| row.turn.ordinal, Turn))
    }

    /// Its messages, oldest first: `first` from the beginning or after a cursor, `last` from the end or before one.
    // Counted as a page of 30, for a variable that is left out cannot be looked at here.
    #[graphql(complexity = "page::cost(30, child_complexity)")]
    async fn messages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many from the beginning, 1 to 100. Exactly one of `first` and `last` is given.")]
        first: Option<i32>,
        #[graphql(desc = "How many from the end, 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "A cursor of this list; only with `last`.")] before: Option<String>,
        #[graphql(desc = "A cursor of this list; only with `first`.")] after: Option<String>,
    ) -> Result<Connection<Message>> {
        let (limit, is_backward) = match (first, last) {
            (Some(first), None) if before.is_none() => (page::size("first", first)?, false),
            (None, Some(last)) if after.is_none() => (page::size("last", last)?, true),
            _ => {
                let rule = "give either first, with or without after, or last, with or without before";
                return Err(bad_argument("first", i64::from(PAGE_MAX), rule.into()));
            }
        };
        let page = Page {
            after: page::key("after", after.as_deref())?,
            before: page::key("before", before.as_deref())?,
            limit: limit.saturating_add(1),
            is_backward,
        };
        let rows = authority(ctx)?.read_message_page(&self.0, page).await.map_err(fault)?;
        Ok(page::page(rows, limit, is_backward, Message::key, Message))
    }
}

async fn load_task(ctx: &Context<'_>, of: &TaskSession) -> Result<Option<Task>> {
    let row = load(ctx)?.load_one(of.0.session.task_id.clone()).await.map_err(fault)?;
    Ok(row.map(Task::from))
}
