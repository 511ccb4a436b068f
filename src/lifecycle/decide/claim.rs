//! What happens to the rows of a claim: finalized, restored or retired; always exactly the rows it took (INV-14).
//! May import: ids and the rest of lifecycle.

use crate::ids::{ClaimId, MessageId, PendingId, TurnId};
use crate::lifecycle::{Bundle, Change, DispatchOutcome, KeyResult, Question, Status};

use super::draft::Draft;

/// The rows of one open claim.
pub(super) fn open_rows(bundle: &Bundle, claim: &ClaimId) -> Vec<Question> {
    let is_it = |q: &&Question| q.has_intent() && q.claim.as_ref().is_some_and(|c| &c.id == claim);
    bundle.questions.iter().filter(is_it).cloned().collect()
}

/// What is known of the dispatch that carried a response: by which turn, and how it ended.
pub(super) type Carried<'t> = Option<(&'t TurnId, DispatchOutcome)>;

/// Retires the intent: the response stands and is announced.
pub(super) fn finalize(d: &mut Draft, rows: &[Question], dispatch: Carried<'_>) {
    for row in rows {
        let updated_at = row.updated_at;
        d.set_question(row, true, |q| {
            // Winner and losers are told one instant: the claim's (INV-36).
            q.updated_at = updated_at;
            close(q, false, dispatch);
        });
    }
}

fn close(question: &mut Question, is_retired: bool, dispatch: Carried<'_>) {
    if let Some(claim) = &mut question.claim {
        claim.is_open = false;
        claim.is_retired = is_retired;
    }
    if let Some((turn, outcome)) = dispatch {
        question.dispatched_turn_id = Some(turn.clone());
        question.dispatch_outcome = Some(outcome);
    }
}

/// Undoes the claim: its rows are pending again, and its key is free.
pub(super) fn restore(d: &mut Draft, pending_id: &PendingId, rows: &[Question]) {
    let is_detached = !d.view.has_waiter(pending_id);
    for row in rows {
        if let Some(claim) = &row.claim {
            d.push(Change::DeleteKeys(KeyResult::Responded(pending_id.clone(), claim.id.clone())));
        }
        d.set_question(row, true, |q| {
            q.status = Status::Pending;
            q.is_status_absent = false;
            q.is_detached = is_detached;
            q.answer = None;
            q.reject_reason = String::new();
            q.claim = None;
        });
    }
}

/// Closes the intent without effect: a newer turn or the session's end came first (CP-13, CP-14). What is known of
/// a dispatch is told with it, in the one announcement that a row's change has (INV-18).
pub(super) fn retire(d: &mut Draft, rows: &[Question], dispatch: Carried<'_>) {
    for row in rows {
        d.set_question(row, true, |q| close(q, true, dispatch));
    }
}

/// Retires every claim that is being delivered.
pub(super) fn retire_open(d: &mut Draft) {
    let rows: Vec<_> = d.view.bundles.iter().flat_map(Bundle::claimed).cloned().collect();
    retire(d, &rows, None);
}

/// Whether a reservation holds this claim: then only the dispatch path may move it.
pub(super) fn is_reserved(d: &Draft, claim: &ClaimId) -> bool {
    d.view
        .turns
        .iter()
        .filter_map(|turn| turn.reservation.as_ref()?.source.as_ref())
        .any(|source| source.claim_id.as_ref() == Some(claim))
}

/// The ids of rows.
pub(super) fn ids(rows: &[Question]) -> Vec<MessageId> {
    rows.iter().map(|row| row.id.clone()).collect()
}
