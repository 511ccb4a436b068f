//! What a row of a Kandev database becomes here: kept as it is where it can be, inert where it cannot act, and noted
//! where either is not plain. Pure. May import: the store's records, lifecycle, ids.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::ids::{MessageId, Micros, TurnId};
use crate::lifecycle::{QUESTION_KIND, QuestionColumns, SessionState, is_flag, read_question};
use crate::store::records::{NewMessageRecord, SessionRecord, TaskRecord, TurnRecord, json};

use super::Imported;
use super::source::{SourceMessage, SourceSession, SourceTask, SourceTurn};

/// The workspace of tasks that name none.
pub(in crate::store) const WORKSPACE: &str = "imported";
/// The kind of what one agent asked another: no person may answer it.
const PARENT_QUESTION: &str = "parent_question";
/// That a turn's start was not announced yet; here its events say so.
const START_MARKER: &str = "prompt_dispatch_start_event_pending";

/// What is known of a session's messages when its turns are written.
#[derive(Default)]
pub(in crate::store) struct Seen {
    /// The turns that messages name.
    pub(in crate::store) turns: HashSet<String>,
    /// The undecided bundles, each with the turns that it names.
    bundles: BTreeMap<String, BTreeSet<String>>,
}

impl Seen {
    /// Notes bundles that nothing may ever act upon (INV-31).
    pub(in crate::store) fn note_inert(&self, known: &HashSet<String>, done: &mut Imported) {
        for (bundle, turns) in &self.bundles {
            let named: Vec<_> = turns.iter().filter(|id| !id.is_empty()).collect();
            match named.as_slice() {
                [] => done.note(format!("bundle {bundle}: inert, it names no turn")),
                [turn] if known.contains(*turn) => {}
                [turn] => done.note(format!("bundle {bundle}: inert, its turn {turn} is not there")),
                _ => done.note(format!("bundle {bundle}: inert, its questions name {} turns", named.len())),
            }
        }
    }
}

/// A turn to write.
pub(in crate::store) struct NewTurn {
    pub(in crate::store) record: TurnRecord,
    /// Nobody heard of its start.
    pub(in crate::store) is_unannounced: bool,
}

/// Any bytes as text that both engines store.
fn text(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).replace('\0', "\u{fffd}")
}

/// Metadata is a JSON object here; anything else is wrapped, and no key of it acts (decisions 11).
fn metadata(bytes: Option<Vec<u8>>, what: &str, id: &str, done: &mut Imported) -> Map<String, Value> {
    let text = text(bytes);
    if text.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(&text).unwrap_or_else(|_| {
        done.note(format!("{what} {id}: inert, its metadata is no JSON object; kept under _malformed"));
        Map::from_iter([("_malformed".to_owned(), text.into())])
    })
}

/// A time, or the next best one.
fn time(times: &[Option<i64>], what: &str, id: &str, done: &mut Imported) -> i64 {
    if times.first().is_some_and(Option::is_none) {
        done.note(format!("{what} {id}: its time cannot be read"));
    }
    times.iter().copied().flatten().next().unwrap_or(0)
}

pub(in crate::store) fn task(task: SourceTask, done: &mut Imported) -> TaskRecord {
    let created_us = time(&[task.created_us, task.updated_us], "task", &task.id, done);
    let updated_us = task.updated_us.unwrap_or(created_us);
    let workspace_id = if task.workspace_id.is_empty() { WORKSPACE.to_owned() } else { task.workspace_id };
    TaskRecord {
        id: task.id,
        workspace_id,
        title: text(task.title),
        description: text(task.description),
        state: task.state,
        created_us,
        updated_us,
        last_activity_us: updated_us,
    }
}

/// A session; one whose state is none of ours has failed.
pub(in crate::store) fn session(
    session: SourceSession,
    workspace_id: String,
    executor: Option<String>,
    done: &mut Imported,
) -> SessionRecord {
    let created_us = time(&[session.started_us, session.updated_us], "session", &session.id, done);
    let updated_us = session.updated_us.unwrap_or(created_us);
    let state = SessionState::parse(&session.state).unwrap_or_else(|| {
        done.note(format!("session {}: its state {:?} is unknown; taken as FAILED", session.id, session.state));
        SessionState::Failed
    });
    SessionRecord {
        id: session.id,
        task_id: session.task_id,
        workspace_id,
        state: state.as_str().to_owned(),
        is_primary: session.is_primary,
        executor,
        agent_session: None,
        is_watchdog_on: false,
        generation: 0,
        sequence: 0,
        created_us,
        updated_us,
        completed_us: state.is_terminal().then(|| session.completed_us.unwrap_or(updated_us)),
    }
}

