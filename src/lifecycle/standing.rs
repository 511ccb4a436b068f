//! What of a view outlives the command it was loaded for, so that a store may keep it for the next one.
//! May import: ids and its siblings.

use std::collections::BTreeSet;

use crate::ids::{PendingId, TurnId};

use super::change::Change;
use super::question::Bundle;
use super::turn::{Turn, Watchdog};
use super::view::SessionView;

impl Change {
    /// Made in memory it leaves a view that can serve the next command. The others move turns, permissions or the
    /// session's being: what stands after them has to be loaded.
    pub fn keeps_standing(&self) -> bool {
        matches!(
            self,
            Self::SetSession(_)
                | Self::InsertQuestion(_)
                | Self::SetQuestion(..)
                | Self::InsertMessage(_)
                | Self::SetMessageContent(..)
                | Self::InsertWaiter(_)
                | Self::DeleteWaiter(..)
                | Self::InsertKey(_)
                | Self::DeleteKeys(_)
                | Self::TouchTask(_)
        )
    }
}

impl SessionView {
    /// The turn that is current again once a reservation is refused.
    pub fn settled_turn(&self) -> Option<&Turn> {
        let is_settled = |turn: &&Turn| turn.is_authoritative() && turn.reservation.is_none();
        self.turns.iter().filter(is_settled).max_by_key(|turn| turn.ordinal)
    }

    /// Bundles that a watchdog of a loaded turn names.
    pub fn watched(&self) -> impl Iterator<Item = &PendingId> {
        self.turns.iter().filter_map(|turn| turn.watchdog.as_ref()).flat_map(Watchdog::bundles)
    }

    /// Forgets what was loaded for one command, and bundles and turns that are history. What any next command may
    /// need without naming it stays, in the order of a load.
    pub fn forget_focus(&mut self) {
        self.task = None;
        self.message = None;
        self.keys.clear();
        self.dead_epochs.clear();
        let bundles = std::mem::take(&mut self.bundles);
        self.bundles = bundles.into_iter().filter(|bundle| self.is_standing_bundle(bundle)).collect();
        let of_bundles = self.bundles.iter().flat_map(|bundle| &bundle.questions);
        let named: BTreeSet<TurnId> = of_bundles.map(|question| question.turn_id.clone()).collect();
        let settled = self.settled_turn().map(|turn| turn.ordinal);
        self.turns.retain(|turn| {
            settled.is_none_or(|settled| turn.ordinal >= settled)
                || turn.reservation.is_some()
                || turn.end.is_none()
                || named.contains(&turn.id)
        });
        let current = self.current_turn().map(|turn| turn.id.clone());
        self.permissions.retain(|permission| Some(&permission.turn_id) == current.as_ref());
        self.bundles.sort_by(|a, b| a.place().cmp(&b.place()));
        self.waiters.sort_by(|a, b| (&a.pending_id, &a.id).cmp(&(&b.pending_id, &b.id)));
    }

    fn is_standing_bundle(&self, bundle: &Bundle) -> bool {
        let id = &bundle.pending_id;
        let turns = [self.current_turn(), self.settled_turn()];
        let is_standing =
            |turn: &TurnId| turn.as_str().is_empty() || turns.iter().flatten().any(|t| &t.id == turn);
        bundle.pending().any(|question| is_standing(&question.turn_id))
            || bundle.open_claim().is_some()
            || self.waiters.iter().any(|waiter| &waiter.pending_id == id)
            || self.watched().any(|watched| watched == id)
    }
}
