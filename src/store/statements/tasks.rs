//! Workspaces and tasks. May import: the store's shared parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{EventId, Micros, SessionId, TaskId, WorkspaceId};
use crate::lifecycle::{Event, EventKind, Summary};
use crate::store::error::Error;
use crate::store::kept::Kept;
use crate::store::records::{TaskRecord, WorkspaceRecord};
use crate::store::rows::{TaskPatch, TaskRow, Workspace};
use crate::store::schema::{task_sessions as sessions, task_status_summaries as summaries, tasks, workspaces};

use super::apply::session_delete;
use super::outbox::{Place, append};
use super::summaries::put;
use super::{Conn, seam};

/// Adds a workspace.
pub(in crate::store) async fn workspace_insert(conn: &mut Conn, workspace: Workspace) -> Result<(), Error> {
    let record = WorkspaceRecord::from(workspace);
    diesel::insert_into(workspaces::table).values(record).execute(conn).await?;
    Ok(())
}

/// All workspaces, oldest first.
pub(in crate::store) async fn workspaces(conn: &mut Conn) -> Result<Vec<Workspace>, Error> {
    let rows: Vec<WorkspaceRecord> = workspaces::table
        .order((workspaces::created_us, workspaces::id))
        .select(WorkspaceRecord::as_select())
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(Workspace::from).collect())
}

/// Adds a task with its first summary, and says so.
pub(in crate::store) async fn insert(conn: &mut Conn, task: TaskRow, event: EventId) -> Result<(), Error> {
    let place = place(&task, task.created_at);
    diesel::insert_into(tasks::table).values(TaskRecord::from(task.clone())).execute(conn).await?;
    put(conn, &task, None, &Summary::first(task.created_at)).await?;
    announce(conn, &place, event, EventKind::TaskChanged).await
}

/// A task.
pub(in crate::store) async fn load(conn: &mut Conn, id: &TaskId) -> Result<Option<TaskRow>, Error> {
    let row = tasks::table.filter(tasks::id.eq(id.as_str())).select(TaskRecord::as_select());
    Ok(row.first(conn).await.optional()?.map(TaskRow::from))
}

/// Changes a task's own fields and says so; false: there is none.
pub(in crate::store) async fn update(
    conn: &mut Conn,
    id: &TaskId,
    patch: TaskPatch,
    now: Micros,
    event: EventId,
) -> Result<bool, Error> {
    seam::lock_task(conn, id).await?;
    let Some(task) = load(conn, id).await? else { return Ok(false) };
    let place = place(&task, now);
    let set = (
        tasks::title.eq(patch.title.unwrap_or(task.title)),
        tasks::description.eq(patch.description.unwrap_or(task.description)),
        tasks::state.eq(patch.state.unwrap_or(task.state)),
        tasks::updated_us.eq(now.0),
        tasks::last_activity_us.eq(now.max(task.last_activity_at).0),
    );
    diesel::update(tasks::table.filter(tasks::id.eq(id.as_str()))).set(set).execute(conn).await?;
    announce(conn, &place, event, EventKind::TaskChanged).await?;
    Ok(true)
}

/// Moves a task's last activity, forwards only. A task that is gone is no fault.
pub(in crate::store) async fn touch(conn: &mut Conn, id: &TaskId, at: Micros) -> Result<(), Error> {
    let row = tasks::table.filter(tasks::id.eq(id.as_str())).filter(tasks::last_activity_us.lt(at.0));
    Kept(diesel::update(row).set(tasks::last_activity_us.eq(at.0))).execute(conn).await?;
    Ok(())
}

/// Removes a task with all that it holds and says so; false: there is none.
pub(in crate::store) async fn delete(
    conn: &mut Conn,
    id: &TaskId,
    now: Micros,
    event: EventId,
) -> Result<bool, Error> {
    let Some(task) = load(conn, id).await? else { return Ok(false) };
    // In the order in which decisions lock: sessions, then their task.
    let own = sessions::table.filter(sessions::task_id.eq(id.as_str())).order(sessions::id).select(sessions::id);
    for session in own.load::<String>(conn).await? {
        seam::lock_session(conn, &SessionId::new(session.as_str())).await?;
        session_delete(conn, &session).await?;
    }
    // Who writes its summary holds the task first, too.
    seam::lock_task(conn, id).await?;
    diesel::delete(summaries::table.filter(summaries::task_id.eq(id.as_str()))).execute(conn).await?;
    diesel::delete(tasks::table.filter(tasks::id.eq(id.as_str()))).execute(conn).await?;
    announce(conn, &place(&task, now), event, EventKind::TaskDeleted).await?;
    Ok(true)
}

pub(super) fn place(task: &TaskRow, at: Micros) -> Place {
    let workspace_id: WorkspaceId = task.workspace_id.clone();
    Place { workspace_id, task_id: task.id.clone(), session_id: None, at }
}

pub(super) async fn announce(conn: &mut Conn, place: &Place, id: EventId, kind: EventKind) -> Result<(), Error> {
    append(conn, place, &[Event { id, kind }]).await.map(|_| ())
}
