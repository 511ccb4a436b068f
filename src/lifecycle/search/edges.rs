//! What one step may do: to which rows, to which turn, and what it announces. Everything else stays byte-equal.
//! May import: ids and the rest of lifecycle.

use crate::ids::{MessageId, PendingId};
use crate::lifecycle::{Bundle, Decision, EventKind, Question, SessionView};

use super::rows::{RowChange, row_change};
use super::rules::{self, ensure};
use super::step::{Step, T, bundle_at, turn_at};
use super::world::{Reply, World};

/// Checks a step that was taken.
pub(super) fn check(before: &World, step: Step, decision: &Decision, after: &World) -> Result<(), String> {
    if step == Step::Remove {
        let left = SessionView { task: None, ..after.view.clone() };
        return ensure(left == SessionView::default(), "something is left of a session that was deleted");
    }
    let changed = rows(before, step, after)?;
    for old in &before.view.bundles {
        let is_same =
            after.view.bundle(&old.pending_id).is_none_or(|new| rules::turn_of(new) == rules::turn_of(old));
        ensure(is_same, "INV-31: a bundle went to another turn")?;
    }
    announcements(decision, &changed, before, after)?;
    authority(before, step, after)?;
    projection(before, decision, after)?;
    others(before, step, after)?;
    match step {
        Step::Restore(b) => restored(before, &bundle_at(before, b), after),
        Step::Report(t) if before.is_rejected(t) => rolled_back(before, t.0, after),
        Step::GiveUp(t) | Step::Revoke(t) => rolled_back(before, t.0, after),
        Step::Publish(t) => published(before, t.0, after),
        Step::Mark(_) | Step::Claim(..) => {
            let is_durable = rules::reserved(&after.view).is_some_and(rules::is_authoritative);
            ensure(is_durable, "INV-10: an attempt left no marker")
        }
        _ => Ok(()),
    }
}

/// Each row that changed, and how.
pub(super) type Changed = Vec<(MessageId, RowChange)>;

fn rows(before: &World, step: Step, after: &World) -> Result<Changed, String> {
    let mut changed = Vec::new();
    for bundle in &before.view.bundles {
        for old in &bundle.questions {
            match after.view.question(&old.id) {
                None => ensure(is_deletion(before, step, old), "INV-30: a row is gone")?,
                Some(new) => {
                    let Some(change) = row_change(old, new) else { continue };
                    if !is_allowed(before, step, bundle, change, after) {
                        return Err(format!("INV-14, 15, 17: a row that is not this step's became {change:?}"));
                    }
                    changed.push((old.id.clone(), change));
                }
            }
        }
    }
    let fresh = after.view.bundles.iter().filter(|bundle| before.view.bundle(&bundle.pending_id).is_none());
    let is_asked = matches!(step, Step::Ask { .. });
    ensure(fresh.count() == usize::from(is_asked), "a bundle came from nowhere, or did not come")?;
    Ok(changed)
}

fn is_deletion(before: &World, step: Step, row: &Question) -> bool {
    matches!(step, Step::Delete(b, n) if bundle_at(before, b).questions[n].id == row.id)
}

fn is_allowed(before: &World, step: Step, bundle: &Bundle, change: RowChange, after: &World) -> bool {
    use RowChange as C;
    let view = &before.view;
    let named = |b| bundle_at(before, b).pending_id == bundle.pending_id;
    let is_active = rules::is_active(view, bundle);
    let is_active_after = after.view.bundle(&bundle.pending_id).is_some_and(|b| rules::is_active(&after.view, b));
    let is_held = rules::is_held(view, bundle);
    match step {
        Step::AskAgain(b) | Step::Await(b) => named(b) && change == C::Attached,
        Step::Drop(b) => named(b) && change == C::Detached && is_active,
        Step::Received(b) => named(b) && change == C::Received,
        Step::Detach(_) | Step::Complete(_) | Step::CancelTurn(_) | Step::Ready { .. } => {
            is_active && change == C::Detached
        }
        Step::Respond(b) => named(b) && change == C::Claimed,
        Step::Skip(b) => named(b) && matches!(change, C::Claimed | C::Skipped),
        Step::Confirm(b) | Step::Finalize(b) => named(b) && change == C::Finalized && !is_held,
        Step::Restore(b) => named(b) && matches!(change, C::Restored | C::Retired) && !is_held,
        Step::Cancel(b) => named(b) && change == C::Cancelled,
        Step::Accept => change == C::Retired,
        Step::Ask { .. } => false,
        Step::Expire => change == C::Expired,
        Step::End(_) => change == C::Retired || (change == C::Expired && is_active),
        Step::GiveUp(t) | Step::Revoke(t) | Step::Report(t) if is_undone(before, step, t) => {
            // A bundle whose waiter left while an attempt stood comes back detached.
            change == C::Restored && is_held || change == C::Detached && is_active_after
        }
        Step::Report(t) if before.reply(&turn_at(before, t).id) == Some(Reply::Accepted) => false,
        Step::GiveUp(_) | Step::Revoke(_) | Step::Report(_) | Step::Lapse(_) | Step::Publish(_) => {
            change == C::Finalized && is_held
        }
        Step::Mark(t) | Step::Claim(t, _) => change == C::Spent && is_fallback(before, t, bundle),
        Step::Settle(_) => change == C::Settled,
        _ => false,
    }
}

