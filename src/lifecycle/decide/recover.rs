//! What a dead backend generation left: reservations first, then claims, then waiters (architecture section 7).
//! Only what it owned is touched, and a second run changes nothing (INV-24).
//! May import: ids and the rest of lifecycle.

use crate::ids::MessageId;
use crate::lifecycle::{Bundle, DispatchOutcome, Effect, Question, Recovery, Refusal, Turn};

use super::draft::Draft;
use super::{claim, dispatch, session, turn, waiter};

pub(super) fn recover(d: &mut Draft) -> Result<Effect, Refusal> {
    let mut done = Recovery::default();
    reservations(d, &mut done)?;
    claims(d, &mut done);
    waiters(d, &mut done);
    expired(d, &mut done)?;
    Ok(if done == Recovery::default() { Effect::Unchanged } else { Effect::Recovered(done) })
}

fn reservations(d: &mut Draft, done: &mut Recovery) -> Result<(), Refusal> {
    let turns: Vec<_> = d.view.turns.iter().filter(|turn| is_orphan(d, turn)).cloned().collect();
    for turn in turns {
        check(d, &turn)?;
        if turn.is_empty_reservation() {
            // Nothing left: give back exactly what was taken for it (CP-26).
            let rows = dispatch::source_rows(d, &turn);
            dispatch::delete_reservation(d, &turn);
            give_back(d, &rows, done);
            done.rolled_back += 1;
        } else {
            // It may have reached the agent: never a second time (CP-28).
            let acknowledged = turn.reservation.as_ref().is_some_and(|r| r.is_acknowledged);
            let outcome = if acknowledged { DispatchOutcome::Accepted } else { DispatchOutcome::Unknown };
            dispatch::settle_source(d, &turn, outcome, false);
            dispatch::keep(d, &turn, outcome);
            if turn.end.is_none() {
                // Its agent may work: a session that was over is taken up again.
                turn::start_work(d);
            }
            turn::settle_state(d);
            done.kept += 1;
        }
    }
    Ok(())
}

fn is_orphan(d: &Draft, turn: &Turn) -> bool {
    turn.reservation.as_ref().is_some_and(|r| turn.malformed.is_some() || d.view.dead_epochs.contains(&r.epoch))
}

/// Recovery metadata must name exactly the rows that the claim holds (CP-55).
fn check(d: &Draft, turn: &Turn) -> Result<(), Refusal> {
    let malformed = |reason: String| Refusal::Malformed { row: format!("turn {}", turn.id), reason };
    if let Some(reason) = &turn.malformed {
        return Err(malformed(reason.clone()));
    }
    let Some(source) = turn.reservation.as_ref().and_then(|r| r.source.as_ref()) else { return Ok(()) };
    let held: Vec<&Question> =
        d.view.bundle(&source.pending_id).map(|b| b.claimed().collect()).unwrap_or_default();
    if let Some(stray) = held.iter().find(|q| !source.message_ids.contains(&q.id)) {
        return Err(malformed(format!("its claim does not name message {}", stray.id)));
    }
    let is_held = |id: &&MessageId| held.iter().any(|q| &q.id == *id);
    match source.message_ids.iter().find(|id| source.claim_id.is_some() && !is_held(id)) {
        Some(id) => Err(malformed(format!("its claim names message {id}, which it does not hold"))),
        None => Ok(()),
    }
}

fn claims(d: &mut Draft, done: &mut Recovery) {
    let bundles: Vec<_> = d.view.bundles.iter().filter(|bundle| has_orphan_claim(d, bundle)).cloned().collect();
    for bundle in bundles {
        let rows: Vec<_> = bundle.claimed().cloned().collect();
        give_back(d, &rows, done);
    }
}

fn has_orphan_claim(d: &Draft, bundle: &Bundle) -> bool {
    bundle
        .open_claim()
        .is_some_and(|open| d.view.dead_epochs.contains(&open.epoch) && !claim::is_reserved(d, &open.id))
}

/// A claim that nobody delivered: answerable again while it may be, retired into history else.
fn give_back(d: &mut Draft, rows: &[Question], done: &mut Recovery) {
    let Some(pending_id) = rows.first().map(|row| row.pending_id.clone()) else { return };
    let is_current = d.view.bundle(&pending_id).is_some_and(|bundle| d.view.is_of_current_turn(bundle));
    if is_current && d.view.is_live() {
        claim::restore(d, &pending_id, rows);
        turn::settle_state(d);
        done.restored += 1;
    } else {
        claim::retire(d, rows, None);
        done.retired += 1;
    }
}

/// A session that is over and still holds something as pending, from whatever wrote it so (CP-47).
fn expired(d: &mut Draft, done: &mut Recovery) -> Result<(), Refusal> {
    if d.session()?.state.is_terminal() && session::expire(d)? == Effect::Done {
        done.expired += 1;
    }
    Ok(())
}

/// Waiters died with their server: their bundles are detached once, and say so once (CP-05).
fn waiters(d: &mut Draft, done: &mut Recovery) {
    let gone: Vec<_> = d.view.waiters.iter().filter(|w| d.view.dead_epochs.contains(&w.epoch)).cloned().collect();
    for waiter in gone {
        d.push(crate::lifecycle::Change::DeleteWaiter(waiter.pending_id, waiter.id));
    }
    done.detached += waiter::detach_ownerless(d);
}
