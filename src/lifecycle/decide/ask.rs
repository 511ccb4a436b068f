//! Asking a bundle: whole or not at all, once per key (decisions 7). May import: ids and the rest of lifecycle.

use serde_json::Map;

use crate::ids::{MessageId, PendingId, TurnId};
use crate::lifecycle::{
    Ask, Bundle, Change, ConflictReason, Effect, EventKind, KeyRecord, KeyResult, KeyScope, OutcomeStatus,
    Question, QuestionSpec, Refusal, SessionState, Status, Waiter, check_bundle_size,
};

use super::draft::Draft;
use super::{turn, waiter, watchdog};

pub(super) fn ask(d: &mut Draft, request: &Ask) -> Result<Effect, Refusal> {
    if let Some(bundle) = earlier(d, request)? {
        return attach(d, request, &bundle);
    }
    turn::expect_turn(d, request.expected.as_ref())?;
    if !d.view.is_live() {
        return Err(Refusal::Conflict { reason: ConflictReason::SessionEnded, winner: None });
    }
    check_bundle_size(&request.questions).map_err(Refusal::Invalid)?;
    let turn_id = own_turn(d)?;
    forget_key(d, request, &turn_id);
    let pending_id = insert(d, request, &turn_id);
    d.push(Change::InsertKey(KeyRecord {
        scope: KeyScope::Turn(turn_id),
        key: request.key.key.clone(),
        body_hash: request.key.body_hash.clone(),
        result: KeyResult::Asked(pending_id.clone()),
    }));
    d.move_state(SessionState::WaitingForInput);
    let bundle = d.bundle(&pending_id)?;
    Ok(Effect::Asked { outcome: d.view.outcome(&bundle), is_new: true })
}

/// The bundle that the key led to, where that still counts.
fn earlier(d: &Draft, request: &Ask) -> Result<Option<Bundle>, Refusal> {
    let Some(record) = d.view.current_turn().and_then(|turn| find_key(d, request, &turn.id)) else {
        return Ok(None);
    };
    if record.body_hash != request.key.body_hash {
        return Err(Refusal::KeyReused);
    }
    let KeyResult::Asked(pending_id) = &record.result else { return Err(Refusal::KeyReused) };
    let Some(bundle) = d.view.bundle(pending_id) else { return Ok(None) };
    let is_undecided = d.view.outcome(bundle).status == OutcomeStatus::Pending;
    let is_unread = !bundle.questions.iter().any(|q| q.is_result_received);
    Ok((request.is_key_explicit || is_undecided || is_unread).then(|| bundle.clone()))
}

fn find_key<'d>(d: &'d Draft, request: &Ask, turn_id: &TurnId) -> Option<&'d KeyRecord> {
    let scope = KeyScope::Turn(turn_id.clone());
    d.view.keys.iter().find(|record| record.scope == scope && record.key == request.key.key)
}

/// Asked before: wait again, or learn the recorded outcome at once.
fn attach(d: &mut Draft, request: &Ask, bundle: &Bundle) -> Result<Effect, Refusal> {
    if let Some(turn) = bundle.turn_id() {
        watchdog::disarm(d, turn);
    }
    if let Some(id) = &request.waiter {
        waiter::register(d, &bundle.pending_id, id)?;
    }
    let bundle = d.bundle(&bundle.pending_id)?;
    Ok(Effect::Asked { outcome: d.view.outcome(&bundle), is_new: false })
}

/// The current turn; in a session that has none yet, asking begins its first.
fn own_turn(d: &mut Draft) -> Result<TurnId, Refusal> {
    if let Some(id) = d.view.current_turn().map(|turn| turn.id.clone()) {
        watchdog::disarm(d, &id);
        mark_evidence(d, &id);
        return Ok(id);
    }
    // A turn begun beside a reservation would be superseded by an older one (INV-33).
    if d.view.reservation().is_some() {
        return Err(Refusal::DispatchUnresolved);
    }
    Ok(turn::begin(d, ""))
}

/// A row that references a reservation proves that its agent runs.
pub(super) fn mark_evidence(d: &mut Draft, id: &TurnId) {
    if let Some(turn) = d.view.turn(id).filter(|turn| turn.reservation.is_some()).cloned() {
        d.set_turn(&turn, |turn| turn.has_evidence = true);
    }
}

fn forget_key(d: &mut Draft, request: &Ask, turn_id: &TurnId) {
    if let Some(result) = find_key(d, request, turn_id).map(|record| record.result.clone()) {
        d.push(Change::DeleteKeys(result));
    }
}

fn insert(d: &mut Draft, request: &Ask, turn_id: &TurnId) -> PendingId {
    let pending_id: PendingId = d.fresh();
    for (index, spec) in (0i64..).zip(&request.questions) {
        let question = row(d, request, &pending_id, turn_id, index, spec);
        d.emit(EventKind::MessageAdded { message_id: question.id.clone() });
        d.push(Change::InsertQuestion(question));
    }
    if let Some(id) = &request.waiter {
        let waiter = Waiter { id: id.clone(), pending_id: pending_id.clone(), epoch: d.stamp().epoch };
        d.push(Change::InsertWaiter(waiter));
    }
    pending_id
}

fn row(
    d: &mut Draft,
    request: &Ask,
    pending_id: &PendingId,
    turn_id: &TurnId,
    index: i64,
    spec: &QuestionSpec,
) -> Question {
    let id: MessageId = d.fresh();
    Question {
        id,
        turn_id: turn_id.clone(),
        created_at: d.now(),
        updated_at: d.now(),
        pending_id: pending_id.clone(),
        index,
        total: i64::try_from(request.questions.len()).unwrap_or(i64::MAX),
        spec: spec.clone(),
        context: request.context.clone(),
        status: Status::Pending,
        is_status_absent: false,
        is_detached: request.waiter.is_none(),
        answer: None,
        reject_reason: String::new(),
        claim: None,
        dispatched_turn_id: None,
        dispatch_outcome: None,
        is_result_received: false,
        is_watchdog_spent: false,
        rest: Map::new(),
    }
}
