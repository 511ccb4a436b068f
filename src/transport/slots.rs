//! How many long connections there may be, in all and for one caller. May import: ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ids::PrincipalId;

/// The slots of a server. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Slots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max: usize,
    each_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<PrincipalId, usize>,
}

/// A slot in the server, given back when dropped.
#[derive(Debug)]
pub(super) struct Slot(Slots);

/// A caller's slot, given back when dropped.
#[derive(Debug)]
pub(super) struct OwnSlot(Slots, PrincipalId);

impl Slots {
    /// `max` in all, `each_max` for one caller.
    pub(super) fn new(max: usize, each_max: usize) -> Self {
        Self(Arc::new(Inner { max, each_max, taken: Mutex::default() }))
    }

    /// A slot, before it is known whose it is; none: all are taken.
    pub(super) fn take(&self) -> Option<Slot> {
        let mut taken = self.taken();
        let is_free = taken.all < self.0.max;
        taken.all = taken.all.saturating_add(usize::from(is_free));
        drop(taken);
        is_free.then(|| Slot(self.clone()))
    }

    /// One of a caller's slots; none: it has all of its own.
    pub(super) fn own(&self, principal: &PrincipalId) -> Option<OwnSlot> {
        let mut taken = self.taken();
        let own = taken.by.entry(principal.clone()).or_default();
        let is_free = *own < self.0.each_max;
        *own = own.saturating_add(usize::from(is_free));
        drop(taken);
        is_free.then(|| OwnSlot(self.clone(), principal.clone()))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.0.taken();
        taken.all = taken.all.saturating_sub(1);
    }
}

impl Drop for OwnSlot {
    fn drop(&mut self) {
        let mut taken = self.0.taken();
        if let Some(own) = taken.by.get_mut(&self.1) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_it_is_given_back() {
        let slots = Slots::new(2, 1);
        let (first, second) = (slots.take(), slots.take());
        assert!(first.is_some() && second.is_some() && slots.take().is_none());
        drop(first);
        assert!(slots.take().is_some());
    }

    #[test]
    fn one_caller_cannot_take_the_slots_of_others() {
        let slots = Slots::new(9, 1);
        let own = slots.own(&PrincipalId::new("a"));
        assert!(own.is_some() && slots.own(&PrincipalId::new("a")).is_none());
        assert!(slots.own(&PrincipalId::new("b")).is_some());
        drop(own);
        assert!(slots.own(&PrincipalId::new("a")).is_some());
        assert!(slots.taken().by.is_empty(), "nothing is kept of those who left");
    }
}
