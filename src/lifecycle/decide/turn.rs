//! Accepting, completing and cancelling turns (decisions 12, 13). May import: ids and the rest of lifecycle.

use serde_json::Map;

use crate::ids::{Generation, Micros, TurnId};
use crate::lifecycle::{
    AcceptTurn, Admission, Bundle, Change, ConflictReason, Effect, EventKind, ExpectedTurn, KeyRecord, KeyResult,
    KeyScope, MessageRow, Refusal, Reservation, SessionState, Turn, TurnEnd, TurnKind,
};

use super::draft::Draft;
use super::{claim, waiter};

pub(super) fn accept(d: &mut Draft, accept: &AcceptTurn) -> Result<Effect, Refusal> {
    if let Some(turn) = replayed(d, accept)? {
        return Ok(Effect::ReplayedTurn(turn));
    }
    expect_turn(d, accept.expected.as_ref())?;
    let id = match (accept.kind, accept.admission) {
        (TurnKind::Bookkeeping, _) => note(d)?,
        (TurnKind::Work, Admission::Immediate) => {
            admit(d, Admission::Immediate)?;
            begin(d, &accept.prompt)
        }
        (TurnKind::Work, Admission::Dispatch) => {
            admit(d, Admission::Dispatch)?;
            reserve(
                d,
                Reservation {
                    is_attempted: false,
                    is_acknowledged: false,
                    source: None,
                    prompt: accept.prompt.clone(),
                    epoch: d.stamp().epoch,
                },
            )
        }
    };
    if let Some(keyed) = &accept.key {
        d.push(Change::InsertKey(KeyRecord {
            scope: KeyScope::Session(accept.principal.clone()),
            key: keyed.key.clone(),
            body_hash: keyed.body_hash.clone(),
            result: KeyResult::Prompted(id.clone()),
        }));
    }
    Ok(Effect::Turn(id))
}

fn replayed(d: &Draft, accept: &AcceptTurn) -> Result<Option<TurnId>, Refusal> {
    let Some(keyed) = &accept.key else { return Ok(None) };
    let scope = KeyScope::Session(accept.principal.clone());
    let Some(record) = d.view.keys.iter().find(|r| r.scope == scope && r.key == keyed.key) else {
        return Ok(None);
    };
    match &record.result {
        KeyResult::Prompted(turn) if record.body_hash == keyed.body_hash => Ok(Some(turn.clone())),
        _ => Err(Refusal::KeyReused),
    }
}

/// Refuses unless the current turn is the one that the caller believes in.
pub(super) fn expect_turn(d: &Draft, expected: Option<&ExpectedTurn>) -> Result<(), Refusal> {
    let current = d.view.current_turn().map(|turn| &turn.id);
    let is_met = match expected {
        None => true,
        Some(ExpectedTurn::NoTurn) => current.is_none(),
        Some(ExpectedTurn::Turn(id)) => current == Some(id),
    };
    let reason = ConflictReason::ExpectedTurnChanged;
    if is_met { Ok(()) } else { Err(Refusal::Conflict { reason, winner: None }) }
}

