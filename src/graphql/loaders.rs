//! Reads of one request, gathered into batches: what a list nests is read at once. Nothing is cached, so that a
//! subscription reads anew for every item. May import: authority, access, store, ids.

use std::collections::HashMap;

use async_graphql::dataloader::{DataLoader, Loader};
use async_graphql::runtime::{TokioSpawner, TokioTimer};

use crate::access::Viewer;
use crate::authority::{Authority, Error, TaskReading};
use crate::ids::{PendingId, SessionId, TaskId, TurnId};
use crate::store::{BundleRow, SessionRow, TurnRow};

/// Reads for one viewer.
pub(super) struct Reader {
    authority: Authority,
    viewer: Viewer,
}

/// The batches of a request.
pub(super) type Loaders = DataLoader<Reader>;

/// Sessions that come with a task, at most.
pub(super) const SESSIONS_PER_TASK: i64 = 50;

pub(super) fn loaders(authority: Authority, viewer: Viewer) -> Loaders {
    DataLoader::new(Reader { authority, viewer }, TokioSpawner::current(), TokioTimer::default())
}

impl Loader<SessionId> for Reader {
    type Value = SessionRow;
    type Error = Error;

    async fn load(&self, keys: &[SessionId]) -> Result<HashMap<SessionId, SessionRow>, Error> {
        let rows = self.authority.read_sessions(&self.viewer, keys).await?;
        Ok(rows.into_iter().map(|row| (row.session.id.clone(), row)).collect())
    }
}

impl Loader<PendingId> for Reader {
    type Value = BundleRow;
    type Error = Error;

    async fn load(&self, keys: &[PendingId]) -> Result<HashMap<PendingId, BundleRow>, Error> {
        let rows = self.authority.read_bundles(&self.viewer, keys).await?;
        Ok(rows.into_iter().map(|row| (row.bundle.pending_id.clone(), row)).collect())
    }
}

impl Loader<TurnId> for Reader {
    type Value = TurnRow;
    type Error = Error;

    async fn load(&self, keys: &[TurnId]) -> Result<HashMap<TurnId, TurnRow>, Error> {
        let rows = self.authority.read_turns(&self.viewer, keys).await?;
        Ok(rows.into_iter().map(|row| (row.turn.id.clone(), row)).collect())
    }
}

impl Loader<TaskId> for Reader {
    type Value = TaskReading;
    type Error = Error;

    async fn load(&self, keys: &[TaskId]) -> Result<HashMap<TaskId, TaskReading>, Error> {
        let rows = self.authority.read_tasks_by_id(&self.viewer, keys, SESSIONS_PER_TASK).await?;
        Ok(rows.into_iter().map(|row| (row.row.task.id.clone(), row)).collect())
    }
}
