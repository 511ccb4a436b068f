//! The meeting place of dispatches and the workers that come for them. It holds no dispatch: what is on offer stands in
//! the store, and this only says that it is worth a look. May import: ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::ids::TurnId;

/// One name under which workers come for dispatches.
#[derive(Debug, Default)]
pub struct Pull {
    offers: watch::Sender<u64>,
    /// What is on offer, with the reason of the worker that refused it.
    open: Mutex<HashMap<TurnId, Option<String>>>,
}

impl Pull {
    /// Something is on offer, for as long as what this returns is kept.
    pub fn offer(self: &Arc<Self>, turn: &TurnId) -> Offered {
        self.open().insert(turn.clone(), None);
        self.offers.send_modify(|count| *count = count.wrapping_add(1));
        Offered { pull: self.clone(), turn: turn.clone() }
    }

    /// Listens for offers, from now on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.offers.subscribe()
    }

    /// Keeps a worker's reason for whoever follows the offer.
    pub fn refuse(&self, turn: &TurnId, reason: String) {
        if let Some(kept) = self.open().get_mut(turn) {
            *kept = Some(reason);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<TurnId, Option<String>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An offer that is followed.
#[derive(Debug)]
pub struct Offered {
    pull: Arc<Pull>,
    turn: TurnId,
}

impl Offered {
    /// Why its worker refused it, if one did.
    pub fn refusal(&self) -> Option<String> {
        self.pull.open().get(&self.turn).cloned().flatten()
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        self.pull.open().remove(&self.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_wakes_who_listens_and_nothing_is_kept_of_it_when_it_is_over() {
        let (pull, turn) = (Arc::new(Pull::default()), TurnId::new("t"));
        let mut ear = pull.listen();
        pull.refuse(&turn, "nobody offers it".into());
        let offered = pull.offer(&turn);
        assert!(ear.has_changed().unwrap());
        ear.borrow_and_update();
        assert_eq!(offered.refusal(), None);
        pull.refuse(&turn, "busy".into());
        assert_eq!(offered.refusal().as_deref(), Some("busy"));
        drop(offered);
        assert!(pull.open().is_empty());
    }
}
