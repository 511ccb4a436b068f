//! What can be followed. An event is a trigger; what is sent is read from the store when it is sent.
//! May import: authority, lifecycle, ids.

mod offer;
mod session_change;
mod task_change;

use async_graphql::{Context, Enum, ID, Result, SimpleObject, Subscription as Subscribe};
use futures_util::{Stream, StreamExt};

use crate::authority::{self, ChangeItem, ChangesScope};
use crate::ids::{SessionId, WorkspaceId};

use super::context::{authority, viewer};
use super::cursor::Cursor;
use super::fault::fault;
use super::follow::Follow;
use super::query::TaskFilter;
use offer::DispatchOffer;
use session_change::{SessionChange, SessionFeed};
use task_change::{TaskChange, TaskFeed};

/// What can be followed. Nothing is missed and nothing invented: the first item is a snapshot unless `after` says
/// from where to go on.
pub struct Subscription;

/// Why changes after a cursor cannot be told.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "authority::GapReason")]
pub enum GapReason {
    /// The cursor cannot be read.
    Unreadable,
    /// It is of another store, or of one restored from a backup.
    OtherStore,
    /// It lies ahead of everything that happened.
    Ahead,
    /// What came after it is not kept any more.
    Expired,
}

/// What happened after the given cursor is not known. A snapshot follows.
#[derive(SimpleObject)]
pub struct Gap {
    /// Where the snapshot stands.
    cursor: Cursor,
    /// Why.
    reason: GapReason,
}

/// What can be followed. Nothing is missed and nothing invented: the first item is a snapshot unless `after` says
/// from where to go on.
#[Subscribe]
impl Subscription {
    /// Tasks as they change, with their sessions' states and pending actions.
    async fn task_changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Go on right behind this place; null: begin with a snapshot.")] after: Option<Cursor>,
        #[graphql(desc = "Which tasks; null: all.")] filter: Option<TaskFilter>,
    ) -> Result<impl Stream<Item = Result<TaskChange>>> {
        let filter = filter.unwrap_or_default();
        let workspace = filter.workspace_id.clone().map(|id| WorkspaceId::new(id.0));
        let feed = TaskFeed::new(authority(ctx)?, viewer(ctx)?, filter.into());
        let changes = changes(ctx, ChangesScope::Tasks(workspace), after.as_ref()).await?;
        Ok(changes.filter_map(move |item| {
            let feed = feed.clone();
            async move { feed.read(item).await.transpose() }
        }))
    }

    /// One session: its messages, turns, state and projection. Error code `NOT_FOUND`: absent or not the caller's.
    async fn session_changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "Go on right behind this place; null: begin with a snapshot.")] after: Option<Cursor>,
    ) -> Result<impl Stream<Item = Result<SessionChange>>> {
        let session = SessionId::new(session_id.0);
        let feed = SessionFeed::new(authority(ctx)?, viewer(ctx)?, session.clone());
        let changes = changes(ctx, ChangesScope::Session(session), after.as_ref()).await?;
        Ok(changes.filter_map(move |item| {
            let feed = feed.clone();
            async move { feed.read(item).await.transpose() }
        }))
    }

    /// Dispatches that a worker of that executor can claim: first all that are on offer, then each that comes, once. An
    /// offer that nobody claims in time is taken back, and what it answers can be answered again. For runtimes. Error
    /// code `NOT_FOUND`: the server has no such executor, or calls its agents itself.
    async fn dispatch_available(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The executor's name, as the server's settings have it.")] executor: String,
    ) -> Result<impl Stream<Item = Result<DispatchOffer>>> {
        let offers = authority(ctx)?.offers(viewer(ctx)?, &executor).map_err(fault)?;
        Ok(offers.map(|offer| offer.map(DispatchOffer::from).map_err(fault)))
    }
}

/// The changes as the transport wants them followed; it hears the place of each item before the item.
async fn changes(
    ctx: &Context<'_>,
    scope: ChangesScope,
    after: Option<&Cursor>,
) -> Result<impl Stream<Item = std::result::Result<ChangeItem, authority::Error>> + use<>> {
    let follow = ctx.data_opt::<Follow>().cloned();
    let since = follow.as_ref().and_then(Follow::since).unwrap_or_else(|| Cursor::since(after));
    let until = follow.as_ref().and_then(Follow::end);
    if let Some(follow) = &follow {
        follow.begins(&since);
    }
    let changes = authority(ctx)?.changes(viewer(ctx)?, scope, since, until).await.map_err(fault)?;
    Ok(changes.inspect(move |item| {
        if let (Some(follow), Ok(item)) = (&follow, item) {
            follow.came_to(item);
        }
    }))
}
