//! Two sessions side by side: what is decided for one names nothing of the other (INV-39, INV-15).
//! May import: ids and the rest of lifecycle.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use crate::ids::SessionId;
use crate::lifecycle::{Change, SessionView, decide};

use super::drive::{command_at, perform};
use super::random::{LARGE, choose};
use super::rules::ensure;
use super::world::World;

/// Applied to the other session's memory, a change must find nothing there to change.
fn is_foreign(change: &Change, other: &SessionView) -> Result<(), String> {
    let is_fresh = match change {
        Change::InsertTurn(turn) => other.turn(&turn.id).is_none(),
        Change::InsertQuestion(row) => {
            other.question(&row.id).is_none() && other.bundle(&row.pending_id).is_none()
        }
        Change::InsertMessage(row) => other.message.as_ref().is_none_or(|message| message.id != row.id),
        Change::InsertWaiter(waiter) => other.bundle(&waiter.pending_id).is_none(),
        Change::InsertPermission(permission, ..) => other.turn(&permission.turn_id).is_none(),
        Change::InsertKey(_) | Change::TouchTask(_) => true,
        Change::InsertSession(session) | Change::SetSession(session) => {
            other.session.as_ref().is_none_or(|other| other.id != session.id)
        }
        // It names none: a store deletes the one whose transaction it is.
        Change::DeleteSession => true,
        _ => {
            let mut touched = other.clone();
            touched.apply(change);
            touched == *other
        }
    };
    ensure(is_fresh, &format!("INV-39: a decision for one session changes the other: {change:?}"))
}

fn run(numbers: &[(bool, u16)]) -> Result<(), String> {
    let mut worlds = [World::new(&LARGE), World::new(&LARGE)];
    worlds[1].tick = 1_000_000;
    worlds[1].view.session.as_mut().unwrap().id = SessionId::new("another session");
    for (is_second, number) in numbers {
        let [one, two] = &worlds;
        let (world, other) = if *is_second { (two, one) } else { (one, two) };
        let step = choose(world, &LARGE, *number);
        if let Some(command) = command_at(world, step, &LARGE, world.tick + 1) {
            let decision = decide(&world.view, &command, &world.stamp_after(1));
            let changes = decision.map(|decision| decision.changes).unwrap_or_default();
            changes.iter().try_for_each(|change| is_foreign(change, &other.view))?;
        }
        worlds[usize::from(*is_second)] = perform(world, step, &LARGE, decide)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 60, ..Config::default() })]

    #[test]
    fn a_command_on_one_session_leaves_the_other_as_it_is(numbers in vec(any::<(bool, u16)>(), 1..60)) {
        run(&numbers).map_err(TestCaseError::fail)?;
    }
}
