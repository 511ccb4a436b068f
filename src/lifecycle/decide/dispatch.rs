//! A reservation's life: attempted, acknowledged, published; or rolled back; or left unknown (architecture
//! section 6). May import: ids and the rest of lifecycle.

use crate::ids::{PendingId, TurnId};
use crate::lifecycle::{Change, DispatchOutcome, Effect, EventKind, KeyResult, Lease, Question, Refusal, Turn};

use super::draft::Draft;
use super::{claim, lease, turn, waiter, watchdog};

pub(super) fn reserved(d: &Draft, id: &TurnId) -> Result<Turn, Refusal> {
    let turn = d.turn(id)?;
    if turn.reservation.is_some() && turn.malformed.is_none() { Ok(turn) } else { Err(Refusal::Stale) }
}

pub(super) fn is_attempted(turn: &Turn) -> bool {
    turn.reservation.as_ref().is_some_and(|r| r.is_attempted)
}

pub(super) fn is_acknowledged(turn: &Turn) -> bool {
    turn.reservation.as_ref().is_some_and(|r| r.is_acknowledged)
}

/// Crosses the at-most-once line (INV-10): before a call, or as a worker claims. From here on the successor is the
/// current turn. A fallback crosses it only while its agent is silent.
pub(super) fn mark_attempted(d: &mut Draft, id: &TurnId, lease: Option<&Lease>) -> Result<Effect, Refusal> {
    let turn = reserved(d, id)?;
    if is_attempted(&turn) {
        return Err(Refusal::Stale);
    }
    if let Some((silent, armed)) = watchdog::behind(d, &turn)? {
        watchdog::spend(d, &silent, &armed);
    }
    Ok(attempt(d, &turn, lease))
}

fn attempt(d: &mut Draft, turn: &Turn, lease: Option<&Lease>) -> Effect {
    d.set_turn(turn, |turn| {
        if let Some(reservation) = &mut turn.reservation {
            reservation.is_attempted = true;
        }
        turn.lease = lease.cloned();
    });
    Effect::Turn(turn.id.clone())
}

/// The agent took it. The start is announced; the recovery fields stay until the bus accepted that (INV-22).
pub(super) fn acknowledge(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = reserved(d, id)?;
    if !is_attempted(&turn) {
        return Err(Refusal::Stale);
    }
    if is_acknowledged(&turn) {
        return Ok(Effect::Unchanged);
    }
    if lease::has_lapsed(d, &turn) {
        return Err(Refusal::Stale);
    }
    turn::supersede_but(d, &turn);
    d.set_turn(&turn, |turn| {
        turn.dispatch_outcome = Some(DispatchOutcome::Accepted);
        if let Some(reservation) = &mut turn.reservation {
            reservation.is_acknowledged = true;
        }
    });
    d.emit(EventKind::TurnStarted { turn_id: id.clone() });
    Ok(Effect::Turn(id.clone()))
}

/// The bus took the start: the reservation becomes a plain turn, the claim is final.
pub(super) fn publish_accepted(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = reserved(d, id)?;
    if !is_acknowledged(&turn) {
        return Err(Refusal::Stale);
    }
    settle_source(d, &turn, DispatchOutcome::Accepted, false);
    let is_open = turn.end.is_none();
    let prompt = plain_prompt(&turn);
    clear(d, &turn, DispatchOutcome::Accepted);
    turn::record_prompt(d, id, &prompt);
    if is_open {
        turn::start_work(d);
    }
    Ok(Effect::Closed(DispatchOutcome::Accepted))
}

/// Nobody can tell whether the agent took it: the successor stays current, the claim stays terminal, nothing is
/// sent again.
pub(super) fn close_unknown(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = reserved(d, id)?;
    if !is_attempted(&turn) || is_acknowledged(&turn) {
        return Err(Refusal::Stale);
    }
    settle_source(d, &turn, DispatchOutcome::Unknown, false);
    keep(d, &turn, DispatchOutcome::Unknown);
    if turn.end.is_none() {
        turn::start_work(d);
    }
    Ok(Effect::Closed(DispatchOutcome::Unknown))
}

