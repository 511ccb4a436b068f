//! Whether there is an order of the calls about one bundle in which each was told the truth (Wing and Gong, with what
//! was tried before remembered). May import: history, model.

use std::collections::HashSet;

use super::history::{Op, Told};
use super::model::{Model, Phase};

/// Calls about one bundle that are searched, at most.
pub const CALLS_MAX: usize = 40;
/// Places that a search may visit.
const VISITS_MAX: usize = 2_000_000;

/// Why there is no such order.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    None,
    TooManyCalls(usize),
    TooManyOrders,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    model: Model,
    phases: Vec<Phase>,
}

/// Searches an order for calls that are all about one bundle. What had no effect, and what is unknown and could have
/// none, is left out.
pub fn check(ops: &[Op]) -> Result<(), Broken> {
    use super::history::Call::{Read, Wait};
    let is_moot = |op: &&Op| {
        matches!(op.told, Told::Fail(_)) || (matches!(op.told, Told::Info(_)) && matches!(op.call, Read | Wait))
    };
    let ops: Vec<Op> = ops.iter().filter(|op| !is_moot(op)).cloned().collect();
    if ops.len() > CALLS_MAX {
        return Err(Broken::TooManyCalls(ops.len()));
    }
    let mut tried = HashSet::new();
    let mut open = vec![Place { model: Model::NEW, phases: vec![Phase::Waits; ops.len()] }];
    while let Some(mut place) = open.pop() {
        place.look(&ops);
        if place.is_end(&ops) {
            return Ok(());
        }
        if tried.len() > VISITS_MAX {
            return Err(Broken::TooManyOrders);
        }
        if tried.insert(place.clone()) {
            place.go_on(&ops, &mut open);
        }
    }
    Err(Broken::None)
}

impl Place {
    fn with(&self, model: Model, number: usize, phase: Phase) -> Self {
        let mut phases = self.phases.clone();
        phases[number] = phase;
        Self { model, phases }
    }

    fn is_over(&self, number: usize) -> bool {
        matches!(self.phases[number], Phase::Over | Phase::Left)
    }

    /// Nothing can happen after this unless what returned then has happened.
    fn horizon(&self, ops: &[Op]) -> u64 {
        let awaited = ops.iter().enumerate().filter(|(number, _)| !self.is_over(*number));
        awaited.filter_map(|(_, op)| op.returned_ns).min().unwrap_or(u64::MAX)
    }

    fn is_end(&self, ops: &[Op]) -> bool {
        ops.iter().enumerate().all(|(number, op)| self.is_over(number) || op.returned_ns.is_none())
    }

    /// Whether a call that did nothing so far can end with nothing done.
    fn may_end(&self, number: usize, ops: &[Op]) -> bool {
        self.phases[number] == Phase::Waits && self.model.may_tell(&ops[number], ops)
    }

    /// Takes what only looks as soon as it is true: later it could only be harder to place. A response that came to
    /// nothing may have held the bundle for a while, so it is tried either way.
    fn look(&mut self, ops: &[Op]) {
        loop {
            let horizon = self.horizon(ops);
            let fits = |(number, op): &(usize, &Op)| {
                op.invoked_ns <= horizon && !op.call.is_response() && self.may_end(*number, ops)
            };
            match ops.iter().enumerate().find(fits) {
                Some((number, _)) => self.phases[number] = Phase::Over,
                None => return,
            }
        }
    }

    fn go_on(&self, ops: &[Op], open: &mut Vec<Self>) {
        let horizon = self.horizon(ops);
        let is_possible =
            |(number, op): &(usize, &Op)| op.invoked_ns <= horizon && self.phases[*number] != Phase::Over;
        let possible: Vec<_> = ops.iter().enumerate().filter(is_possible).map(|(number, _)| number).collect();
        for &number in &possible {
            for (model, phase) in self.model.steps(number, self.phases[number], ops) {
                open.push(self.with(model, number, phase));
            }
        }
        // Tried first, as they mostly are the truth.
        for number in possible.into_iter().filter(|number| self.may_end(*number, ops)) {
            open.push(self.with(self.model, number, Phase::Over));
        }
    }
}
