//! Who waits for a bundle: registered, dropped, detached (specification, detachment).
//! May import: ids and the rest of lifecycle.

use crate::ids::{PendingId, TurnId, WaiterId};
use crate::lifecycle::{Bundle, BundleState, Change, Effect, Question, Refusal, Waiter};

use super::draft::Draft;
use super::watchdog;

/// Waits again, if there is something to wait for. Nothing here can make a bundle active: it only says who waits.
pub(super) fn register(d: &mut Draft, pending_id: &PendingId, waiter: &WaiterId) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    let is_current = d.view.is_of_current_turn(&bundle) && d.view.is_live();
    match d.view.bundle_state(&bundle) {
        BundleState::ActiveLive | BundleState::ActiveDetached => wait(d, &bundle, waiter),
        BundleState::DeliveryClaimed if is_current => wait(d, &bundle, waiter),
        BundleState::Terminal => {
            if let Some(turn) = bundle.turn_id() {
                watchdog::disarm(d, turn);
            }
        }
        BundleState::DeliveryClaimed | BundleState::SupersededHistory => {}
    }
    let bundle = d.bundle(pending_id)?;
    Ok(Effect::Outcome(d.view.outcome(&bundle)))
}

fn wait(d: &mut Draft, bundle: &Bundle, id: &WaiterId) {
    let waiter = Waiter { id: id.clone(), pending_id: bundle.pending_id.clone(), epoch: d.stamp().epoch };
    let is_same = |w: &&Waiter| w.pending_id == waiter.pending_id && w.id == waiter.id;
    let known = d.view.waiters.iter().find(is_same).cloned();
    if known.as_ref() != Some(&waiter) {
        // Of the same name, but of a server that is gone: this generation takes its place.
        if let Some(gone) = known {
            d.push(Change::DeleteWaiter(gone.pending_id, gone.id));
        }
        d.push(Change::InsertWaiter(waiter));
    }
    for question in bundle.pending().filter(|q| q.is_detached) {
        d.set_question(question, true, |q| q.is_detached = false);
    }
}

/// A wait ended. The last one to go leaves its bundle detached; one whose result arrived leaves proof of that.
pub(super) fn drop_waiter(
    d: &mut Draft,
    pending_id: &PendingId,
    waiter: &WaiterId,
    is_received: bool,
) -> Result<Effect, Refusal> {
    let bundle = d.bundle(pending_id)?;
    let is_known = d.view.waiters.iter().any(|w| &w.pending_id == pending_id && &w.id == waiter);
    if is_known {
        d.push(Change::DeleteWaiter(pending_id.clone(), waiter.clone()));
    }
    if is_received {
        receive(d, &bundle);
    } else if !d.view.has_waiter(pending_id) && d.view.is_active(&bundle) {
        detach_bundle(d, &bundle);
    }
    Ok(Effect::Done)
}

/// A response that may still be given back is no result, whoever says to have received it (INV-11).
fn receive(d: &mut Draft, bundle: &Bundle) {
    let is_open = |q: &Question| q.claim.as_ref().is_some_and(|claim| claim.is_open);
    let is_final = |q: &&Question| !q.is_pending() && !is_open(q);
    for question in bundle.questions.iter().filter(is_final).filter(|q| !q.is_result_received) {
        let updated_at = question.updated_at;
        d.set_question(question, false, |q| {
            q.updated_at = updated_at;
            q.is_result_received = true;
        });
    }
    if let Some(turn) = bundle.turn_id() {
        watchdog::disarm(d, turn);
    }
}

/// Detaches what that turn asked, while it is the current one; a late call for an older turn changes nothing.
pub(super) fn detach(d: &mut Draft, turn: &TurnId) -> Result<Effect, Refusal> {
    if d.view.current_turn().is_none_or(|current| &current.id != turn) {
        return Ok(Effect::Unchanged);
    }
    Ok(if detach_active(d) { Effect::Done } else { Effect::Unchanged })
}

/// Detaches every active bundle; says whether a row flipped (INV-17, INV-18).
pub(super) fn detach_active(d: &mut Draft) -> bool {
    let bundles: Vec<_> = d.view.active_bundles().cloned().collect();
    let flips = bundles.iter().map(|bundle| {
        d.delete_waiters(&bundle.pending_id);
        detach_bundle(d, bundle)
    });
    flips.filter(|has_flipped| *has_flipped).count() > 0
}

/// Detaches active bundles that nobody waits for; says how many.
pub(super) fn detach_ownerless(d: &mut Draft) -> usize {
    let is_ownerless = |bundle: &&Bundle| !d.view.has_waiter(&bundle.pending_id);
    let bundles: Vec<_> = d.view.active_bundles().filter(is_ownerless).cloned().collect();
    bundles.iter().map(|bundle| detach_bundle(d, bundle)).filter(|has_flipped| *has_flipped).count()
}

fn detach_bundle(d: &mut Draft, bundle: &Bundle) -> bool {
    let rows: Vec<_> = bundle.pending().filter(|q| !q.is_detached).collect();
    for question in &rows {
        d.set_question(question, true, |q| q.is_detached = true);
    }
    !rows.is_empty()
}
