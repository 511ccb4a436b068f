//! Long traces through larger worlds, chosen at random and shrunk when they break. What failed once is kept in
//! `proptest-regressions/` and is tried first from then on. May import: ids and the rest of lifecycle.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use crate::lifecycle::{Command, Refusal, decide};

use super::drive::perform;
use super::exhaustive::BOUNDS;
use super::step::{B, Step, steps};
use super::walk::tell;
use super::world::{Bounds, Decide, World};
use super::{legacy, probes, rules};

pub(super) const LARGE: Bounds = Bounds {
    turns: 8,
    bundles: 5,
    questions: 3,
    waiters: 3,
    has_watchdog: true,
    has_deletes: true,
    has_extras: true,
    has_states: true,
    ..BOUNDS
};

/// What a trace begins with.
pub(super) const START: [fn(&Bounds) -> World; 3] = [World::new, World::unborn, legacy::world];

/// The step that a number chooses. Ends are rare, so that traces get long.
pub(super) fn choose(world: &World, bounds: &Bounds, number: u16) -> Step {
    let all = steps(world, bounds);
    let (number, rest) = (usize::from(number) % 1_024, usize::from(number) / 1_024);
    let is_rare = |step: &&Step| rest == 0 || !matches!(step, Step::End(_) | Step::Remove | Step::Delete(..));
    let open: Vec<_> = all.iter().filter(is_rare).collect();
    *open[number % open.len()]
}

/// Runs a trace; the error names what broke, with the steps in words.
fn run(start: &World, bounds: &Bounds, numbers: &[u16], decide: Decide) -> Result<(), String> {
    let (mut world, mut path) = (start.clone(), Vec::new());
    for number in numbers {
        let step = choose(&world, bounds, *number);
        path.push(step);
        let next = perform(&world, step, bounds, decide);
        let checked = next.and_then(|next| {
            rules::check(&next)?;
            probes::check(&next, decide)?;
            Ok(next)
        });
        world = checked.map_err(|what| format!("{what}\n{}", tell(start, &path, bounds, decide)))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 160, ..Config::default() })]

    #[test]
    fn no_trace_of_a_larger_world_breaks_an_invariant(
        numbers in vec(any::<u16>(), 1..70),
        start in 0..START.len(),
        has_executor in prop::bool::weighted(0.8),
        is_pulled in any::<bool>(),
    ) {
        let bounds = Bounds { has_executor, is_pulled, ..LARGE };
        let start = START[start](&bounds);
        run(&start, &bounds, &numbers, decide).map_err(TestCaseError::fail)?;
    }
}

/// CP-47: by a command of its own, or by the next start.
#[test]
fn what_is_pending_in_a_session_that_was_ended_without_expiring_expires() {
    for step in [Step::Expire, Step::Restart] {
        let world = perform(&legacy::over(&LARGE), step, &LARGE, decide).unwrap();
        rules::check(&world).and_then(|()| probes::check(&world, decide)).unwrap();
    }
}

/// Found by random traces: of imported bundles, a row is deleted by which the rest would come to a turn, or lose it.
#[test]
fn no_deletion_takes_a_bundle_to_another_turn() {
    let world = perform(&legacy::world(&LARGE), Step::Respond(B(0)), &LARGE, decide).unwrap();
    for (bundle, row) in [(0, 0), (1, 0), (1, 1)] {
        let command = Command::DeleteMessage(world.view.bundles[bundle].questions[row].id.clone());
        assert_eq!(decide(&world.view, &command, &world.stamp()), Err(Refusal::StateNotAllowed), "{bundle} {row}");
    }
}
