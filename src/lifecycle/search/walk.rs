//! The search: breadth first, so that the trace to a broken invariant is a shortest one.
//! May import: ids and the rest of lifecycle.

use std::collections::HashSet;
use std::fmt::Write;
use std::num::NonZero;

use super::drive::{self, perform};
use super::fingerprint::fingerprint;
use super::step::{Step, steps};
use super::world::{Bounds, Decide, World};
use super::{probes, rules};

/// What a search saw.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) states: usize,
    pub(super) edges: usize,
    pub(super) depth: usize,
}

/// A broken invariant, and the shortest way to it.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) what: String,
    pub(super) trace: String,
}

/// How a state was reached.
struct Origin {
    parent: usize,
    step: Option<Step>,
}

/// A state of the frontier, by its number.
type Node = (usize, World);

/// What one step led to: from where, by what, and the state with its fingerprint or what it broke.
struct Edge {
    parent: usize,
    step: Step,
    to: Result<(u128, World), String>,
}

/// Walks every state within the bounds. The error is the first broken invariant.
pub(super) fn walk(start: World, bounds: &Bounds, decide: Decide) -> Result<Found, Broken> {
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut origins = vec![Origin { parent: 0, step: None }];
    let mut found = Found::default();
    let mut frontier: Vec<Node> = vec![(0, start.clone())];
    while !frontier.is_empty() {
        let edges = expand(&frontier, bounds, decide)
            .map_err(|(node, what)| Broken { trace: trace(&start, &origins, node, None, bounds, decide), what })?;
        let mut next = Vec::new();
        for edge in edges {
            found.edges += 1;
            let broken = |what| Broken {
                trace: trace(&start, &origins, edge.parent, Some(edge.step), bounds, decide),
                what,
            };
            let (print, world) = edge.to.map_err(broken)?;
            if seen.insert(print) {
                next.push((origins.len(), world));
                origins.push(Origin { parent: edge.parent, step: Some(edge.step) });
            }
        }
        found.depth += usize::from(!next.is_empty());
        frontier = next;
    }
    found.states = origins.len();
    Ok(found)
}

/// One layer, on all processors. The order of the edges does not depend on them.
fn expand(frontier: &[Node], bounds: &Bounds, decide: Decide) -> Result<Vec<Edge>, (usize, String)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let size = frontier.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let work: Vec<_> = frontier
            .chunks(size)
            .map(|chunk| scope.spawn(move || chunk.iter().map(|node| expand_one(node, bounds, decide)).collect()))
            .collect();
        let mut edges = Vec::new();
        for part in work {
            let part: Vec<Result<Vec<Edge>, (usize, String)>> = part.join().unwrap();
            for result in part {
                edges.extend(result?);
            }
        }
        Ok(edges)
    })
}

fn expand_one((number, world): &Node, bounds: &Bounds, decide: Decide) -> Result<Vec<Edge>, (usize, String)> {
    rules::check(world).and_then(|()| probes::check(world, decide)).map_err(|what| (*number, what))?;
    let take = |step: Step| {
        let to = perform(world, step, bounds, decide).map(|next| (fingerprint(&next), next));
        Edge { parent: *number, step, to }
    };
    Ok(steps(world, bounds).into_iter().map(take).collect())
}

fn trace(
    start: &World,
    origins: &[Origin],
    end: usize,
    last: Option<Step>,
    bounds: &Bounds,
    decide: Decide,
) -> String {
    let mut path: Vec<Step> = last.into_iter().collect();
    let mut node = end;
    while let Some(step) = origins[node].step {
        path.push(step);
        node = origins[node].parent;
    }
    path.reverse();
    tell(start, &path, bounds, decide)
}

/// The steps in words, with what each led to.
pub(super) fn tell(start: &World, path: &[Step], bounds: &Bounds, decide: Decide) -> String {
    let (mut text, mut world) = (String::new(), start.clone());
    for (n, step) in path.iter().enumerate() {
        let next = perform(&world, *step, bounds, decide);
        let told = next.as_ref().map_or_else(Clone::clone, sum_up);
        let _ = writeln!(text, "{:>3}. {step}\n       {told}", n + 1);
        if let Ok(next) = next {
            world = next;
        }
    }
    text
}

fn sum_up(world: &World) -> String {
    let view = &world.view;
    let mut text = drive::state(world).map_or_else(String::new, |state| format!("{state:?}"));
    let current = rules::current(view).map(|turn| turn.id.clone());
    for (n, turn) in view.turns.iter().enumerate() {
        let mark = if Some(&turn.id) == current.as_ref() { "*" } else { "" };
        let end = if turn.end.is_some() { " ended" } else { "" };
        let reserved = turn.reservation.as_ref().map_or_else(String::new, |r| {
            format!(" reserved(attempted {}, acknowledged {})", r.is_attempted, r.is_acknowledged)
        });
        let _ = write!(text, "; turn {}{mark}{end}{reserved}", n + 1);
    }
    for (n, bundle) in view.bundles.iter().enumerate() {
        let rows: Vec<_> = bundle.questions.iter().map(|q| q.status.as_str()).collect();
        let waiting = rules::waiters(view, bundle);
        let _ = write!(text, "; bundle {} {:?} {rows:?} {waiting} waiting", n + 1, view.bundle_state(bundle));
    }
    text
}
