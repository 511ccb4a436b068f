//! Answering, skipping and withdrawing one exact bundle. The order of refusals is decisions 5:
//! absent, my own key again, conflict, wrong input, claim. May import: ids and the rest of lifecycle.

use crate::ids::{ClaimId, PendingId, PrincipalId, QuestionId, TurnId};
use crate::lifecycle::claim_fate;
use crate::lifecycle::{
    Answer, Bundle, BundleState, Change, Claim, ClaimRef, ClaimTicket, ConflictReason, Effect, KeyRecord,
    KeyResult, KeyScope, Keyed, Refusal, Reservation, Respond, Skip, Status, Winner, answer_prompt, check_answers,
    check_reason,
};

use super::draft::Draft;
use super::{claim, turn};

pub(super) fn respond(d: &mut Draft, request: &Respond) -> Result<Effect, Refusal> {
    let bundle = d.bundle(&request.pending_id)?;
    if let Some(effect) = replayed(d, &bundle, &request.principal, &request.key)? {
        return Ok(effect);
    }
    check_conflict(d, &bundle, request.expected_turn.as_ref())?;
    let answers = check_answers(&bundle, &request.answers).map_err(Refusal::Invalid)?;
    let path = path(d, &bundle);
    check_admission(d)?;
    if path == Path::Dispatch {
        check_hand_overs(d)?;
    }
    let ticket = take(d, &bundle, &request.principal, &request.key, |q| Decided {
        status: Status::Answered,
        answer: Some(find(&answers, q)),
        reason: String::new(),
    });
    match path {
        Path::HandOver => Ok(Effect::HandOver(ticket)),
        Path::Dispatch => Ok(reserve_successor(d, &bundle, ticket)),
    }
}

pub(super) fn skip(d: &mut Draft, request: &Skip) -> Result<Effect, Refusal> {
    let bundle = d.bundle(&request.pending_id)?;
    if let Some(effect) = replayed(d, &bundle, &request.principal, &request.key)? {
        return Ok(effect);
    }
    check_conflict(d, &bundle, request.expected_turn.as_ref())?;
    let reason = check_reason(&request.reason).map_err(Refusal::Invalid)?;
    check_admission(d)?;
    // Nobody waits: there is nothing to hand over, so the rejection is final at once.
    let is_live = d.view.has_waiter(&bundle.pending_id);
    let ticket = take(d, &bundle, &request.principal, &request.key, |_| Decided {
        status: Status::Rejected,
        answer: None,
        reason: reason.clone(),
    });
    if is_live {
        return Ok(Effect::HandOver(ticket));
    }
    let rows = claim::open_rows(&d.bundle(&bundle.pending_id)?, &ticket.id);
    claim::finalize(d, &rows, None);
    turn::settle_state(d);
    Ok(Effect::Settled(ticket))
}

/// The asker withdraws: for live bundles only, and against a claim it wins or loses here (decisions 4).
pub(super) fn cancel(d: &mut Draft, pending_id: &PendingId) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    check_conflict(d, &bundle, None)?;
    if d.view.bundle_state(&bundle) == BundleState::ActiveDetached {
        return Err(Refusal::NotLive);
    }
    for question in bundle.pending() {
        d.set_question(question, true, |q| q.status = Status::Cancelled);
    }
    d.delete_waiters(pending_id);
    turn::settle_state(d);
    Ok(Effect::Done)
}

#[derive(PartialEq, Eq)]
enum Path {
    HandOver,
    Dispatch,
}

/// Without an executor a detached answer can only wait for its agent to ask again.
fn path(d: &Draft, bundle: &Bundle) -> Path {
    let has_executor = d.view.session.as_ref().is_some_and(|session| session.executor.is_some());
    if d.view.has_waiter(&bundle.pending_id) || !has_executor { Path::HandOver } else { Path::Dispatch }
}

fn replayed(
    d: &Draft,
    bundle: &Bundle,
    principal: &PrincipalId,
    keyed: &Keyed,
) -> Result<Option<Effect>, Refusal> {
    let scope = KeyScope::Bundle(bundle.pending_id.clone(), principal.clone());
    let Some(record) = d.view.keys.iter().find(|r| r.scope == scope && r.key == keyed.key) else {
        return Ok(None);
    };
    match &record.result {
        KeyResult::Responded(_, id) if record.body_hash == keyed.body_hash => {
            Ok(Some(Effect::Replayed(id.clone(), claim_fate(bundle, id))))
        }
        _ => Err(Refusal::KeyReused),
    }
}

