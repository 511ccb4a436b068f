//! The check of the checks: each planted fault must be found, and is named with what found it.
//! May import: ids and the rest of lifecycle.

use super::exhaustive::BOUNDS;
use super::walk::walk;
use super::world::{Bounds, Decide, World};
use super::{legacy, tampered as t};

const SMALL: Bounds = Bounds { bundles: 1, ..BOUNDS };

const FAULTS: [(&str, Decide); 19] = [
    ("respond does not ask whose turn it is", t::no_turn_predicate),
    ("recovery rolls an attempted reservation back", t::recovery_ignores_attempts),
    ("recovery forgets a claim that nobody delivered", t::recovery_forgets_claims),
    ("recovery retires a claim of the current turn", t::recovery_retires_all),
    ("a claim is made without its intent", t::no_intent),
    ("a restore reopens decided siblings", t::restore_reopens_siblings),
    ("a confirmation does not retire the intent", t::confirm_keeps_intent),
    ("a new turn has no authority", t::new_turn_has_no_authority),
    ("a new turn keeps the old one's claims", t::new_turn_keeps_claims),
    ("detaching twice announces twice", t::detach_announces_twice),
    ("a session's end does not expire", t::end_does_not_expire),
    ("the successor is not reserved with the claim", t::claim_without_reservation),
    ("an acknowledgement announces no start", t::acknowledge_is_silent),
    ("the attempt marker is not written", t::no_attempt_marker),
    ("an unknown outcome is taken for a refusal", t::unknown_is_refused),
    ("a rollback does not restore the claim", t::rollback_keeps_claim),
    ("a claim does not keep others out", t::claims_do_not_exclude),
    ("deleting a message takes its evidence back", t::evidence_fades),
    ("a rollback forgets who left meanwhile", t::rollback_forgets_detached),
];

/// The first thing found, from the smallest world on.
fn find(fault: Decide) -> Option<(String, usize)> {
    let deleting = Bounds { has_deletes: true, turns: 2, ..SMALL };
    let worlds =
        [(World::new(&SMALL), SMALL), (legacy::world(&BOUNDS), BOUNDS), (World::new(&deleting), deleting)];
    worlds.into_iter().find_map(|(start, bounds)| walk(start, &bounds, fault).err()).map(|broken| {
        let steps = broken.trace.lines().count() / 2;
        (broken.what, steps)
    })
}

#[test]
fn every_planted_fault_is_found() {
    let survivors: Vec<_> = FAULTS
        .iter()
        .filter(|(name, fault)| {
            let found = find(*fault);
            match &found {
                Some((what, steps)) => println!("found: {name}: after {steps} steps: {what}"),
                None => println!("NOT FOUND: {name}"),
            }
            found.is_none()
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(survivors.is_empty(), "these faults survive: {survivors:?}");
    println!("faults={} found={}", FAULTS.len(), FAULTS.len());
}
