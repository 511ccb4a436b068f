//! Tasks and sessions in lists, with the projections of the one rule. May import: the store's shared parts.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, PendingId, Revision, Sequence, SessionId, TaskId, TurnId, WorkspaceId};
use crate::lifecycle::PendingAction;
use crate::scope::Scope;
use crate::store::SESSIONS_PER_TASK_MAX;
use crate::store::error::Error;
use crate::store::records::{SessionRecord, TaskRecord};
use crate::store::rows::{SessionRow, TaskFilter, TaskKey, TaskListRow, TaskRow};
use crate::store::schema::{
    session_places as places, session_projections as projections, task_sessions as sessions,
    task_status_summaries as summaries, tasks,
};

use super::among::among;
use super::summaries::SummaryRecord;
use super::{CHUNK, Conn};

/// A task and its summary, as they are stored.
type Told = (TaskRecord, Option<SummaryRecord>);

/// Current turn, its visibility, active bundle, pending action, newest epoch.
type Derived = (Option<String>, bool, Option<String>, Option<String>, Option<i64>);

fn row((record, derived): (SessionRecord, Derived)) -> Result<SessionRow, Error> {
    let (current, is_current_visible, active, action, epoch) = derived;
    let session = record.read()?;
    let pending_action = match action.as_deref() {
        None => None,
        Some("clarification") => Some(PendingAction::Clarification),
        Some("permission") => Some(PendingAction::Permission),
        Some(other) => return Err(Error::Corrupt(format!("pending action {other}"))),
    };
    Ok(SessionRow {
        revision: Revision { epoch: Epoch(epoch.unwrap_or(0)), sequence: Sequence(session.sequence.0) },
        session,
        current_turn: current.map(TurnId::new),
        is_current_visible,
        pending_action,
        active_bundle: active.map(PendingId::new),
    })
}

const DERIVED: (
    projections::current_turn_id,
    projections::is_current_visible,
    projections::active_pending_id,
    projections::pending_action,
    projections::newest_epoch,
) = (
    projections::current_turn_id,
    projections::is_current_visible,
    projections::active_pending_id,
    projections::pending_action,
    projections::newest_epoch,
);

/// Sessions of those ids, in no order. Ids that name none are left out.
pub(in crate::store) async fn sessions(conn: &mut Conn, ids: &[SessionId]) -> Result<Vec<SessionRow>, Error> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<(SessionRecord, Derived)> = sessions::table
            .inner_join(projections::table)
            .filter(among(sessions::id, chunk.iter().map(SessionId::as_str)))
            .select((SessionRecord::as_select(), DERIVED))
            .load(conn)
            .await?;
        for found_row in rows {
            found.push(row(found_row)?);
        }
    }
    Ok(found)
}

/// Sessions of those tasks, newest first: so many of each, and behind them its primary one and those that wait.
pub(in crate::store) async fn sessions_of_tasks(
    conn: &mut Conn,
    ids: &[TaskId],
    limit_per_task: i64,
) -> Result<HashMap<TaskId, Vec<SessionRow>>, Error> {
    let mut found: HashMap<TaskId, Vec<SessionRow>> = HashMap::new();
    for chunk in ids.chunks(CHUNK) {
        let waits = sessions::is_input_capable.and(projections::pending_action.is_not_null());
        let rows: Vec<(SessionRecord, Derived)> = sessions::table
            .inner_join(projections::table)
            .inner_join(places::table)
            .filter(among(places::task_id, chunk.iter().map(TaskId::as_str)))
            .filter(places::place.le(limit_per_task).or(sessions::is_primary).or(waits))
            .order((sessions::created_us.desc(), sessions::id.desc()))
            .select((SessionRecord::as_select(), DERIVED))
            .load(conn)
            .await?;
        for found_row in rows {
            let session = row(found_row)?;
            found.entry(session.session.task_id.clone()).or_default().push(session);
        }
    }
    Ok(found)
}

/// A page of tasks, newest activity first, each with its sessions.
pub(in crate::store) async fn tasks_page(
    conn: &mut Conn,
    scope: &Scope,
    filter: &TaskFilter,
    after: Option<&TaskKey>,
    limit: i64,
) -> Result<Vec<TaskListRow>, Error> {
    let mut page = tasks::table
        .left_join(summaries::table)
        .select((TaskRecord::as_select(), Option::<SummaryRecord>::as_select()))
        .order((tasks::last_activity_us.desc(), tasks::id.desc()))
        .limit(limit)
        .into_boxed();
    if let Scope::Workspaces(ids) = scope {
        page = page.filter(tasks::workspace_id.eq_any(ids.iter().map(WorkspaceId::as_str)));
    }
    if let Some(id) = &filter.workspace {
        page = page.filter(tasks::workspace_id.eq(id.as_str()));
    }
    // Driven by the sessions that can wait at all, which are few.
    let pending = projections::table
        .filter(projections::is_input_capable)
        .filter(projections::pending_action.is_not_null())
        .select(projections::task_id);
    match filter.has_pending_action {
        Some(true) => page = page.filter(tasks::id.eq_any(pending)),
        Some(false) => page = page.filter(tasks::id.ne_all(pending)),
        None => {}
    }
    if let Some(key) = after {
        let is_older = tasks::last_activity_us.lt(key.last_activity_at.0).or(tasks::id.lt(key.id.as_str()));
        page = page.filter(tasks::last_activity_us.le(key.last_activity_at.0)).filter(is_older);
    }
    let found = page.load(conn).await?;
    with_sessions(conn, found, SESSIONS_PER_TASK_MAX).await
}

/// Tasks of those ids with their sessions, in no order.
pub(in crate::store) async fn tasks_of(
    conn: &mut Conn,
    ids: &[TaskId],
    limit_per_task: i64,
) -> Result<Vec<TaskListRow>, Error> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Told> = tasks::table
            .left_join(summaries::table)
            .filter(among(tasks::id, chunk.iter().map(TaskId::as_str)))
            .select((TaskRecord::as_select(), Option::<SummaryRecord>::as_select()))
            .load(conn)
            .await?;
        found.extend(rows);
    }
    with_sessions(conn, found, limit_per_task).await
}

async fn with_sessions(conn: &mut Conn, told: Vec<Told>, limit_per_task: i64) -> Result<Vec<TaskListRow>, Error> {
    let ids: Vec<TaskId> = told.iter().map(|(task, _)| TaskId::new(task.id.as_str())).collect();
    let mut sessions = sessions_of_tasks(conn, &ids, limit_per_task).await?;
    let row = |(task, summary): Told| {
        let task = TaskRow::from(task);
        let sessions = sessions.remove(&task.id).unwrap_or_default();
        TaskListRow { summary: summary.and_then(SummaryRecord::read), sessions, task }
    };
    Ok(told.into_iter().map(row).collect())
}
