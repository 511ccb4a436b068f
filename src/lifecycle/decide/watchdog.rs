//! The fallback of a live answer whose agent stays silent (decisions 3). May import: ids and the rest of lifecycle.

use crate::ids::{Micros, PendingId, TurnId};
use crate::lifecycle::{
    Bundle, ClaimRef, Effect, Question, Refusal, Reservation, Status, Turn, Watchdog, answer_prompt,
};

use super::draft::Draft;
use super::{respond, turn};

/// Arms it, where the session wants one, somebody can be dispatched to and the bundle has not used it up.
pub(super) fn arm(d: &mut Draft, pending_id: &PendingId, deadline: Micros) -> Result<Effect, Refusal> {
    let session = d.session()?;
    let is_wanted = session.is_watchdog_on && session.executor.is_some();
    let bundle = d.bundle(pending_id)?;
    let is_due = is_delivered_answer(&bundle) && d.view.is_of_current_turn(&bundle);
    let Some(turn) = d.view.current_turn().filter(|_| is_wanted && is_due).cloned() else {
        return Ok(Effect::Unchanged);
    };
    let watchdog = Watchdog { pending_id: pending_id.clone(), deadline };
    d.set_turn(&turn, |turn| turn.watchdog = Some(watchdog));
    Ok(Effect::Done)
}

fn is_delivered_answer(bundle: &Bundle) -> bool {
    let is_answered = bundle.questions.iter().any(|q| q.status == Status::Answered);
    let is_settled = bundle.open_claim().is_none() && bundle.pending().next().is_none();
    let is_spent = bundle.questions.iter().any(|q| q.is_watchdog_spent || q.dispatched_turn_id.is_some());
    is_answered && is_settled && !is_spent
}

/// The agent did something.
pub(super) fn disarm(d: &mut Draft, turn_id: &TurnId) {
    if let Some(turn) = d.view.turn(turn_id).filter(|turn| turn.watchdog.is_some()).cloned() {
        d.set_turn(&turn, |turn| turn.watchdog = None);
    }
}

/// Its bundle is gone: there is nothing left to fall back to.
pub(super) fn disarm_of(d: &mut Draft, question: &Question) {
    let turn = d.view.turn(&question.turn_id);
    let is_its = turn
        .and_then(|turn| turn.watchdog.as_ref())
        .is_some_and(|watchdog| watchdog.pending_id == question.pending_id);
    if is_its {
        disarm(d, &question.turn_id);
    }
}

/// Reserves the successor and crosses the at-most-once line in one step, if the turn is still the current one.
pub(super) fn fire(d: &mut Draft, turn_id: &TurnId) -> Result<Effect, Refusal> {
    let turn = d.turn(turn_id)?;
    let now = d.now();
    let Some(watchdog) = turn.watchdog.clone().filter(|watchdog| watchdog.deadline <= now) else {
        return Err(Refusal::Stale);
    };
    if d.view.reservation().is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    respond::check_hand_overs(d)?;
    let is_current = d.view.current_turn().is_some_and(|current| &current.id == turn_id);
    let bundle = d.view.bundle(&watchdog.pending_id).filter(|bundle| is_delivered_answer(bundle)).cloned();
    disarm(d, turn_id);
    match bundle.filter(|_| is_current && d.view.is_live()) {
        Some(bundle) => Ok(Effect::Turn(reserve_fallback(d, &turn, &bundle))),
        None => Ok(Effect::Unchanged),
    }
}

fn reserve_fallback(d: &mut Draft, turn: &Turn, bundle: &Bundle) -> TurnId {
    for question in &bundle.questions {
        let updated_at = question.updated_at;
        d.set_question(question, false, |q| {
            q.updated_at = updated_at;
            q.is_watchdog_spent = true;
        });
    }
    let source = ClaimRef {
        claim_id: None,
        pending_id: bundle.pending_id.clone(),
        turn_id: turn.id.clone(),
        message_ids: Vec::new(),
    };
    let epoch = d.stamp().epoch;
    turn::reserve(
        d,
        Reservation {
            is_attempted: true,
            is_acknowledged: false,
            source: Some(source),
            prompt: answer_prompt(bundle),
            epoch,
        },
    )
}
