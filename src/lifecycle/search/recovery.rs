//! A crash between two steps, and the start that follows it. Recovery is one transaction a session, so a start that
//! is itself cut short is the same crash again; what is left to show is that a second start finds nothing to do.
//! May import: ids and the rest of lifecycle.

use crate::ids::Epoch;
use crate::lifecycle::{Command, Decision, DispatchOutcome, EventKind, Question, SessionView, Turn};

use super::drive::state;
use super::rows::{RowChange, row_change};
use super::rules::{self, ensure};
use super::world::{Decide, World};

/// The server is gone with all that it had in memory; the next one recovers before it admits anything.
pub(super) fn restart(world: &World, decide: Decide) -> Result<World, String> {
    let mut crashed = world.clone();
    crashed.view.dead_epochs.push(world.epoch);
    crashed.epoch = Epoch(world.epoch.0 + 1);
    crashed.calls.clear();
    let (mut next, decision) = recover(&crashed, decide)?;
    let (again, _) = recover(&next, decide)?;
    ensure(again.view == next.view, "INV-24: a second start changes what the first one left")?;
    check(&crashed, &next, &decision)?;
    next.view.dead_epochs.clear();
    next.stated = next.stated.filter(|_| state(&next) == state(world));
    next.started.retain(|id| next.view.turn(id).is_some());
    next.completed.retain(|id| next.view.turn(id).is_some());
    Ok(next)
}

fn recover(world: &World, decide: Decide) -> Result<(World, Decision), String> {
    let mut next = world.clone();
    next.tick += 1;
    let decision = decide(&world.view, &Command::Recover, &next.stamp())
        .map_err(|refusal| format!("INV-23: recovery refused the start: {refusal:?}"))?;
    next.commit(&decision)?;
    Ok((next, decision))
}

fn check(crashed: &World, next: &World, decision: &Decision) -> Result<(), String> {
    let (old, new) = (&crashed.view, &next.view);
    ensure(rules::reserved(new).is_none(), "INV-34: a reservation outlived its start")?;
    ensure(new.waiters.is_empty(), "INV-37: a waiter outlived its server")?;
    old.turns.iter().try_for_each(|turn| check_turn(turn, new))?;
    for bundle in &old.bundles {
        for question in &bundle.questions {
            let now = new.question(&question.id).ok_or("INV-30: recovery removed a row")?;
            check_row(old, question, now, new, decision)?;
        }
    }
    ensure(new.bundles.len() == old.bundles.len(), "recovery made a bundle")
}

/// CP-26 and CP-28: an empty reservation that was never tried goes, every other one stays.
fn check_turn(turn: &Turn, new: &SessionView) -> Result<(), String> {
    let kept = new.turn(&turn.id);
    let Some(reservation) = &turn.reservation else {
        return ensure(kept.is_some(), "INV-03: recovery removed a turn");
    };
    let may_go = !reservation.is_attempted && !turn.has_evidence;
    ensure(kept.is_none() == may_go, "INV-08: recovery kept an untried reservation, or removed a tried one")?;
    let known = if reservation.is_acknowledged { DispatchOutcome::Accepted } else { DispatchOutcome::Unknown };
    let outcome = kept.and_then(|turn| turn.dispatch_outcome);
    ensure(may_go || outcome == Some(known), "recovery says of a dispatch what nobody knows")?;
    let may_work = kept.is_some_and(|turn| turn.end.is_none());
    ensure(!may_work || rules::is_live(new), "an agent may work in a session that is over")
}

/// What a row must become, from what was durable and what is current now.
fn check_row(
    old: &SessionView,
    row: &Question,
    now: &Question,
    new: &SessionView,
    decision: &Decision,
) -> Result<(), String> {
    let change = row_change(row, now);
    let bundle = old.bundle(&row.pending_id).ok_or("no bundle")?;
    let is_kept = rules::is_held(old, bundle) && rules::reserved(old).is_some_and(rules::is_authoritative);
    let is_current = rules::is_current(new, bundle) && rules::is_live(new);
    let due = match (row.has_intent(), row.is_pending()) {
        (true, _) if is_kept => Some(RowChange::Finalized),
        (true, _) if is_current => Some(RowChange::Restored),
        (true, _) => Some(RowChange::Retired),
        (false, true) if is_current && !row.is_detached => Some(RowChange::Detached),
        // CP-47: something wrote an end without expiring.
        (false, true) if rules::is_current(new, bundle) && !rules::is_live(new) => Some(RowChange::Expired),
        _ => None,
    };
    if change != due {
        return Err(format!("recovery made {change:?} of a row where {due:?} is due"));
    }
    ensure(!now.has_intent(), "INV-34: a claim outlived its start")?;
    ensure(!now.is_pending() || !is_current || now.is_detached, "CP-05: a bundle that nobody waits for")?;
    let is_it = |kind: &EventKind| kind == &EventKind::MessageUpdated { message_id: row.id.clone() };
    let told = decision.events.iter().filter(|event| is_it(&event.kind)).count();
    ensure(told == usize::from(due.is_some()), "INV-18: recovery announced a row not once")
}
