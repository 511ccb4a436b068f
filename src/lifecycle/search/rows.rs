//! What a step did to a question row: named, or nothing that a row may ever go through.
//! May import: ids and the rest of lifecycle.

use crate::lifecycle::{Claim, Question, Status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowChange {
    Detached,
    Attached,
    Claimed,
    /// Claimed and final at once: a skip that nobody waits for.
    Skipped,
    Finalized,
    Restored,
    Retired,
    Expired,
    Cancelled,
    Received,
    Spent,
    /// An operator found out what became of its dispatch.
    Settled,
    /// None of them: two steps at once, or a field that nothing may touch.
    Strange,
}

impl RowChange {
    /// Provisional or private: nobody is told (INV-18, and INV-20 for the claim).
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self::Claimed | Self::Received | Self::Spent)
    }
}

/// Makes a row's change.
type Shape<'s> = &'s dyn Fn(&mut Question);

/// The one change that leads from `old` to `new`, byte for byte but for the time of the change.
pub(super) fn row_change(old: &Question, new: &Question) -> Option<RowChange> {
    if old == new {
        return None;
    }
    let same = |set: Shape<'_>| {
        let mut row = old.clone();
        set(&mut row);
        row.updated_at = new.updated_at;
        &row == new
    };
    if same(&|_| {}) {
        return None;
    }
    use RowChange as C;
    let shapes: [(C, Shape<'_>); 8] = [
        (C::Detached, &|row| row.is_detached = true),
        (C::Attached, &|row| row.is_detached = false),
        (C::Received, &|row| row.is_result_received = true),
        (C::Spent, &|row| row.is_watchdog_spent = true),
        (C::Settled, &|row| row.dispatch_outcome = new.dispatch_outcome),
        (C::Cancelled, &|row| row.status = Status::Cancelled),
        (C::Expired, &|row| (row.status, row.is_detached) = (Status::Expired, true)),
        (C::Restored, &|row| restore(row, new.is_detached)),
    ];
    let plain = shapes.iter().find(|(_, set)| same(*set)).map(|(change, _)| *change);
    let allowed = plain.filter(|change| is_fitting(old, *change));
    Some(allowed.unwrap_or_else(|| claim_change(old, new)))
}

fn is_fitting(old: &Question, change: RowChange) -> bool {
    match change {
        RowChange::Detached | RowChange::Attached | RowChange::Cancelled | RowChange::Expired => old.is_pending(),
        RowChange::Restored => old.has_intent(),
        RowChange::Received | RowChange::Spent => !old.is_pending(),
        _ => old.dispatch_outcome.is_some(),
    }
}

fn restore(row: &mut Question, is_detached: bool) {
    row.status = Status::Pending;
    row.is_status_absent = false;
    row.is_detached = is_detached;
    row.answer = None;
    row.reject_reason = String::new();
    row.claim = None;
}

fn claim_change(old: &Question, new: &Question) -> RowChange {
    let Some(claim) = &new.claim else { return RowChange::Strange };
    let is_fresh = old.is_pending() && old.claim.is_none();
    let expected = if is_fresh {
        let decided = (new.status.clone(), new.answer.clone(), new.reject_reason.clone());
        let mut row = Question { claim: Some(claim.clone()), updated_at: new.updated_at, ..old.clone() };
        (row.status, row.answer, row.reject_reason) = decided;
        row
    } else {
        close(old, new)
    };
    let is_decided = matches!(new.status, Status::Answered | Status::Rejected);
    match claim {
        _ if &expected != new || !is_decided => RowChange::Strange,
        Claim { is_open: true, is_retired: false, .. } if is_fresh => RowChange::Claimed,
        Claim { is_open: false, is_retired: false, .. } if is_fresh && new.status == Status::Rejected => {
            RowChange::Skipped
        }
        Claim { is_open: false, is_retired: false, .. } if old.has_intent() => RowChange::Finalized,
        Claim { is_open: false, is_retired: true, .. } if old.has_intent() => RowChange::Retired,
        _ => RowChange::Strange,
    }
}

/// The old row with its intent closed, and with what became known of its dispatch.
fn close(old: &Question, new: &Question) -> Question {
    let mut row = Question { updated_at: new.updated_at, ..old.clone() };
    if let (Some(claim), Some(closed)) = (&mut row.claim, &new.claim) {
        claim.is_open = closed.is_open;
        claim.is_retired = closed.is_retired;
    }
    row.dispatched_turn_id.clone_from(&new.dispatched_turn_id);
    row.dispatch_outcome = new.dispatch_outcome;
    row
}
