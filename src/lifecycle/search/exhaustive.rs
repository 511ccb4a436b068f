//! The bounds of the search. Every test prints what it saw. May import: ids and the rest of lifecycle.

use std::time::Instant;

use crate::lifecycle::decide;

use super::legacy;
use super::walk::{Broken, Found, walk};
use super::world::{Bounds, World};

/// What CI walks: three turns, two bundles of two questions.
pub(super) const BOUNDS: Bounds = Bounds {
    turns: 3,
    bundles: 2,
    questions: 2,
    waiters: 1,
    has_executor: true,
    has_watchdog: false,
    has_deletes: false,
    has_extras: false,
    has_states: false,
    is_pulled: false,
};

#[expect(clippy::disallowed_methods, reason = "it says how long it took; nothing rests on it")]
fn explore(name: &str, start: World, bounds: &Bounds) -> Found {
    let clock = Instant::now();
    let found = walk(start, bounds, decide);
    let found = found.unwrap_or_else(|Broken { what, trace }| panic!("{name}: {what}\n{trace}"));
    let Found { states, edges, depth } = found;
    println!("{name}: states={states} edges={edges} depth={depth} seconds={:.1}", clock.elapsed().as_secs_f64());
    found
}

#[test]
fn no_reachable_state_breaks_an_invariant() {
    let found = explore("3 turns x 2 bundles x 2 questions", World::new(&BOUNDS), &BOUNDS);
    assert!(found.states > 10_000, "the search stopped early: {found:?}");
}

#[test]
fn nor_without_an_executor() {
    let bounds = Bounds { turns: 2, has_executor: false, waiters: 2, ..BOUNDS };
    explore("no executor, 2 turns x 2 bundles, 2 waiters", World::new(&bounds), &bounds);
}

#[test]
fn nor_with_watchdogs_permissions_and_operators() {
    let bounds = Bounds { bundles: 1, has_watchdog: true, has_extras: true, ..BOUNDS };
    explore("watchdogs and operators, 3 turns x 1 bundle", World::new(&bounds), &bounds);
}

#[test]
fn nor_whatever_a_runtime_says_of_its_session() {
    let bounds = Bounds { turns: 2, bundles: 1, questions: 1, has_watchdog: true, has_states: true, ..BOUNDS };
    explore("states, 2 turns x 1 bundle x 1 question", World::new(&bounds), &bounds);
}

#[test]
fn nor_where_workers_come_for_dispatches() {
    let bounds = Bounds { bundles: 1, is_pulled: true, ..BOUNDS };
    explore("workers, 3 turns x 1 bundle", World::new(&bounds), &bounds);
}

#[test]
fn nor_when_rows_and_messages_are_deleted() {
    let bounds = Bounds { turns: 2, questions: 1, has_watchdog: true, has_deletes: true, ..BOUNDS };
    explore("deletions, 2 turns x 2 bundles x 1 question", World::new(&bounds), &bounds);
}

#[test]
fn nor_in_a_session_that_was_imported_half_decided() {
    explore("imported, 3 turns x 1 bundle beside it", legacy::world(&BOUNDS), &BOUNDS);
}

/// `make search`: all that can happen at once, and one turn more.
#[test]
#[ignore = "minutes; run by make"]
fn no_state_of_a_larger_world_breaks_an_invariant() {
    let rows = Bounds { turns: 2, has_watchdog: true, has_deletes: true, ..BOUNDS };
    explore("deletions, 2 turns x 2 bundles x 2 questions", World::new(&rows), &rows);
    let more = Bounds { turns: 4, ..BOUNDS };
    explore("4 turns x 2 bundles x 2 questions", World::new(&more), &more);
    let states = Bounds { bundles: 1, has_watchdog: true, has_extras: true, has_states: true, ..BOUNDS };
    explore("states, 3 turns x 1 bundle", World::new(&states), &states);
    let pulled = Bounds { is_pulled: true, ..BOUNDS };
    explore("workers, 3 turns x 2 bundles", World::new(&pulled), &pulled);
    let all = Bounds { turns: 3, has_watchdog: true, has_deletes: true, has_extras: true, ..BOUNDS };
    explore("everything, 3 turns x 2 bundles x 2 questions", World::new(&all), &all);
    let deleted = Bounds { has_deletes: true, ..BOUNDS };
    explore("deletions in an imported session", legacy::world(&deleted), &deleted);
}
