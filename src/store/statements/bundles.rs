//! Bundles with what decides where they stand, and the inbox. May import: the store's shared parts.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{
    ClaimId, Epoch, MessageId, Micros, PendingId, Revision, Sequence, SessionId, TaskId, TurnId, WorkspaceId,
};
use crate::lifecycle::{Bundle, ClaimFate, Question, SessionState};
use crate::scope::Scope;
use crate::store::error::Error;
use crate::store::records::MessageRecord;
use crate::store::rows::{BundleRow, PendingFilter};
use crate::store::schema::{
    active_rows, backend_generations as generations, clarification_waiters as waiters,
    session_projections as projections, task_session_messages as messages, task_session_turns as turns,
    task_sessions as sessions,
};

use super::{CHUNK, Conn};

/// Questions as bundles: rows by (index, created, id), bundles by (first created, id).
pub(super) fn group(questions: Vec<Question>) -> Vec<Bundle> {
    let mut bundles: HashMap<PendingId, Vec<Question>> = HashMap::new();
    for question in questions {
        bundles.entry(question.pending_id.clone()).or_default().push(question);
    }
    let sorted = |(pending_id, mut questions): (PendingId, Vec<Question>)| {
        questions.sort_by(|a, b| (a.index, a.created_at, &a.id).cmp(&(b.index, b.created_at, &b.id)));
        Bundle { pending_id, questions }
    };
    let mut bundles: Vec<Bundle> = bundles.into_iter().map(sorted).collect();
    bundles.sort_by(|a, b| a.place().cmp(&b.place()));
    bundles
}

/// What surrounds a bundle: state, task, workspace, sequence, current turn, its visibility, newest epoch.
type Around = (String, String, String, i64, Option<String>, bool, Option<i64>);

/// Bundles of those ids, in the order of (first created, id). Ids that name none are left out.
pub(in crate::store) async fn load(conn: &mut Conn, ids: &[PendingId]) -> Result<Vec<BundleRow>, Error> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let names: Vec<&str> = chunk.iter().map(PendingId::as_str).collect();
        let rows: Vec<(MessageRecord, Around)> = messages::table
            .inner_join(sessions::table.inner_join(projections::table))
            .filter(messages::is_question)
            .filter(messages::pending_id.eq_any(names.clone()))
            .select((
                MessageRecord::as_select(),
                (
                    sessions::state,
                    sessions::task_id,
                    sessions::workspace_id,
                    sessions::sequence,
                    projections::current_turn_id,
                    projections::is_current_visible,
                    projections::newest_epoch,
                ),
            ))
            .load(conn)
            .await?;
        let waited = if rows.is_empty() { HashSet::new() } else { waited_for(conn, names).await? };
        found.extend(assemble(rows, &waited)?);
    }
    found.sort_by_cached_key(|row| (row.created_at(), row.bundle.pending_id.clone()));
    Ok(found)
}

async fn waited_for(conn: &mut Conn, ids: Vec<&str>) -> Result<HashSet<String>, Error> {
    let rows: Vec<String> = waiters::table
        .inner_join(generations::table.on(generations::epoch.eq(waiters::epoch)))
        .filter(waiters::pending_id.eq_any(ids))
        .filter(generations::is_live)
        .select(waiters::pending_id)
        .load(conn)
        .await?;
    Ok(rows.into_iter().collect())
}

fn assemble(rows: Vec<(MessageRecord, Around)>, waited: &HashSet<String>) -> Result<Vec<BundleRow>, Error> {
    let mut around: HashMap<PendingId, (SessionId, Around)> = HashMap::new();
    let mut questions = Vec::new();
    for (record, place) in rows {
        if let Some(question) = record.question()? {
            let session = SessionId::new(record.session_id);
            around.entry(question.pending_id.clone()).or_insert((session, place));
            questions.push(question);
        }
    }
    let mut found = Vec::new();
    for bundle in group(questions) {
        if let Some((session_id, place)) = around.remove(&bundle.pending_id) {
            found.push(bundle_row(bundle, session_id, place, waited)?);
        }
    }
    Ok(found)
}

fn bundle_row(
    bundle: Bundle,
    session_id: SessionId,
    (state, task, workspace, sequence, current, is_visible, epoch): Around,
    waited: &HashSet<String>,
) -> Result<BundleRow, Error> {
    let session_state =
        SessionState::parse(&state).ok_or_else(|| Error::Corrupt(format!("state of {session_id}")))?;
    let current_turn = current.map(TurnId::new);
    Ok(BundleRow {
        is_current: current_turn.is_some() && bundle.turn_id() == current_turn.as_ref(),
        current_visible: current_turn.clone().filter(|_| is_visible),
        current_turn,
        has_waiter: waited.contains(bundle.pending_id.as_str()),
        session_state,
        session_id,
        task_id: TaskId::new(task),
        workspace_id: WorkspaceId::new(workspace),
        revision: Revision { epoch: Epoch(epoch.unwrap_or(0)), sequence: Sequence(sequence) },
        bundle,
    })
}

