//! A session's beginning, moves and end. May import: ids and the rest of lifecycle.

use crate::ids::{AgentSessionId, Generation, Sequence, SessionId, TaskId};
use crate::lifecycle::{
    Bundle, Change, Decision, DispatchOutcome, Effect, EventKind, Refusal, Session, SessionState, Status, TurnEnd,
};

use super::draft::Draft;
use super::{claim, dispatch, turn};

pub(super) fn create(
    mut d: Draft,
    task_id: &TaskId,
    executor: Option<&String>,
    is_watchdog_on: bool,
) -> Result<Decision, Refusal> {
    let task = d.view.task.clone().filter(|task| &task.id == task_id).ok_or(Refusal::NotFound)?;
    let now = d.now();
    let id: SessionId = d.fresh();
    d.push(Change::InsertSession(Session {
        id: id.clone(),
        task_id: task.id,
        workspace_id: task.workspace_id,
        state: SessionState::Created,
        is_primary: task.session_count == 0,
        executor: executor.cloned(),
        agent_session: None,
        is_watchdog_on,
        generation: Generation(0),
        sequence: Sequence(0),
        created_at: now,
        updated_at: now,
        completed_at: None,
    }));
    d.emit(EventKind::SessionStateChanged);
    Ok(d.finish(Effect::Session(id)))
}

/// A runtime says how its session stands.
pub(super) fn set_state(d: &mut Draft, to: SessionState) -> Result<Effect, Refusal> {
    let from = d.session()?.state;
    if from.is_terminal() || to.is_terminal() {
        return Err(Refusal::StateNotAllowed);
    }
    // What is answerable has to be shown, and only these states show it (decisions 13).
    if !to.is_input_capable() && d.view.active_bundles().next().is_some() {
        return Err(Refusal::StateNotAllowed);
    }
    if from == to {
        return Ok(Effect::Unchanged);
    }
    d.move_state(to);
    Ok(Effect::Done)
}

/// Ends a session and, in the same transaction, all that could still be answered in it (decisions 6).
pub(super) fn end(d: &mut Draft, to: SessionState) -> Result<Effect, Refusal> {
    let from = d.session()?.state;
    // A prompt that is being dispatched takes a completed session up again, and can be stopped.
    let is_over = from.is_terminal() && d.view.reservation().is_none();
    if from == to && is_over {
        return Ok(Effect::Unchanged);
    }
    if is_over || !to.is_terminal() {
        return Err(Refusal::StateNotAllowed);
    }
    expire_active(d);
    close_reservation(d);
    claim::retire_open(d);
    end_open_turns(d);
    drain_waiters(d);
    d.move_state(to);
    Ok(Effect::Done)
}

/// The agent's own name of this conversation; a later one takes the place of an earlier.
pub(super) fn bind_agent(d: &mut Draft, known: &AgentSessionId) -> Result<Effect, Refusal> {
    let session = d.session()?;
    if session.state.is_terminal() && d.view.reservation().is_none() {
        return Err(Refusal::StateNotAllowed);
    }
    if session.agent_session.as_ref() == Some(known) {
        return Ok(Effect::Unchanged);
    }
    d.set_session(|session| session.agent_session = Some(known.clone()));
    Ok(Effect::Done)
}

pub(super) fn delete(d: &mut Draft) -> Result<Effect, Refusal> {
    d.emit(EventKind::SessionDeleted);
    d.push(Change::DeleteSession);
    Ok(Effect::Done)
}

/// The second line of defence: what a terminal session still holds as pending (CP-47).
pub(super) fn expire(d: &mut Draft) -> Result<Effect, Refusal> {
    if !d.session()?.state.is_terminal() {
        return Err(Refusal::StateNotAllowed);
    }
    let bundles: Vec<_> = d.view.bundles.iter().filter(|b| d.view.is_of_current_turn(b)).cloned().collect();
    let has_pending = bundles.iter().any(|bundle| bundle.pending().next().is_some());
    bundles.iter().for_each(|bundle| expire_bundle(d, bundle));
    Ok(if has_pending { Effect::Done } else { Effect::Unchanged })
}

fn expire_active(d: &mut Draft) {
    let bundles: Vec<_> = d.view.active_bundles().cloned().collect();
    bundles.iter().for_each(|bundle| expire_bundle(d, bundle));
}

fn expire_bundle(d: &mut Draft, bundle: &Bundle) {
    for question in bundle.pending() {
        d.set_question(question, true, |q| {
            q.status = Status::Expired;
            q.is_detached = true;
        });
    }
    d.delete_waiters(&bundle.pending_id);
}

/// An untried reservation goes; a tried one stays in history, its outcome unknown.
fn close_reservation(d: &mut Draft) {
    let Some(reserved) = d.view.reservation().cloned() else { return };
    if reserved.is_empty_reservation() {
        dispatch::delete_reservation(d, &reserved);
        return;
    }
    let is_acknowledged = reserved.reservation.as_ref().is_some_and(|r| r.is_acknowledged);
    let outcome = if is_acknowledged { DispatchOutcome::Accepted } else { DispatchOutcome::Unknown };
    dispatch::settle_source(d, &reserved, outcome, true);
    dispatch::keep(d, &reserved, outcome);
}

fn end_open_turns(d: &mut Draft) {
    let open: Vec<_> = d.view.turns.iter().filter(|turn| turn.end.is_none()).cloned().collect();
    for turn in open {
        turn::end_turn(d, &turn, TurnEnd::SessionEnded);
    }
}

fn drain_waiters(d: &mut Draft) {
    let bundles: Vec<_> = d.view.waiters.iter().map(|waiter| waiter.pending_id.clone()).collect();
    bundles.iter().for_each(|bundle| d.delete_waiters(bundle));
}
