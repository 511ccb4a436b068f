//! Adds to what stands what one command names: a task, a turn, a bundle, a message, a permission, a client key.
//! What would find nothing is not asked. May import: the store's shared parts.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Epoch, MessageId, PendingId, PermissionId, SessionId, TaskId, TurnId, WorkspaceId};
use crate::lifecycle::{
    Focus, FocusScope, KeyRecord, KeyResult, KeyScope, MessageRef, Permission, SessionView, TaskRef,
};
use crate::store::error::Error;
use crate::store::records::{KeyRow, MessageRecord, TurnRecord, scope_columns};
use crate::store::schema::{
    backend_generations as generations, client_keys as keys, task_session_messages as messages,
    task_session_turns as turns, task_sessions as sessions, tasks,
};

use super::Conn;
use super::view::{add_bundle, add_missing_turns, add_turns};

/// Adds what the focus names, if it is there and of this session.
pub(in crate::store) async fn add(
    conn: &mut Conn,
    session: &SessionId,
    focus: &Focus,
    own: Option<Epoch>,
    view: &mut SessionView,
) -> Result<(), Error> {
    if let Some(task) = &focus.task_id {
        view.task = task_load(conn, task).await?;
    }
    if view.session.is_none() {
        return Ok(());
    }
    if let Some(turn) = &focus.turn_id {
        add_turn(conn, session, turn, view).await?;
    }
    if let Some((key, scope)) = &focus.key
        && let Some(scope) = key_scope(view, scope)
    {
        view.keys = keys_load(conn, session, &scope, key.as_str()).await?;
    }
    if let Some(id) = &focus.permission_id {
        add_permission(conn, session, id, view).await?;
    }
    let of_message = match &focus.message_id {
        Some(id) => add_message(conn, session, id, view).await?,
        None => None,
    };
    for id in named_bundles(view, focus).into_iter().chain(of_message) {
        add_bundle(conn, session, &id, view).await?;
    }
    add_missing_turns(conn, session, view).await?;
    view.dead_epochs = dead_epochs(conn, view, own).await?;
    Ok(())
}

/// Bundles that the command, its key or the watchdog of its turn names.
fn named_bundles(view: &SessionView, focus: &Focus) -> BTreeSet<PendingId> {
    let asked = view.keys.iter().filter_map(|record| match &record.result {
        KeyResult::Asked(id) => Some(id),
        KeyResult::Responded(..) | KeyResult::Prompted(_) => None,
    });
    focus.pending_id.iter().chain(asked).chain(view.watched()).cloned().collect()
}

async fn task_load(conn: &mut Conn, id: &TaskId) -> Result<Option<TaskRef>, Error> {
    let workspace: Option<String> =
        tasks::table.filter(tasks::id.eq(id.as_str())).select(tasks::workspace_id).first(conn).await.optional()?;
    let Some(workspace) = workspace else { return Ok(None) };
    let count = sessions::table.filter(sessions::task_id.eq(id.as_str())).count().get_result(conn).await?;
    Ok(Some(TaskRef { id: id.clone(), workspace_id: WorkspaceId::new(workspace), session_count: count }))
}

async fn add_turn(conn: &mut Conn, session: &SessionId, id: &TurnId, view: &mut SessionView) -> Result<(), Error> {
    if view.turn(id).is_some() {
        return Ok(());
    }
    let rows: Vec<TurnRecord> = turns::table
        .filter(turns::id.eq(id.as_str()))
        .filter(turns::session_id.eq(session.as_str()))
        .select(TurnRecord::as_select())
        .load(conn)
        .await?;
    add_turns(&mut view.turns, rows)
}

fn key_scope(view: &SessionView, scope: &FocusScope) -> Option<KeyScope> {
    match scope {
        FocusScope::CurrentTurn => Some(KeyScope::Turn(view.current_turn()?.id.clone())),
        FocusScope::Bundle(pending, principal) => Some(KeyScope::Bundle(pending.clone(), principal.clone())),
        FocusScope::Session(principal) => Some(KeyScope::Session(principal.clone())),
    }
}

async fn keys_load(
    conn: &mut Conn,
    session: &SessionId,
    scope: &KeyScope,
    key: &str,
) -> Result<Vec<KeyRecord>, Error> {
    let (kind, id, principal) = scope_columns(scope);
    let rows: Vec<KeyRow> = keys::table
        .filter(keys::session_id.eq(session.as_str()))
        .filter(keys::scope_kind.eq(kind))
        .filter(keys::scope_id.eq(id))
        .filter(keys::principal.eq(principal))
        .filter(keys::key.eq(key))
        .select(KeyRow::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(KeyRow::read).collect()
}

/// Adds the message named, or the permission it is; the bundle that has to be loaded, if it is a question.
async fn add_message(
    conn: &mut Conn,
    session: &SessionId,
    id: &MessageId,
    view: &mut SessionView,
) -> Result<Option<PendingId>, Error> {
    if view.question(id).is_some() {
        return Ok(None);
    }
    let row: Option<MessageRecord> = messages::table
        .filter(messages::id.eq(id.as_str()))
        .filter(messages::session_id.eq(session.as_str()))
        .select(MessageRecord::as_select())
        .first(conn)
        .await
        .optional()?;
    let Some(row) = row else { return Ok(None) };
    if let Some(question) = row.question()? {
        return Ok(Some(question.pending_id));
    }
    keep_permission(view, row.permission());
    view.message = Some(MessageRef { id: MessageId::new(row.id), turn_id: TurnId::new(row.turn_id) });
    Ok(None)
}

async fn add_permission(
    conn: &mut Conn,
    session: &SessionId,
    id: &PermissionId,
    view: &mut SessionView,
) -> Result<(), Error> {
    let rows: Vec<MessageRecord> = messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .filter(messages::is_permission_open)
        .filter(messages::permission_id.eq(id.as_str()))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?;
    rows.iter().for_each(|row| keep_permission(view, row.permission()));
    Ok(())
}

fn keep_permission(view: &mut SessionView, found: Option<Permission>) {
    let is_new =
        |permission: &Permission| view.permissions.iter().all(|own| own.message_id != permission.message_id);
    if let Some(permission) = found.filter(is_new) {
        view.permissions.push(permission);
    }
}

/// Generations that own something loaded and are not alive. Asked only if one beside our own owns anything.
async fn dead_epochs(conn: &mut Conn, view: &SessionView, own: Option<Epoch>) -> Result<Vec<Epoch>, Error> {
    let claims = view.bundles.iter().filter_map(|bundle| Some(bundle.open_claim()?.epoch));
    let reservations = view.turns.iter().filter_map(|turn| Some(turn.reservation.as_ref()?.epoch));
    let waiting = view.waiters.iter().map(|waiter| waiter.epoch);
    let mut owners: BTreeSet<Epoch> = claims.chain(reservations).chain(waiting).collect();
    owners.retain(|epoch| Some(*epoch) != own);
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let alive: Vec<i64> =
        generations::table.filter(generations::is_live).select(generations::epoch).load(conn).await?;
    Ok(owners.into_iter().filter(|epoch| !alive.contains(&epoch.0)).collect())
}