fn check_conflict(d: &Draft, bundle: &Bundle, expected: Option<&TurnId>) -> Result<(), Refusal> {
    let reason = match d.view.bundle_state(bundle) {
        BundleState::DeliveryClaimed => ConflictReason::DeliveryClaimed,
        BundleState::Terminal if has_ended(d, bundle) => ConflictReason::SessionEnded,
        BundleState::Terminal => ConflictReason::Terminal,
        BundleState::SupersededHistory => ConflictReason::Superseded,
        BundleState::ActiveLive | BundleState::ActiveDetached => {
            if expected.is_none() || expected == bundle.turn_id() {
                return Ok(());
            }
            ConflictReason::ExpectedTurnChanged
        }
    };
    Err(Refusal::Conflict { reason, winner: winner(bundle) })
}

fn has_ended(d: &Draft, bundle: &Bundle) -> bool {
    let is_over = |status: &Status| matches!(status, Status::Pending | Status::Expired);
    !d.view.is_live() && bundle.questions.iter().any(|q| is_over(&q.status))
}

/// Who decided the bundle, where somebody did.
fn winner(bundle: &Bundle) -> Option<Winner> {
    let row = bundle
        .questions
        .iter()
        .filter(|q| q.claim.is_some())
        .max_by_key(|q| q.claim.as_ref().map(|claim| claim.responded_at))?;
    let claim = row.claim.as_ref()?;
    Some(Winner {
        principal: claim.principal.clone(),
        responded_at: claim.responded_at,
        status: row.status.clone(),
    })
}

fn check_admission(d: &Draft) -> Result<(), Refusal> {
    if d.view.reservation().is_some() { Err(Refusal::DispatchUnresolved) } else { Ok(()) }
}

/// An attempt supersedes what is handed over beside it; refused, it would come back to a turn in which that response
/// was lost. So it waits, as a prompt does.
pub(super) fn check_hand_overs(d: &Draft) -> Result<(), Refusal> {
    let is_claimed = d.view.bundles.iter().any(|bundle| bundle.open_claim().is_some());
    if is_claimed { Err(Refusal::DispatchUnresolved) } else { Ok(()) }
}

struct Decided {
    status: Status,
    answer: Option<Answer>,
    reason: String,
}

fn find(answers: &[(QuestionId, Answer)], id: &QuestionId) -> Answer {
    answers.iter().find(|(own, _)| own == id).map(|(_, answer)| answer.clone()).unwrap_or_default()
}

/// Claims every pending row at once, and remembers the key. Unannounced: it is provisional.
fn take(
    d: &mut Draft,
    bundle: &Bundle,
    principal: &PrincipalId,
    keyed: &Keyed,
    decide: impl Fn(&QuestionId) -> Decided,
) -> ClaimTicket {
    let id: ClaimId = d.fresh();
    let (now, epoch) = (d.now(), d.stamp().epoch);
    let rows: Vec<_> = bundle.pending().cloned().collect();
    for row in &rows {
        let decided = decide(&row.spec.id);
        d.set_question(row, false, |q| {
            q.status = decided.status;
            q.answer = decided.answer;
            q.reject_reason = decided.reason;
            q.claim = Some(Claim {
                id: id.clone(),
                is_open: true,
                is_retired: false,
                epoch,
                principal: principal.clone(),
                responded_at: now,
            });
        });
    }
    d.push(Change::InsertKey(KeyRecord {
        scope: KeyScope::Bundle(bundle.pending_id.clone(), principal.clone()),
        key: keyed.key.clone(),
        body_hash: keyed.body_hash.clone(),
        result: KeyResult::Responded(bundle.pending_id.clone(), id.clone()),
    }));
    ClaimTicket { id, pending_id: bundle.pending_id.clone(), message_ids: claim::ids(&rows) }
}

/// Reserves the successor in the claim's own transaction, so that no turn can slip between (decisions 2).
fn reserve_successor(d: &mut Draft, bundle: &Bundle, ticket: ClaimTicket) -> Effect {
    let prompt = answer_prompt(d.view.bundle(&bundle.pending_id));
    let source = bundle.turn_id().map(|turn_id| ClaimRef {
        claim_id: Some(ticket.id.clone()),
        pending_id: bundle.pending_id.clone(),
        turn_id: turn_id.clone(),
        message_ids: ticket.message_ids.clone(),
    });
    let epoch = d.stamp().epoch;
    let turn =
        turn::reserve(d, Reservation { is_attempted: false, is_acknowledged: false, source, prompt, epoch });
    Effect::Dispatch(ticket, turn)
}