/// Prompt admission: session state × command (decisions 13).
fn admit(d: &Draft, admission: Admission) -> Result<(), Refusal> {
    let session = d.session()?;
    if d.view.reservation().is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    let is_claimed = d.view.bundles.iter().any(|bundle| bundle.open_claim().is_some());
    if admission == Admission::Dispatch && is_claimed {
        return Err(Refusal::DispatchUnresolved);
    }
    match session.state {
        SessionState::Failed | SessionState::Cancelled => Err(Refusal::StateNotAllowed),
        SessionState::Starting if admission == Admission::Dispatch => Err(Refusal::TurnInProgress),
        SessionState::Running => {
            let is_working = d.view.current_turn().is_some_and(|turn| turn.end.is_none());
            let asks = d.view.active_bundles().next().is_some() || is_claimed;
            if is_working && !asks { Err(Refusal::TurnInProgress) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// A bookkeeping turn: over when it is made, without authority.
fn note(d: &mut Draft) -> Result<TurnId, Refusal> {
    if d.session()?.state.is_terminal() {
        return Err(Refusal::StateNotAllowed);
    }
    let now = d.now();
    let turn = Turn { kind: TurnKind::Bookkeeping, end: Some((now, TurnEnd::Completed)), ..blank(d) };
    let turn_id = turn.id.clone();
    d.push(Change::InsertTurn(turn));
    d.emit(EventKind::TurnStarted { turn_id: turn_id.clone() });
    d.emit(EventKind::TurnCompleted { turn_id: turn_id.clone() });
    Ok(turn_id)
}

/// Begins a turn at once: everything older is superseded by its ordinal alone.
pub(super) fn begin(d: &mut Draft, prompt: &str) -> TurnId {
    supersede(d);
    let turn = blank(d);
    let turn_id = turn.id.clone();
    d.push(Change::InsertTurn(turn));
    d.emit(EventKind::TurnStarted { turn_id: turn_id.clone() });
    start_work(d);
    record_prompt(d, &turn_id, prompt);
    turn_id
}

/// Holds a successor's place. Nothing is announced, nothing superseded, until it is attempted.
pub(super) fn reserve(d: &mut Draft, reservation: Reservation) -> TurnId {
    let turn = Turn { reservation: Some(reservation), ..blank(d) };
    let id = turn.id.clone();
    d.push(Change::InsertTurn(turn));
    id
}

fn blank(d: &mut Draft) -> Turn {
    let now = d.now();
    let generation = d.view.session.as_ref().map_or(Generation(1), |session| session.generation.next());
    d.set_session(|session| session.generation = generation);
    Turn {
        id: d.fresh(),
        ordinal: d.view.last_ordinal.next(),
        kind: TurnKind::Work,
        generation,
        started_at: now.max(Micros(d.view.last_started_at.0.saturating_add(1))),
        wall_at: now,
        end: None,
        has_evidence: false,
        reservation: None,
        dispatch_outcome: None,
        lease: None,
        watchdog: None,
        malformed: None,
        rest: Map::new(),
    }
}

/// Ends the open turn, retires what was being delivered in it and drains its waiters (CP-43).
fn supersede(d: &mut Draft) {
    claim::retire_open(d);
    drain(d, None);
}

/// The same for a successor that was reserved: its own claim goes its own way.
pub(super) fn supersede_but(d: &mut Draft, successor: &Turn) {
    drain(d, Some(&successor.id));
}

fn drain(d: &mut Draft, successor: Option<&TurnId>) {
    let is_older = |bundle: &&Bundle| successor.is_none() || bundle.turn_id() != successor;
    let bundles: Vec<_> = d.view.bundles.iter().filter(is_older).map(|bundle| bundle.pending_id.clone()).collect();
    bundles.iter().for_each(|bundle| d.delete_waiters(bundle));
    let is_open = |turn: &&Turn| turn.end.is_none() && Some(&turn.id) != successor;
    let open: Vec<_> = d.view.turns.iter().filter(is_open).cloned().collect();
    for turn in open {
        end_turn(d, &turn, TurnEnd::Superseded);
    }
}

/// A turn works; an agent that is fast has asked in it already.
pub(super) fn start_work(d: &mut Draft) {
    let asks = d.view.active_bundles().next().is_some();
    d.move_state(if asks { SessionState::WaitingForInput } else { SessionState::Running });
}

pub(super) fn record_prompt(d: &mut Draft, turn_id: &TurnId, prompt: &str) {
    if prompt.is_empty() {
        return;
    }
    let row = MessageRow {
        id: d.fresh(),
        turn_id: turn_id.clone(),
        author: "user".into(),
        kind: "message".into(),
        content: prompt.into(),
        metadata: Map::new(),
        created_at: d.now(),
    };
    d.emit(EventKind::MessageAdded { message_id: row.id.clone() });
    d.push(Change::InsertMessage(row));
}

pub(super) fn end_turn(d: &mut Draft, turn: &Turn, end: TurnEnd) {
    let now = d.now();
    d.set_turn(turn, |turn| {
        turn.end = Some((now, end));
        turn.watchdog = None;
    });
    d.emit(EventKind::TurnCompleted { turn_id: turn.id.clone() });
}

pub(super) fn complete(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = d.turn(id)?;
    // An acknowledged turn may finish before its start is published (CP-40); one that is not has not begun.
    if turn.reservation.as_ref().is_some_and(|r| !r.is_acknowledged) {
        return Err(Refusal::DispatchUnresolved);
    }
    if turn.end.is_none() {
        finish(d, &turn, TurnEnd::Completed);
    }
    Ok(Effect::Completed { turn_id: id.clone(), may_advance: d.view.workflow_may_advance() })
}

/// Ends a turn's work: what it asked stays, detached.
fn finish(d: &mut Draft, turn: &Turn, end: TurnEnd) {
    let is_current = d.view.current_turn().is_some_and(|current| current.id == turn.id);
    end_turn(d, turn, end);
    if is_current {
        waiter::detach_active(d);
        settle_state(d);
    }
}

pub(super) fn cancel(d: &mut Draft, expected: &ExpectedTurn) -> Result<Effect, Refusal> {
    expect_turn(d, Some(expected))?;
    let Some(turn) = d.view.current_turn().cloned() else { return Ok(Effect::Unchanged) };
    if turn.reservation.is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    if turn.end.is_some() {
        return Ok(Effect::Unchanged);
    }
    finish(d, &turn, TurnEnd::Cancelled);
    Ok(Effect::Interrupt(turn.id))
}

/// A ready event completes the turn that it belongs to, never a successor (INV-32).
pub(super) fn ready(
    d: &mut Draft,
    generation: Option<Generation>,
    has_overlapped: bool,
) -> Result<Effect, Refusal> {
    if d.view.reservation().is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    let Some(turn) = d.view.current_turn().filter(|turn| turn.end.is_none()).cloned() else {
        return Ok(Effect::Dropped);
    };
    let is_owner = match generation {
        Some(generation) => generation == turn.generation,
        None => !has_overlapped,
    };
    if !is_owner {
        return Ok(Effect::Dropped);
    }
    complete(d, &turn.id)
}

/// Where a live session stands after a bundle or turn ended: waiting while something is asked, working while its
/// turn is open, idle else.
pub(super) fn settle_state(d: &mut Draft) {
    if !d.view.is_live() {
        return;
    }
    let is_open = d.view.current_turn().is_some_and(|turn| turn.end.is_none());
    d.move_state(if d.view.active_bundles().next().is_some() {
        SessionState::WaitingForInput
    } else if is_open {
        SessionState::Running
    } else {
        SessionState::Idle
    });
}
