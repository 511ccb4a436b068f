//! Histories that are made up: one that is true, and five that the checker has to find wrong. They are checked before
//! every run. May import: history, search, follow, totals, agent.

use super::agent::{Dispatch, Mood};
use super::follow::{Projection, Shown};
use super::history::{Call, Op, Seen, Told};
use super::search;
use super::totals;

/// Names of what the checker took for something else than it is.
pub fn misjudged() -> Vec<String> {
    let is_good = [("a true history", truth())];
    let is_bad =
        [("a double win", double_win()), ("a lost acknowledgement", lost()), ("a revived bundle", revived())];
    let mut wrong: Vec<_> = is_good.into_iter().filter(|(_, ops)| search::check(ops).is_err()).collect();
    wrong.extend(is_bad.into_iter().filter(|(_, ops)| search::check(ops) != Err(search::Broken::None)));
    let mut wrong: Vec<_> = wrong.into_iter().map(|(name, _)| format!("planted: {name}")).collect();
    if totals::dispatched_wrongly(&truth(), &[dispatch(Mood::Refuses), dispatch(Mood::Takes)]).is_some() {
        wrong.push("planted: a refused dispatch and one that was taken".into());
    }
    if totals::dispatched_wrongly(&truth(), &[dispatch(Mood::Takes), dispatch(Mood::Hangs)]).is_none() {
        wrong.push("planted: a double dispatch".into());
    }
    let (one, two) = (projection("2 9", None), projection("3 1", Some("CLARIFICATION")));
    if !ends_well(&[&two, &one], &two) || ends_well(&[&one, &two], &one) || ends_well(&[&one], &two) {
        wrong.push("planted: a revision that goes back".into());
    }
    if ends_well(&[&one, &projection("2 9", Some("CLARIFICATION"))], &one) {
        wrong.push("planted: a revision of two projections".into());
    }
    wrong
}

fn projection(revision: &str, action: Option<&str>) -> Projection {
    Projection { revision: revision.parse().unwrap(), action: action.map(str::to_owned) }
}

/// Whether a subscriber that heard those shows what is derived at the end.
fn ends_well(told: &[&Projection], derived: &Projection) -> bool {
    let mut shown = Shown::default();
    told.iter().for_each(|told| shown.hear("session", told));
    shown.is("session", derived) && shown.wrong.is_empty()
}

fn dispatch(mood: Mood) -> Dispatch {
    Dispatch { pending_id: "p".into(), text: Some("one".into()), mood }
}

/// Calls one after the other.
fn ops(calls: Vec<(Call, Told)>) -> Vec<Op> {
    let op = |(number, (call, told)): (usize, (Call, Told))| {
        let invoked_ns = 10 * u64::try_from(number).unwrap();
        let returned_ns = (!matches!(told, Told::Info(_))).then_some(invoked_ns + 5);
        let (client, bundle) = ("planted".into(), "b".into());
        Op { number, client, bundle, call, invoked_ns, returned_ns, told }
    };
    calls.into_iter().enumerate().map(op).collect()
}

fn asked() -> (Call, Told) {
    (Call::Ask, Told::Asked { is_new: true, outcome: "PENDING".into() })
}

fn answer(text: &str) -> (Call, Told) {
    (Call::Answer(text.into()), Told::Accepted { is_replayed: false })
}

fn conflict(text: &str, reason: &str, winner: Option<&str>) -> (Call, Told) {
    (Call::Answer(text.into()), Told::Conflict { reason: reason.into(), winner: winner.map(str::to_owned) })
}

fn read(state: &str, outcome: &str, text: Option<&str>) -> (Call, Told) {
    let seen = Seen { state: Some(state.into()), outcome: outcome.into(), text: text.map(str::to_owned) };
    (Call::Read, Told::Seen(seen))
}

fn truth() -> Vec<Op> {
    ops(vec![
        asked(),
        (Call::Answer("zero".into()), Told::Info("cut".into())),
        read("DELIVERY_CLAIMED", "PENDING", None),
        read("ACTIVE_DETACHED", "PENDING", None),
        answer("one"),
        conflict("two", "TERMINAL", Some("ANSWERED")),
        (Call::NewTurn, Told::Done),
        read("TERMINAL", "ANSWERED", Some("one")),
    ])
}

fn double_win() -> Vec<Op> {
    ops(vec![asked(), answer("one"), answer("two"), read("TERMINAL", "ANSWERED", Some("two"))])
}

fn lost() -> Vec<Op> {
    ops(vec![asked(), answer("one"), read("ACTIVE_DETACHED", "PENDING", None)])
}

fn revived() -> Vec<Op> {
    ops(vec![
        asked(),
        (Call::NewTurn, Told::Done),
        conflict("one", "SUPERSEDED", None),
        read("ACTIVE_DETACHED", "PENDING", None),
        answer("two"),
    ])
}