/// Active bundles, oldest first.
pub(in crate::store) async fn pending_page(
    conn: &mut Conn,
    scope: &Scope,
    filter: &PendingFilter,
    after: Option<&(Micros, PendingId)>,
    limit: i64,
) -> Result<Vec<BundleRow>, Error> {
    let mut page = active_rows::table
        .select((active_rows::pending_id, active_rows::created_us))
        .distinct()
        .order((active_rows::created_us.asc(), active_rows::pending_id.asc()))
        .limit(limit)
        .into_boxed();
    if let Scope::Workspaces(ids) = scope {
        page = page.filter(active_rows::workspace_id.eq_any(ids.iter().map(WorkspaceId::as_str)));
    }
    if let Some(id) = &filter.workspace {
        page = page.filter(active_rows::workspace_id.eq(id.as_str()));
    }
    if let Some(id) = &filter.task {
        page = page.filter(active_rows::task_id.eq(id.as_str()));
    }
    if let Some(id) = &filter.session {
        page = page.filter(active_rows::session_id.eq(id.as_str()));
    }
    if let Some((at, id)) = after {
        let is_later = active_rows::created_us.gt(at.0).or(active_rows::pending_id.gt(id.as_str()));
        page = page.filter(active_rows::created_us.ge(at.0)).filter(is_later);
    }
    let rows: Vec<(String, i64)> = page.load(conn).await?;
    let ids: Vec<PendingId> = rows.into_iter().map(|(id, _)| PendingId::new(id)).collect();
    if ids.is_empty() { Ok(Vec::new()) } else { load(conn, &ids).await }
}

/// Bundles of a session, newest first.
pub(in crate::store) async fn of_session(
    conn: &mut Conn,
    session: &SessionId,
    limit: i64,
) -> Result<Vec<BundleRow>, Error> {
    let rows: Vec<(Option<String>, i64)> = messages::table
        .filter(messages::session_id.eq(session.as_str()))
        .filter(messages::is_question)
        .select((messages::pending_id, messages::created_us))
        .distinct()
        .order((messages::created_us.desc(), messages::pending_id.desc()))
        .limit(limit)
        .load(conn)
        .await?;
    let mut ids: Vec<PendingId> = rows.into_iter().filter_map(|(id, _)| id).map(PendingId::new).collect();
    // Rows of a bundle that were imported may differ in their time.
    ids.sort();
    ids.dedup();
    let mut found = if ids.is_empty() { Vec::new() } else { load(conn, &ids).await? };
    found.reverse();
    Ok(found)
}

type Home = (SessionId, TaskId, WorkspaceId);

fn home((session, task, workspace): (String, String, String)) -> Home {
    (SessionId::new(session), TaskId::new(task), WorkspaceId::new(workspace))
}

/// Where a bundle belongs.
pub(in crate::store) async fn session_of_bundle(conn: &mut Conn, id: &PendingId) -> Result<Option<Home>, Error> {
    let row = messages::table
        .inner_join(sessions::table)
        .filter(messages::is_question)
        .filter(messages::pending_id.eq(id.as_str()))
        .select((sessions::id, sessions::task_id, sessions::workspace_id));
    Ok(row.first(conn).await.optional()?.map(home))
}

/// Where a turn belongs.
pub(in crate::store) async fn session_of_turn(conn: &mut Conn, id: &TurnId) -> Result<Option<Home>, Error> {
    let row = turns::table.inner_join(sessions::table).filter(turns::id.eq(id.as_str())).select((
        sessions::id,
        sessions::task_id,
        sessions::workspace_id,
    ));
    Ok(row.first(conn).await.optional()?.map(home))
}

/// Where a message belongs.
pub(in crate::store) async fn session_of_message(conn: &mut Conn, id: &MessageId) -> Result<Option<Home>, Error> {
    let row = messages::table.inner_join(sessions::table).filter(messages::id.eq(id.as_str())).select((
        sessions::id,
        sessions::task_id,
        sessions::workspace_id,
    ));
    Ok(row.first(conn).await.optional()?.map(home))
}

/// What became of a claim, by its rows.
pub(in crate::store) async fn claim_fate(
    conn: &mut Conn,
    pending: &PendingId,
    claim: &ClaimId,
) -> Result<ClaimFate, Error> {
    let rows: Vec<MessageRecord> = messages::table
        .filter(messages::is_question)
        .filter(messages::pending_id.eq(pending.as_str()))
        .select(MessageRecord::as_select())
        .load(conn)
        .await?;
    for record in rows {
        let Some(question) = record.question()? else { continue };
        let Some(own) = question.claim.as_ref().filter(|own| &own.id == claim) else { continue };
        return Ok(match own {
            own if own.is_open => ClaimFate::Open,
            own if own.is_retired => ClaimFate::Retired,
            _ => ClaimFate::Delivered(question.dispatch_outcome),
        });
    }
    Ok(ClaimFate::Restored)
}
