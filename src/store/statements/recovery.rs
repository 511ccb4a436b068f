//! What a start and the timers look for; each by a partial index. May import: the store's shared parts.

use std::collections::BTreeSet;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{MessageId, Micros, SessionId, TurnId};
use crate::store::error::Error;
use crate::store::schema::{
    active_rows, backend_generations as generations, clarification_waiters as waiters,
    task_session_messages as messages, task_session_turns as turns, task_sessions as sessions,
};

use super::Conn;

/// Sessions in which a dead generation left something, in the order of their ids: open intents, reservations,
/// waiters of generations that are not alive, live bundles that nobody waits for, and undecided ones of sessions
/// that are over.
pub(in crate::store) async fn sessions_to_recover(conn: &mut Conn) -> Result<Vec<SessionId>, Error> {
    let claimed = messages::table.filter(messages::has_intent).select(messages::session_id);
    let reserved = turns::table.filter(turns::is_reserved).select(turns::session_id);
    let alive = generations::table.filter(generations::is_live).select(generations::epoch);
    let orphaned = waiters::table.filter(waiters::epoch.ne_all(alive)).select(waiters::session_id);
    let mut ids: BTreeSet<String> = claimed.load(conn).await?.into_iter().collect();
    ids.extend(reserved.load::<String>(conn).await?);
    ids.extend(orphaned.load::<String>(conn).await?);
    ids.extend(ownerless(conn).await?);
    ids.extend(unexpired(conn).await?);
    Ok(ids.into_iter().map(SessionId::new).collect())
}

#[derive(QueryableByName)]
struct Own {
    #[diesel(sql_type = diesel::sql_types::Text)]
    session_id: String,
}

/// Sessions that are over while their current turn still holds undecided rows (CP-47).
async fn unexpired(conn: &mut Conn) -> Result<Vec<String>, Error> {
    let rows: Vec<Own> = diesel::sql_query(
        "SELECT DISTINCT s.id AS session_id FROM task_sessions s
         CROSS JOIN task_session_turns c CROSS JOIN task_session_messages m
         WHERE NOT s.is_live
             AND c.id = (SELECT t.id FROM task_session_turns t WHERE t.session_id = s.id AND t.is_authoritative
                 ORDER BY t.ordinal DESC LIMIT 1)
             AND m.is_open AND m.session_id = s.id AND m.turn_id = c.id
             AND NOT EXISTS (SELECT 1 FROM task_session_messages o WHERE o.is_question AND o.pending_id = m.pending_id
                 AND o.session_id = m.session_id AND o.turn_id NOT IN (m.turn_id, ''))",
    )
    .load(conn)
    .await?;
    Ok(rows.into_iter().map(|row| row.session_id).collect())
}

/// Sessions with an active bundle that is not marked detached though nobody alive waits for it.
async fn ownerless(conn: &mut Conn) -> Result<Vec<String>, Error> {
    let live_rows = messages::table
        .filter(messages::session_id.eq(active_rows::session_id))
        .filter(messages::pending_id.eq(active_rows::pending_id.nullable()))
        .filter(messages::is_open)
        .filter(not(messages::is_detached));
    let waiting = waiters::table
        .inner_join(generations::table.on(generations::epoch.eq(waiters::epoch)))
        .filter(waiters::pending_id.eq(active_rows::pending_id))
        .filter(generations::is_live);
    Ok(active_rows::table
        .filter(exists(live_rows))
        .filter(not(exists(waiting)))
        .select(active_rows::session_id)
        .distinct()
        .load(conn)
        .await?)
}

/// Open turns of sessions whose executor has one of those names, in the order of the sessions' ids.
pub(in crate::store) async fn open_turns(
    conn: &mut Conn,
    executors: Vec<String>,
) -> Result<Vec<(SessionId, TurnId)>, Error> {
    let rows: Vec<(String, String)> = turns::table
        .inner_join(sessions::table)
        .filter(not(turns::has_ended))
        .filter(turns::is_authoritative)
        .filter(sessions::executor.eq_any(executors))
        .order((turns::session_id, turns::ordinal))
        .select((turns::session_id, turns::id))
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(|(session, turn)| (SessionId::new(session), TurnId::new(turn))).collect())
}

/// Watchdogs of sessions with one of these executors, the earliest first.
pub(in crate::store) async fn watchdogs(
    conn: &mut Conn,
    executors: Vec<String>,
    after: Option<(Micros, TurnId)>,
    limit: i64,
) -> Result<Vec<(SessionId, TurnId, Micros)>, Error> {
    let (at, id) = after.map_or((i64::MIN, String::new()), |(at, id)| (at.0, id.as_str().to_owned()));
    let rows: Vec<(String, String, i64)> = turns::table
        .inner_join(sessions::table)
        .filter(turns::has_watchdog)
        .filter(sessions::executor.eq_any(executors))
        .filter(turns::watchdog_us.ge(at))
        .filter(turns::watchdog_us.gt(at).or(turns::id.gt(id)))
        .order((turns::watchdog_us, turns::id))
        .limit(limit)
        .select((turns::session_id, turns::id, turns::watchdog_us))
        .load(conn)
        .await?;
    let read = |(session, turn, at)| (SessionId::new(session), TurnId::new(turn), Micros(at));
    Ok(rows.into_iter().map(read).collect())
}

/// Question rows that cannot be read, with their sessions, in the order of their ids.
pub(in crate::store) async fn inert_questions(
    conn: &mut Conn,
    limit: i64,
) -> Result<Vec<(SessionId, MessageId)>, Error> {
    let kind = diesel::dsl::sql::<diesel::sql_types::Bool>("kind = 'clarification_request'");
    let rows: Vec<(String, String)> = messages::table
        .filter(kind)
        .filter(not(messages::is_question))
        .order(messages::id)
        .limit(limit)
        .select((messages::session_id, messages::id))
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(|(session, id)| (SessionId::new(session), MessageId::new(id))).collect())
}

/// How many question rows cannot be read; each is served to nobody as a question.
pub(in crate::store) async fn inert_rows(conn: &mut Conn) -> Result<i64, Error> {
    let kind = diesel::dsl::sql::<diesel::sql_types::Bool>("kind = 'clarification_request'");
    Ok(messages::table.filter(kind).filter(not(messages::is_question)).count().get_result(conn).await?)
}