/// The turn is a fallback that tells that bundle's answer.
fn is_fallback(before: &World, t: T, bundle: &Bundle) -> bool {
    let source = turn_at(before, t).reservation.and_then(|reservation| reservation.source);
    let silent = source.and_then(|source| before.view.turn(&source.turn_id)?.watchdog.clone());
    silent.is_some_and(|watchdog| watchdog.bundles().any(|id| id == &bundle.pending_id))
}

/// The executor proved that it took nothing, and no message says otherwise.
fn is_undone(before: &World, step: Step, t: T) -> bool {
    let is_given_up = matches!(step, Step::GiveUp(_) | Step::Revoke(_));
    (is_given_up || before.is_rejected(t)) && !turn_at(before, t).has_evidence
}

/// INV-18: one event for each row that visibly changed, none for what did not.
fn announcements(decision: &Decision, changed: &Changed, before: &World, after: &World) -> Result<(), String> {
    let told = |kind: &EventKind| match kind {
        EventKind::MessageUpdated { message_id } => Some(message_id.clone()),
        _ => None,
    };
    let updates: Vec<_> = decision.events.iter().filter_map(|event| told(&event.kind)).collect();
    for (id, change) in changed {
        let count = updates.iter().filter(|told| *told == id).count();
        if count != usize::from(!change.is_silent()) {
            return Err(format!("INV-18: {change:?} was announced {count} times"));
        }
    }
    let is_known = |id: &MessageId| changed.iter().any(|(row, _)| row == id) || !is_question(before, id);
    ensure(updates.iter().all(is_known), "INV-18: an event names a row that did not change")?;
    let is_quiet = before.view == after.view && decision.changes.is_empty();
    ensure(!is_quiet || decision.events.is_empty(), "INV-18: nothing changed, and something was announced")
}

fn is_question(world: &World, id: &MessageId) -> bool {
    world.view.question(id).is_some()
}

/// INV-03, 05, 32, 33: who owns the session moves only where it may.
fn authority(before: &World, step: Step, after: &World) -> Result<(), String> {
    let ordinal = |view: &SessionView| rules::current(view).map(|turn| (turn.ordinal, turn.id.clone()));
    let (old, new) = (ordinal(&before.view), ordinal(&after.view));
    if old != new {
        let is_back = new < old;
        let reserved = rules::reserved(&before.view).cloned();
        let is_empty = reserved.as_ref().is_some_and(|turn| !turn.has_evidence);
        let may_go_back = is_empty && matches!(step, Step::Report(t) if before.is_rejected(t));
        ensure(!is_back || may_go_back, "INV-03: ownership went back without a proven refusal")?;
        let may_move = matches!(step, Step::Accept | Step::Mark(_) | Step::Claim(..) | Step::Append(_));
        let begins = matches!(step, Step::Ask { .. }) && old.is_none();
        let proves = matches!(step, Step::Ask { .. } | Step::Permit) && reserved.is_some();
        ensure(is_back || may_move || begins || proves, "INV-05, 32: ownership moved")?;
    }
    let is_fresh =
        |turn: &&crate::lifecycle::Turn| rules::is_authoritative(turn) && before.view.turn(&turn.id).is_none();
    let entered = after.view.turns.iter().filter(is_fresh).count();
    let is_free = rules::reserved(&before.view).is_none();
    ensure(entered == 0 || is_free, "INV-33: a turn entered while a dispatch was unresolved")?;
    let is_gone = |turn: &&crate::lifecycle::Turn| after.view.turn(&turn.id).is_none();
    let gone: Vec<_> = before.view.turns.iter().filter(is_gone).collect();
    let is_empty = gone.iter().all(|turn| turn.reservation.is_some() && !turn.has_evidence);
    ensure(is_empty, "INV-03: a turn is gone that was no empty reservation")?;
    let may_remove = matches!(step, Step::GiveUp(_) | Step::Revoke(_) | Step::Report(_) | Step::End(_));
    ensure(gone.is_empty() || may_remove, "INV-03: a reservation is gone")
}

