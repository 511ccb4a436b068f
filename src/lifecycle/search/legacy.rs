//! A session as an import may leave it: a bundle half decided, and rows that no turn owns (INV-31, decisions 11, 43).
//! May import: ids and the rest of lifecycle.

use serde_json::Map;

use crate::ids::{MessageId, Micros, PendingId, TurnId};
use crate::lifecycle::{Answer, Bundle, Question, SessionState, Status, decide};

use super::drive::{perform, questions};
use super::step::Step;
use super::world::{Bounds, World};

/// In its first turn: a bundle with one sibling answered long ago and one pending row without a turn id; a bundle of
/// two turns, and one of a turn that is not there, which nothing may ever touch.
pub(super) fn world(bounds: &Bounds) -> World {
    let mut world = perform(&World::new(bounds), Step::Accept, bounds, decide).unwrap();
    let turn = world.view.turns[0].id.as_str().to_owned();
    let mut partial = bundle("partial", [&turn, ""]);
    partial.questions[0].status = Status::Answered;
    partial.questions[0].answer = Some(Answer { option_ids: Vec::new(), custom_text: Some("long ago".into()) });
    partial.questions[1].is_status_absent = true;
    world.view.bundles =
        vec![partial, bundle("torn", [&turn, "elsewhere"]), bundle("orphan", ["nowhere", "nowhere"])];
    world.asked = 1;
    if let Some(session) = &mut world.view.session {
        session.state = SessionState::WaitingForInput;
    }
    world
}

/// The same, ended by something that expired nothing (CP-47).
pub(super) fn over(bounds: &Bounds) -> World {
    let mut world = world(bounds);
    if let Some(session) = &mut world.view.session {
        session.state = SessionState::Completed;
    }
    world
}

fn bundle(name: &str, turns: [&str; 2]) -> Bundle {
    let specs = questions(2);
    let rows = (0i64..).zip(turns).zip(specs).map(|((index, turn), spec)| Question {
        id: MessageId::new(format!("{name} {index}")),
        turn_id: TurnId::new(turn),
        created_at: Micros(1),
        updated_at: Micros(1),
        pending_id: PendingId::new(name),
        index,
        total: 2,
        spec,
        context: String::new(),
        status: Status::Pending,
        is_status_absent: false,
        is_detached: true,
        answer: None,
        reject_reason: String::new(),
        claim: None,
        dispatched_turn_id: None,
        dispatch_outcome: None,
        is_result_received: false,
        is_watchdog_spent: false,
        rest: Map::new(),
    });
    Bundle { pending_id: PendingId::new(name), questions: rows.collect() }
}