/// The executor proved that it did not take it, or that the call was taken back. A message on the successor
/// proves more than that, and keeps it.
pub(super) fn roll_back(d: &mut Draft, id: &TurnId) -> Result<Effect, Refusal> {
    let turn = reserved(d, id)?;
    if is_acknowledged(&turn) {
        return Err(Refusal::Stale);
    }
    if turn.has_evidence {
        return close_evident(d, &turn);
    }
    delete_reservation(d, &turn);
    let rows = source_rows(d, &turn);
    if let Some(source) = turn.reservation.as_ref().and_then(|r| r.source.clone()) {
        claim::restore(d, &source.pending_id, &rows);
    }
    // Who left while the attempt stood left a bundle that was not the current turn's; now it is again.
    waiter::detach_ownerless(d);
    turn::settle_state(d);
    Ok(Effect::Done)
}

fn close_evident(d: &mut Draft, turn: &Turn) -> Result<Effect, Refusal> {
    if !is_attempted(turn) {
        attempt(d, turn, None);
    }
    close_unknown(d, &turn.id)
}

/// Makes a reservation a plain turn in history, and announces it unless that was done.
pub(super) fn keep(d: &mut Draft, reserved: &Turn, outcome: DispatchOutcome) {
    let is_announced = is_acknowledged(reserved);
    if !is_announced {
        turn::supersede_but(d, reserved);
    }
    let prompt = plain_prompt(reserved);
    clear(d, reserved, outcome);
    if !is_announced {
        d.emit(EventKind::TurnStarted { turn_id: reserved.id.clone() });
    }
    turn::record_prompt(d, &reserved.id, &prompt);
}

fn clear(d: &mut Draft, reserved: &Turn, outcome: DispatchOutcome) {
    d.set_turn(reserved, |turn| {
        turn.reservation = None;
        turn.dispatch_outcome = Some(outcome);
    });
}

/// A plain prompt enters the transcript when its turn is known; an answer's prompt is told by its bundle.
fn plain_prompt(turn: &Turn) -> String {
    let plain = turn.reservation.as_ref().filter(|r| r.source.is_none());
    plain.map(|r| r.prompt.clone()).unwrap_or_default()
}

/// Removes a reservation that no agent saw; its prompt's key is free again.
pub(super) fn delete_reservation(d: &mut Draft, reserved: &Turn) {
    d.push(Change::DeleteReservation(reserved.id.clone()));
    d.push(Change::DeleteKeys(KeyResult::Prompted(reserved.id.clone())));
}

/// The rows that the reservation's claim holds.
pub(super) fn source_rows(d: &Draft, reserved: &Turn) -> Vec<Question> {
    let Some(source) = reserved.reservation.as_ref().and_then(|r| r.source.as_ref()) else { return Vec::new() };
    let (Some(claim), Some(bundle)) = (&source.claim_id, d.view.bundle(&source.pending_id)) else {
        return Vec::new();
    };
    let rows = claim::open_rows(bundle, claim);
    rows.into_iter().filter(|row| source.message_ids.contains(&row.id)).collect()
}

/// Ends the claim that the reservation holds: final with what is known of its dispatch, and retired where the
/// session ended before that was known.
pub(super) fn settle_source(d: &mut Draft, reserved: &Turn, outcome: DispatchOutcome, is_retired: bool) {
    let rows = source_rows(d, reserved);
    let carried = Some((&reserved.id, outcome));
    if is_retired {
        claim::retire(d, &rows, carried);
    } else {
        claim::finalize(d, &rows, carried);
    }
}

/// An operator says what really happened. The bundle stays terminal either way: it never becomes active again.
pub(super) fn resolve_ambiguous(
    d: &mut Draft,
    id: &TurnId,
    pending_id: Option<&PendingId>,
    was_accepted: bool,
) -> Result<Effect, Refusal> {
    let turn = d.turn(id)?;
    if turn.reservation.is_some() || turn.dispatch_outcome != Some(DispatchOutcome::Unknown) {
        return Err(Refusal::Stale);
    }
    let outcome = if was_accepted { DispatchOutcome::Accepted } else { DispatchOutcome::NotAccepted };
    d.set_turn(&turn, |turn| turn.dispatch_outcome = Some(outcome));
    if let Some(pending_id) = pending_id {
        let bundle = d.bundle(pending_id)?;
        let rows = bundle.questions.iter().filter(|q| q.dispatched_turn_id.as_ref() == Some(id));
        for row in rows {
            d.set_question(row, true, |q| q.dispatch_outcome = Some(outcome));
        }
    }
    Ok(Effect::Closed(outcome))
}
