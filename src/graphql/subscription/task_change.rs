//! Changes of tasks. May import: authority, access, store, lifecycle, ids.

use async_graphql::{ID, Interface, Result, SimpleObject};

use crate::access::Viewer;
use crate::authority::{self, Authority, ChangeItem};
use crate::ids::TaskId;
use crate::lifecycle::EventKind;
use crate::store::TaskFilter;

use super::super::cursor::Cursor;
use super::super::fault::fault;
use super::super::loaders::SESSIONS_PER_TASK;
use super::super::types::Task;
use super::Gap;

/// Tasks of a snapshot, at most.
const SNAPSHOT: i64 = 100;

/// Something that happened to tasks.
#[derive(Interface)]
#[graphql(field(name = "cursor", ty = "&Cursor", desc = "Send it as `after` to go on right behind this item."))]
pub enum TaskChange {
    TaskSnapshot(TaskSnapshot),
    Gap(Gap),
    TaskChanged(TaskChanged),
    TaskDeleted(TaskDeleted),
}

/// The first page of tasks, newest activity first. It includes all that happened up to its cursor.
#[derive(SimpleObject)]
pub struct TaskSnapshot {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// At most 100; `tasks` has the rest.
    tasks: Vec<Task>,
}

/// A task is new, or something that it shows has changed.
#[derive(SimpleObject)]
pub struct TaskChanged {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The task as it is now.
    task: Task,
}

/// A task is gone.
#[derive(SimpleObject)]
pub struct TaskDeleted {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The task that was.
    task_id: ID,
}

/// Reads items for one subscription.
#[derive(Clone)]
pub(super) struct TaskFeed {
    authority: Authority,
    viewer: Viewer,
    filter: TaskFilter,
}

impl TaskFeed {
    pub(super) fn new(authority: &Authority, viewer: &Viewer, filter: TaskFilter) -> Self {
        Self { authority: authority.clone(), viewer: viewer.clone(), filter }
    }

    /// The item of an event; none: what it is about is gone again, which is told by an event of its own.
    pub(super) async fn read(
        &self,
        item: std::result::Result<ChangeItem, authority::Error>,
    ) -> Result<Option<TaskChange>> {
        match item.map_err(fault)? {
            ChangeItem::Gap(reason, place) => {
                Ok(Some(TaskChange::Gap(Gap { cursor: (&place).into(), reason: reason.into() })))
            }
            ChangeItem::Snapshot(place) => {
                let read = self.authority.read_tasks(&self.viewer, &self.filter, None, SNAPSHOT);
                let tasks = read.await.map_err(fault)?.into_iter().map(Task::from).collect();
                Ok(Some(TaskChange::TaskSnapshot(TaskSnapshot { cursor: (&place).into(), tasks })))
            }
            ChangeItem::Event(place, row) if row.event.kind == EventKind::TaskDeleted => {
                let task_id = row.task_id.as_str().into();
                Ok(Some(TaskChange::TaskDeleted(TaskDeleted { cursor: (&place).into(), task_id })))
            }
            ChangeItem::Event(place, row) => self.changed((&place).into(), &row.task_id).await,
        }
    }

    async fn changed(&self, cursor: Cursor, id: &TaskId) -> Result<Option<TaskChange>> {
        let ids = std::slice::from_ref(id);
        let found = self.authority.read_tasks_by_id(&self.viewer, ids, SESSIONS_PER_TASK).await.map_err(fault)?;
        let task = found.into_iter().next().map(Task::from);
        Ok(task.map(|task| TaskChange::TaskChanged(TaskChanged { cursor, task })))
    }
}
