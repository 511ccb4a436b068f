//! Handing a response to a waiter: confirm and restore are serial, one wins (INV-16).
//! May import: ids and the rest of lifecycle.

use crate::ids::{ClaimId, Micros, PendingId, WaiterId};
use crate::lifecycle::{Effect, Refusal};

use super::draft::Draft;
use super::{claim, turn, watchdog};

/// A waiter takes what is there for it. With an open claim of the current turn it retires the intent, and only
/// then may the response leave (INV-11); else it learns how the bundle stands, and nothing is written.
pub(super) fn confirm(
    d: &mut Draft,
    pending_id: &PendingId,
    waiter: &WaiterId,
    deadline: Option<Micros>,
) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    let claim = bundle.open_claim().map(|claim| claim.id.clone());
    let is_waiting = d.view.waiters.iter().any(|w| &w.pending_id == pending_id && &w.id == waiter);
    let may_take = is_waiting && d.view.is_of_current_turn(&bundle) && d.view.is_live();
    if let Some(id) = claim.filter(|id| may_take && !claim::is_reserved(d, id)) {
        let rows = claim::open_rows(&bundle, &id);
        claim::finalize(d, &rows, None);
        d.delete_waiters(pending_id);
        turn::settle_state(d);
        if let Some(deadline) = deadline {
            watchdog::arm(d, pending_id, deadline)?;
        }
    }
    let bundle = d.bundle(pending_id)?;
    Ok(Effect::Outcome(d.view.outcome(&bundle)))
}

/// The response stands.
pub(super) fn finalize(d: &mut Draft, pending_id: &PendingId, id: &ClaimId) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    let rows = claim::open_rows(&bundle, id);
    if rows.is_empty() || claim::is_reserved(d, id) {
        return Err(Refusal::Stale);
    }
    claim::finalize(d, &rows, None);
    d.delete_waiters(pending_id);
    turn::settle_state(d);
    Ok(Effect::Done)
}

/// Nobody took the response in time: answerable again, while its turn is current and its session lives.
pub(super) fn restore(d: &mut Draft, pending_id: &PendingId, id: &ClaimId) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    let rows = claim::open_rows(&bundle, id);
    if rows.is_empty() || claim::is_reserved(d, id) {
        return Err(Refusal::Stale);
    }
    if !d.view.is_of_current_turn(&bundle) || !d.view.is_live() {
        claim::retire(d, &rows, None);
        return Ok(Effect::Unchanged);
    }
    claim::restore(d, pending_id, &rows);
    turn::settle_state(d);
    Ok(Effect::Done)
}
