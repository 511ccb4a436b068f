//! Bundles that clients meet at, a bounded number at a time. May import: nothing of the tests.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// Bundles that are shown at a time; decided ones make room, the oldest first.
const SHOWN_MAX: usize = 8;
/// Calls that are given out for one bundle; the rest of what a search can bear is for its asker, and for the last look.
const GIVEN_MAX: usize = 22;
/// Of these, how many come after it was decided.
const LATE_MAX: usize = 5;

/// One bundle, as clients know it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub key: String,
    pub pending_id: String,
    pub session: String,
    given: usize,
    late: usize,
    is_decided: bool,
}

/// Whose a bundle is, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub pending_id: String,
    pub session: String,
}

#[derive(Default)]
pub struct Board {
    shown: Mutex<Vec<Shown>>,
    known: Mutex<BTreeMap<String, Known>>,
}

impl Board {
    pub fn show(&self, key: &str, pending_id: &str, session: &str) {
        let (key, pending_id, session) = (key.to_owned(), pending_id.to_owned(), session.to_owned());
        let known = Known { pending_id: pending_id.clone(), session: session.clone() };
        self.known.lock().unwrap().insert(key.clone(), known);
        let mut shown = self.shown.lock().unwrap();
        while shown.len() >= SHOWN_MAX {
            let decided = shown.iter().position(|bundle| bundle.is_decided);
            shown.remove(decided.unwrap_or(0));
        }
        shown.push(Shown { key, pending_id, session, given: 0, late: 0, is_decided: false });
    }

    pub fn decided(&self, key: &str) {
        if let Some(bundle) = self.shown.lock().unwrap().iter_mut().find(|bundle| bundle.key == key) {
            bundle.is_decided = true;
        }
    }

    /// One that may be called about once more.
    pub fn give(&self, random: u64) -> Option<Shown> {
        let mut shown = self.shown.lock().unwrap();
        shown.retain(|bundle| bundle.given < GIVEN_MAX && bundle.late < LATE_MAX);
        let number = usize::try_from(random).unwrap_or(usize::MAX).checked_rem(shown.len())?;
        let bundle = shown.get_mut(number)?;
        bundle.given += 1;
        bundle.late += usize::from(bundle.is_decided);
        Some(bundle.clone())
    }

    /// Every bundle that was ever shown, by its key.
    pub fn known(&self) -> BTreeMap<String, Known> {
        self.known.lock().unwrap().clone()
    }
}
