//! What is counted over a whole run: dispatches, lost answers, what the server left, and that it is as small as before.
//! May import: agent, board, history, search.

use std::collections::BTreeMap;

use super::agent::{Dispatch, Mood};
use super::board::Known;
use super::history::{Call, Op, Told, by_bundle};
use super::search;

/// How a bundle was seen last.
fn last(ops: &[Op]) -> Option<(&str, Option<&str>)> {
    let seen = ops.iter().rev().find_map(|op| match (&op.call, &op.told) {
        (Call::Read, Told::Seen(seen)) => Some(seen),
        _ => None,
    });
    seen.map(|seen| (seen.outcome.as_str(), seen.text.as_deref()))
}

/// What is wrong with the dispatches of one bundle: at most one that was not refused (INV-08), of the answer that
/// stands. One whose session ended meanwhile is nobody's any more.
pub fn dispatched_wrongly(ops: &[Op], dispatches: &[Dispatch]) -> Option<String> {
    let taken: Vec<_> = dispatches.iter().filter(|dispatch| dispatch.mood != Mood::Refuses).collect();
    let last = last(ops);
    match taken.as_slice() {
        [] => None,
        [one] => match last {
            Some(("ANSWERED", text)) if one.text.as_deref() == text => None,
            Some(("EXPIRED", _)) => None,
            last => Some(format!("{one:?} was dispatched, and {last:?} stands")),
        },
        more => Some(format!("dispatched {} times: {more:?}", more.len())),
    }
}

/// Each bundle of which no order of calls is true, or whose dispatches are wrong, with its calls.
pub fn wrong_bundles(ops: Vec<Op>, dispatches: Vec<Dispatch>, known: &BTreeMap<String, Known>) -> Vec<String> {
    let mut by_id: BTreeMap<String, Vec<Dispatch>> = BTreeMap::new();
    for dispatch in dispatches {
        by_id.entry(dispatch.pending_id.clone()).or_default().push(dispatch);
    }
    let mut wrong = Vec::new();
    for (key, ops) in with_ends(by_bundle(ops), known) {
        let lines =
            || ops.iter().map(|op| format!("\n  {}", serde_json::to_string(op).unwrap())).collect::<String>();
        if let Err(broken) = search::check(&ops) {
            wrong.push(format!("bundle {key}: no order of its calls is true ({broken:?}){}", lines()));
        }
        let its = known.get(&key).and_then(|known| by_id.get(&known.pending_id));
        let its = its.map(Vec::as_slice).unwrap_or_default();
        if let Some(says) = dispatched_wrongly(&ops, its) {
            wrong.push(format!("bundle {key}: {says}{}", lines()));
        }
    }
    wrong
}

/// The end of a session is about every bundle of it.
fn with_ends(
    mut bundles: BTreeMap<String, Vec<Op>>,
    known: &BTreeMap<String, Known>,
) -> BTreeMap<String, Vec<Op>> {
    let session = |key: &str| known.get(key).map(|known| known.session.clone());
    let is_end = |op: &&Op| op.call == Call::End;
    let ends: Vec<_> = bundles.values().flatten().filter(is_end).cloned().collect();
    let mut of_session: BTreeMap<_, Vec<Op>> = BTreeMap::new();
    ends.into_iter().for_each(|end| of_session.entry(session(&end.bundle)).or_default().push(end));
    for (key, ops) in &mut bundles {
        let ends = of_session.get(&session(key)).into_iter().flatten();
        ops.extend(ends.filter(|end| end.bundle != *key).cloned());
    }
    bundles
}

/// Calls that were begun when everything had been whole for long enough, and were told neither yes nor no (INV-40).
pub fn not_live(ops: &[Op], from_ns: u64) -> Vec<String> {
    let is_none = |op: &&Op| op.invoked_ns >= from_ns && matches!(op.told, Told::Info(_) | Told::Fail(_));
    ops.iter().filter(is_none).map(|op| format!("not live: {}", serde_json::to_string(op).unwrap())).collect()
}

/// Lines of the log in which a defect shows. That a database went away is told as an error too, and is none.
pub fn defects(log: &str) -> Vec<String> {
    let is_defect = |line: &&str| line.contains("panicked") || line.contains("the store broke a promise");
    log.lines().filter(is_defect).map(|line| format!("log: {line}")).collect()
}
