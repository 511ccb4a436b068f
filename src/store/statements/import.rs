//! What an import writes: everything in one transaction, into a store without tasks. May import: the store's shared
//! parts.

use std::collections::HashSet;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{EventId, Micros, SessionId, TaskId, TurnId, WorkspaceId};
use crate::lifecycle::{Event, EventKind};
use crate::store::error::Error;
use crate::store::import::Imported;
use crate::store::import::source::{Source, SourceSession};
use crate::store::import::translate::{self, NewTurn, Seen};
use crate::store::records::{SessionRecord, json, object};
use crate::store::rows::Workspace;
use crate::store::schema::{
    active_rows, backend_generations as generations, task_session_messages as messages,
    task_session_turns as turns, task_sessions as sessions, tasks, workspaces,
};

use super::outbox::{Place, append};
use super::{Conn, seam, tasks as task_rows};

/// Takes everything over, or nothing.
pub(in crate::store) async fn take_over(
    conn: &mut Conn,
    mut source: Source,
    executor: Option<String>,
    now: Micros,
) -> Result<Imported, Error> {
    seam::lock_generations(conn).await?;
    if tasks::table.count().get_result::<i64>(conn).await? > 0 {
        return Err(Error::NotEmpty);
    }
    let mut done = Imported::default();
    outlive(conn, source.epoch()?, now).await?;
    take_tasks(conn, &mut source, now, &mut done).await?;
    let mut place = i64::MIN;
    loop {
        let page = source.sessions(place)?;
        let Some(last) = page.last() else { break };
        place = last.place;
        for session in page {
            take_session(conn, &mut source, session, executor.clone(), now, &mut done).await?;
        }
    }
    let orphans = source.orphans()?;
    if orphans > 0 {
        done.note(format!("{orphans} turns and messages: left out, their sessions are not there"));
    }
    detach(conn).await?;
    let active: Vec<String> = active_rows::table.select(active_rows::pending_id).distinct().load(conn).await?;
    done.active = active.len();
    Ok(done)
}

/// Whoever waited for a bundle there is gone (INV-17).
async fn detach(conn: &mut Conn) -> Result<(), Error> {
    let is_active = active_rows::table
        .filter(active_rows::session_id.eq(messages::session_id))
        .filter(active_rows::pending_id.nullable().eq(messages::pending_id));
    let live =
        messages::table.filter(messages::is_open).filter(not(messages::is_detached)).filter(exists(is_active));
    let rows: Vec<(String, String)> = live.select((messages::id, messages::metadata)).load(conn).await?;
    for (id, text) in rows {
        let mut keys = object(&text, &id)?;
        keys.insert("agent_disconnected".to_owned(), true.into());
        let row = messages::table.filter(messages::id.eq(id));
        diesel::update(row).set(messages::metadata.eq(json(keys))).execute(conn).await?;
    }
    Ok(())
}

/// Generations go on behind those that readers may have seen.
async fn outlive(conn: &mut Conn, epoch: i64, now: Micros) -> Result<(), Error> {
    if epoch == 0 {
        return Ok(());
    }
    let row = (
        generations::epoch.eq(epoch),
        generations::started_us.eq(now.0),
        generations::heartbeat_us.eq(now.0),
        generations::ended_us.eq(now.0),
        generations::server.eq("import"),
    );
    let written = diesel::insert_into(generations::table).values(row).on_conflict_do_nothing();
    written.execute(conn).await?;
    Ok(())
}

async fn take_tasks(conn: &mut Conn, source: &mut Source, now: Micros, done: &mut Imported) -> Result<(), Error> {
    let (mut place, mut known) = (i64::MIN, HashSet::new());
    loop {
        let page = source.tasks(place)?;
        let Some(last) = page.last() else { return Ok(()) };
        place = last.place;
        for row in page {
            let record = translate::task(row, done);
            if known.insert(record.workspace_id.clone()) {
                take_workspace(conn, source, &record.workspace_id, now).await?;
                done.workspaces += 1;
            }
            let log = belongs(&record.workspace_id, &record.id, None, now);
            let event = EventId::new(format!("{}-imported", record.id));
            diesel::insert_into(tasks::table).values(record).execute(conn).await?;
            append(conn, &log, &[Event { id: event, kind: EventKind::TaskChanged }]).await?;
            done.tasks += 1;
        }
    }
}