/// INV-27: what moves the pending action moves the sequence, and says so.
fn projection(before: &World, decision: &Decision, after: &World) -> Result<(), String> {
    let sequence = |world: &World| world.view.session.as_ref().map(|session| session.sequence);
    let (old, new) = (sequence(before), sequence(after));
    ensure(new >= old, "INV-27: the sequence went back")?;
    let has_moved = rules::pending_action(&before.view) != rules::pending_action(&after.view);
    let told = decision.events.iter().any(|event| event.kind == EventKind::ProjectionChanged);
    ensure(!has_moved || (new > old && told), "INV-27: the pending action moved and the sequence did not")
}

/// INV-37: nobody's wait ends by a step about another bundle, unless a turn or session ends with it.
fn others(before: &World, step: Step, after: &World) -> Result<(), String> {
    let target = match step {
        Step::AskAgain(b) | Step::Await(b) | Step::Drop(b) | Step::Respond(b) | Step::Skip(b) => Some(b),
        Step::Finalize(b) | Step::Arm(b) => Some(b),
        Step::Confirm(b) | Step::Restore(b) | Step::Cancel(b) | Step::Delete(b, _) | Step::Received(b) => Some(b),
        _ => None,
    };
    let Some(target) = target.map(|b| bundle_at(before, b).pending_id) else { return Ok(()) };
    let waits = |world: &World, id: &PendingId| {
        world.view.waiters.iter().filter(|waiter| &waiter.pending_id == id).cloned().collect::<Vec<_>>()
    };
    let mut rest = before.view.bundles.iter().filter(|bundle| bundle.pending_id != target);
    let holds = rest.all(|bundle| waits(before, &bundle.pending_id) == waits(after, &bundle.pending_id));
    ensure(holds, "INV-15: a wait for another bundle changed")
}

/// INV-13: told "retry", exactly the rows taken are pending again; or a newer turn or the session's end stands.
fn restored(before: &World, bundle: &Bundle, after: &World) -> Result<(), String> {
    let taken: Vec<_> = super::step::claimed_rows(bundle).into_iter().map(|q| q.id).collect();
    let is_back = taken.iter().all(|id| after.view.question(id).is_some_and(Question::is_pending));
    let may_be = rules::is_current(&before.view, bundle) && rules::is_live(&before.view);
    ensure(is_back == may_be, "INV-13: a response that nobody took was not restored, or restored in vain")
}

fn rolled_back(before: &World, turn: usize, after: &World) -> Result<(), String> {
    let reserved = before.view.turns[turn].clone();
    let is_gone = after.view.turn(&reserved.id).is_none();
    ensure(is_gone != reserved.has_evidence, "INV-03: a refused reservation stays, or one with a message went")?;
    let source = reserved.reservation.and_then(|reservation| reservation.source);
    let Some(source) = source.filter(|source| source.claim_id.is_some()) else { return Ok(()) };
    let is_back = source.message_ids.iter().all(|id| after.view.question(id).is_some_and(Question::is_pending));
    ensure(is_back == is_gone, "INV-13: a refused dispatch did not give back what it took")
}

/// INV-12: success means durable, final, and announced.
fn published(before: &World, turn: usize, after: &World) -> Result<(), String> {
    let reserved = before.view.turns[turn].clone();
    ensure(after.started.contains(&reserved.id), "INV-12: success before turn.started was announced")?;
    let source = reserved.reservation.and_then(|reservation| reservation.source);
    let rows = source.map(|source| source.message_ids).unwrap_or_default();
    let is_final = |id: &MessageId| after.view.question(id).is_some_and(|q| !q.is_pending() && !q.has_intent());
    ensure(rows.iter().all(is_final), "INV-12: success, and the rows are not final")
}

impl World {
    /// The executor proved that it did not take the turn.
    pub(super) fn is_rejected(&self, t: T) -> bool {
        self.reply(&turn_at(self, t).id) == Some(Reply::Rejected)
    }
}
