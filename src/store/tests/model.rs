//! One whole session in memory, and what of it a store must load for a command. May import: lifecycle, ids.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{Epoch, MessageId, PendingId, TurnId};
use crate::lifecycle::{Bundle, Change, Focus, FocusScope, KeyResult, KeyScope, MessageRef, SessionView, Turn};

/// A session with all of its history.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    pub(super) view: SessionView,
    /// Rows that are no questions, with their turns.
    pub(super) messages: BTreeMap<MessageId, TurnId>,
    pub(super) alive: Option<Epoch>,
}

impl Whole {
    pub(super) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            self.view.apply(change);
            match change {
                Change::InsertMessage(row) => drop(self.messages.insert(row.id.clone(), row.turn_id.clone())),
                Change::InsertPermission(permission, ..) => {
                    self.messages.insert(permission.message_id.clone(), permission.turn_id.clone());
                }
                Change::DeleteMessage(id) => drop(self.messages.remove(id)),
                Change::DeleteSession => self.messages.clear(),
                _ => {}
            }
        }
        self.view.message = None;
    }

    /// All of it, with the parts that only a focus fills: what an unbounded store would load.
    pub(super) fn unbounded(&self, focus: &Focus) -> SessionView {
        let mut view = self.view.clone();
        view.message = self.message(focus);
        view.dead_epochs = self.dead(&view);
        sorted(view)
    }

    /// The bounded view, by the contract of view loading.
    pub(super) fn project(&self, focus: &Focus) -> SessionView {
        let whole = &self.view;
        if whole.session.is_none() {
            return SessionView::default();
        }
        let current = whole.current_turn();
        let is_settled = |turn: &&Turn| turn.is_authoritative() && turn.reservation.is_none();
        let settled = whole.turns.iter().filter(is_settled).max_by_key(|turn| turn.ordinal);
        let mut view = SessionView {
            session: whole.session.clone(),
            turns: whole.turns.iter().filter(|turn| is_standing(turn, settled, focus)).cloned().collect(),
            last_ordinal: whole.last_ordinal,
            last_started_at: whole.last_started_at,
            message: self.message(focus),
            ..SessionView::default()
        };
        let key = focus.key.as_ref().and_then(|(key, scope)| Some((key, key_scope(scope, current)?)));
        if let Some((key, scope)) = key {
            view.keys = whole.keys.iter().filter(|r| &r.key == key && r.scope == scope).cloned().collect();
        }
        let named = named(&view, whole, focus);
        view.bundles =
            whole.bundles.iter().filter(|b| is_loaded(b, [current, settled], &named)).cloned().collect();
        let of_bundles: BTreeSet<&TurnId> =
            view.bundles.iter().flat_map(|b| &b.questions).map(|q| &q.turn_id).collect();
        let missing: Vec<Turn> = whole
            .turns
            .iter()
            .filter(|turn| of_bundles.contains(&turn.id) && view.turns.iter().all(|own| own.id != turn.id))
            .cloned()
            .collect();
        view.turns.extend(missing);
        let is_waited = |id: &PendingId| view.bundles.iter().any(|bundle| &bundle.pending_id == id);
        view.waiters = whole.waiters.iter().filter(|w| is_waited(&w.pending_id)).cloned().collect();
        view.permissions = whole
            .permissions
            .iter()
            .filter(|p| {
                current.is_some_and(|c| c.id == p.turn_id)
                    || focus.permission_id.as_ref() == Some(&p.id)
                    || focus.message_id.as_ref() == Some(&p.message_id)
            })
            .cloned()
            .collect();
        view.dead_epochs = self.dead(&view);
        sorted(view)
    }

    fn message(&self, focus: &Focus) -> Option<MessageRef> {
        let id = focus.message_id.as_ref()?;
        let turn_id = self.messages.get(id)?;
        Some(MessageRef { id: id.clone(), turn_id: turn_id.clone() })
    }

    fn dead(&self, view: &SessionView) -> Vec<Epoch> {
        let claims = view.bundles.iter().filter_map(|b| Some(b.open_claim()?.epoch));
        let reservations = view.turns.iter().filter_map(|t| Some(t.reservation.as_ref()?.epoch));
        let waiters = view.waiters.iter().map(|w| w.epoch);
        let owners: BTreeSet<Epoch> = claims.chain(reservations).chain(waiters).collect();
        owners.into_iter().filter(|epoch| Some(*epoch) != self.alive).collect()
    }
}

fn is_standing(turn: &Turn, settled: Option<&Turn>, focus: &Focus) -> bool {
    settled.is_none_or(|settled| turn.ordinal >= settled.ordinal)
        || turn.reservation.is_some()
        || turn.end.is_none()
        || focus.turn_id.as_ref() == Some(&turn.id)
}

fn key_scope(scope: &FocusScope, current: Option<&Turn>) -> Option<KeyScope> {
    match scope {
        FocusScope::CurrentTurn => Some(KeyScope::Turn(current?.id.clone())),
        FocusScope::Bundle(pending, principal) => Some(KeyScope::Bundle(pending.clone(), principal.clone())),
        FocusScope::Session(principal) => Some(KeyScope::Session(principal.clone())),
    }
}

fn named(view: &SessionView, whole: &SessionView, focus: &Focus) -> BTreeSet<PendingId> {
    let mut named: BTreeSet<PendingId> = focus.pending_id.iter().cloned().collect();
    named.extend(view.watched().cloned());
    named.extend(whole.waiters.iter().map(|waiter| waiter.pending_id.clone()));
    named.extend(view.keys.iter().filter_map(|key| match &key.result {
        KeyResult::Asked(id) => Some(id.clone()),
        _ => None,
    }));
    named.extend(focus.message_id.as_ref().and_then(|id| Some(whole.question(id)?.pending_id.clone())));
    named
}

fn is_loaded(bundle: &Bundle, turns: [Option<&Turn>; 2], named: &BTreeSet<PendingId>) -> bool {
    let is_open = bundle.pending().any(|q| turns.iter().flatten().any(|turn| turn.id == q.turn_id));
    is_open || bundle.open_claim().is_some() || named.contains(&bundle.pending_id)
}

/// Order is no part of a view's meaning, except that bundles stand as they were asked.
pub(super) fn sorted(mut view: SessionView) -> SessionView {
    view.turns.sort_by_key(|turn| turn.ordinal);
    view.bundles
        .sort_by_key(|bundle| (bundle.questions.iter().map(|q| q.created_at).min(), bundle.pending_id.clone()));
    view.waiters.sort_by_key(|waiter| (waiter.pending_id.clone(), waiter.id.clone()));
    view.permissions.sort_by_key(|permission| permission.message_id.clone());
    view
}