/// One that is there already, by a start without tasks, stays as it is.
async fn take_workspace(conn: &mut Conn, source: &mut Source, id: &str, now: Micros) -> Result<(), Error> {
    let is_there = workspaces::table.filter(workspaces::id.eq(id)).count().get_result::<i64>(conn).await? > 0;
    if is_there {
        return Ok(());
    }
    let name = source.workspace_name(id)?.unwrap_or_else(|| id.to_owned());
    task_rows::workspace_insert(conn, Workspace { id: WorkspaceId::new(id), name, created_at: now }).await
}

async fn take_session(
    conn: &mut Conn,
    source: &mut Source,
    row: SourceSession,
    executor: Option<String>,
    now: Micros,
    done: &mut Imported,
) -> Result<(), Error> {
    let task = tasks::table.filter(tasks::id.eq(&row.task_id)).select(tasks::workspace_id);
    let Some(workspace) = task.first::<String>(conn).await.optional()? else {
        done.note(format!(
            "session {}: left out with all of its rows, its task {} is not there",
            row.id, row.task_id
        ));
        return Ok(());
    };
    let session = translate::session(row, workspace, executor, done);
    let insert = (session.clone(), sessions::last_ordinal.eq(0), sessions::last_started_us.eq(0));
    diesel::insert_into(sessions::table).values(insert).execute(conn).await?;
    done.sessions += 1;
    let seen = take_messages(conn, source, &session.id, done).await?;
    let rows = translate::turns(&session, source.turns(&session.id)?, &seen, done);
    let known = rows.iter().map(|turn| turn.record.id.clone()).collect();
    seen.note_inert(&known, done);
    take_turns(conn, &session, rows, now, done).await
}

async fn take_messages(
    conn: &mut Conn,
    source: &mut Source,
    session: &str,
    done: &mut Imported,
) -> Result<Seen, Error> {
    let (mut place, mut seen) = (i64::MIN, Seen::default());
    loop {
        let page = source.messages(session, place)?;
        let Some(last) = page.last() else { return Ok(seen) };
        place = last.place;
        for row in page {
            let record = translate::message(row, session, &mut seen, done);
            diesel::insert_into(messages::table).values(record).execute(conn).await?;
            done.messages += 1;
        }
    }
}

async fn take_turns(
    conn: &mut Conn,
    session: &SessionRecord,
    rows: Vec<NewTurn>,
    now: Micros,
    done: &mut Imported,
) -> Result<(), Error> {
    let Some(last) = rows.last().map(|turn| (turn.record.ordinal, turn.record.started_us)) else { return Ok(()) };
    let mut unheard = Vec::new();
    for NewTurn { record, is_unannounced } in rows {
        if is_unannounced {
            unheard.extend(events(&record.id, record.ended_us.is_some()));
        }
        diesel::insert_into(turns::table).values(record).execute(conn).await?;
        done.turns += 1;
    }
    let set = (sessions::last_ordinal.eq(last.0), sessions::last_started_us.eq(last.1));
    diesel::update(sessions::table.filter(sessions::id.eq(&session.id))).set(set).execute(conn).await?;
    let log = belongs(&session.workspace_id, &session.task_id, Some(&session.id), now);
    append(conn, &log, &unheard).await?;
    Ok(())
}

fn belongs(workspace: &str, task: &str, session: Option<&str>, now: Micros) -> Place {
    let session_id = session.map(SessionId::new);
    Place { workspace_id: WorkspaceId::new(workspace), task_id: TaskId::new(task), session_id, at: now }
}

/// What nobody heard of a turn: the next start tells it (decisions 15).
fn events(turn: &str, has_ended: bool) -> Vec<Event> {
    let turn_id = TurnId::new(turn);
    let named = |what: &str| EventId::new(format!("{turn}-{what}"));
    let started = Event { id: named("started"), kind: EventKind::TurnStarted { turn_id: turn_id.clone() } };
    let completed = Event { id: named("completed"), kind: EventKind::TurnCompleted { turn_id } };
    [Some(started), has_ended.then_some(completed)].into_iter().flatten().collect()
}