/// A session's turns get ordinals by the specification's order, and rising times; only the last that took over may
/// still be open, and none of a session that is over.
pub(in crate::store) fn turns(
    session: &SessionRecord,
    mut rows: Vec<SourceTurn>,
    seen: &Seen,
    done: &mut Imported,
) -> Vec<NewTurn> {
    rows.sort_by(|a, b| (a.started_us, a.created_us, &a.id).cmp(&(b.started_us, b.created_us, &b.id)));
    let (mut last, mut turns) = (i64::MIN, Vec::with_capacity(rows.len()));
    for (ordinal, row) in (1..).zip(rows) {
        let wall_us = time(&[row.started_us, row.created_us], "turn", &row.id, done);
        let started_us = wall_us.max(last.saturating_add(1));
        last = started_us;
        let mut keys = metadata(row.metadata, "turn", &row.id, done);
        let is_unannounced = keys.remove(START_MARKER).is_some_and(|value| is_flag(&value));
        let ended_us = row.completed_us.map(|at| at.max(started_us));
        let record = TurnRecord {
            session_id: session.id.clone(),
            ordinal,
            kind: "work".to_owned(),
            generation: 0,
            started_us,
            wall_us,
            ended_us,
            end_kind: ended_us.map(|_| "completed".to_owned()),
            has_evidence: seen.turns.contains(&row.id),
            metadata: json(keys),
            id: row.id,
        };
        turns.push(NewTurn { record, is_unannounced });
    }
    turns.iter().for_each(|turn| note_malformed(&turn.record, done));
    end_older(session, &mut turns);
    turns
}

fn note_malformed(turn: &TurnRecord, done: &mut Imported) {
    if let Some(why) = turn.clone().read().ok().and_then(|turn| turn.malformed) {
        done.note(format!(
            "turn {}: {why}; a start REFUSES until it is repaired, see `answerable inspect`",
            turn.id
        ));
    }
}

/// Ends what a newer turn took over, or the session's end.
fn end_older(session: &SessionRecord, turns: &mut [NewTurn]) {
    let mut newer = session.completed_us.map(|at| (at, "session_ended"));
    for turn in turns.iter_mut().rev() {
        let record = &mut turn.record;
        if let (None, Some((at, how))) = (record.ended_us, newer) {
            record.ended_us = Some(at.max(record.started_us));
            record.end_kind = Some(how.to_owned());
        }
        if has_authority(record) {
            newer = Some((record.started_us, "superseded"));
        }
    }
}

/// As the one rule has it (architecture 4): a reservation only when it was attempted or is referenced.
fn has_authority(turn: &TurnRecord) -> bool {
    turn.has_evidence
        || turn.clone().read().ok().and_then(|turn| turn.reservation).is_none_or(|held| held.is_attempted)
}

pub(in crate::store) fn message(
    row: SourceMessage,
    session: &str,
    seen: &mut Seen,
    done: &mut Imported,
) -> NewMessageRecord {
    let created_us = time(&[row.created_us, row.updated_us], "message", &row.id, done);
    let keys = metadata(row.metadata, "message", &row.id, done);
    let mut record = NewMessageRecord {
        session_id: session.to_owned(),
        author: row.author,
        kind: row.kind,
        content: text(row.content),
        metadata: String::new(),
        created_us,
        updated_us: row.updated_us.unwrap_or(created_us),
        id: row.id,
        turn_id: row.turn_id,
    };
    if record.kind == QUESTION_KIND && keys.get(PARENT_QUESTION).is_some_and(is_flag) {
        done.note(format!("message {}: inert, an agent asked another agent", record.id));
        record.kind = PARENT_QUESTION.to_owned();
    }
    if record.kind == QUESTION_KIND {
        look_at_question(&record, keys.clone(), seen, done);
    }
    seen.turns.insert(record.turn_id.clone());
    record.metadata = json(keys);
    record
}

fn look_at_question(record: &NewMessageRecord, keys: Map<String, Value>, seen: &mut Seen, done: &mut Imported) {
    let columns = QuestionColumns {
        id: MessageId::new(record.id.as_str()),
        turn_id: TurnId::new(record.turn_id.as_str()),
        created_at: Micros(record.created_us),
        updated_at: Micros(record.updated_us),
    };
    let is_wrapped = keys.contains_key("_malformed");
    match read_question(columns, keys) {
        Ok(question) if question.is_pending() => {
            let turns = seen.bundles.entry(question.pending_id.as_str().to_owned()).or_default();
            turns.insert(record.turn_id.clone());
        }
        Ok(_) => {}
        Err(_) if is_wrapped => {}
        Err(key) => done.note(format!("message {}: inert, its {key} makes no question", record.id)),
    }
}
