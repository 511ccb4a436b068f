//! The sheet that a decision is written on: each change is applied to a copy of the view as it is added, so the
//! next step of the same decision sees it. May import: ids and the rest of lifecycle.

use uuid::Uuid;

use crate::ids::{EventId, Micros, PendingId, TurnId};
use crate::lifecycle::{
    Bundle, Change, Decision, Effect, Event, EventKind, Question, QuestionGuard, Refusal, Session, SessionState,
    SessionView, Stamp, Turn, TurnGuard,
};

pub(super) struct Draft {
    pub(super) view: SessionView,
    stamp: Stamp,
    next_id: u128,
    is_session_moved: bool,
    changes: Vec<Change>,
    events: Vec<Event>,
}

impl Draft {
    pub(super) fn new(view: &SessionView, stamp: Stamp) -> Self {
        Self {
            view: view.clone(),
            stamp,
            next_id: 0,
            is_session_moved: false,
            changes: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Micros {
        self.stamp.now
    }

    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    pub(super) fn fresh<T: From<Uuid>>(&mut self) -> T {
        let id = self.stamp.id(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        T::from(id)
    }

    pub(super) fn session(&self) -> Result<&Session, Refusal> {
        self.view.session.as_ref().ok_or(Refusal::NotFound)
    }

    pub(super) fn bundle(&self, id: &PendingId) -> Result<Bundle, Refusal> {
        self.view.bundle(id).cloned().ok_or(Refusal::NotFound)
    }

    pub(super) fn turn(&self, id: &TurnId) -> Result<Turn, Refusal> {
        self.view.turn(id).cloned().ok_or(Refusal::NotFound)
    }

    pub(super) fn push(&mut self, change: Change) {
        self.view.apply(&change);
        self.changes.push(change);
    }

    pub(super) fn emit(&mut self, kind: EventKind) {
        let id = EventId::from(self.fresh::<Uuid>());
        self.events.push(Event { id, kind });
    }

    /// Rewrites a question row, and says so where the change is to be seen.
    pub(super) fn set_question(&mut self, old: &Question, is_announced: bool, set: impl FnOnce(&mut Question)) {
        let guard = QuestionGuard { status: old.status.clone(), has_intent: old.has_intent() };
        let mut question = old.clone();
        question.updated_at = self.now();
        set(&mut question);
        self.push(Change::SetQuestion(guard, question));
        if is_announced {
            self.emit(EventKind::MessageUpdated { message_id: old.id.clone() });
        }
    }

    pub(super) fn set_turn(&mut self, old: &Turn, set: impl FnOnce(&mut Turn)) {
        let mut turn = old.clone();
        set(&mut turn);
        if &turn != old {
            self.push(Change::SetTurn(TurnGuard::of(old), turn));
        }
    }

    /// Changes the session's row; written once, when the decision is done.
    pub(super) fn set_session(&mut self, set: impl FnOnce(&mut Session)) {
        if let Some(session) = &mut self.view.session {
            set(session);
            self.is_session_moved = true;
        }
    }

    pub(super) fn move_state(&mut self, to: SessionState) {
        let now = self.now();
        if self.view.session.as_ref().is_none_or(|session| session.state == to) {
            return;
        }
        self.set_session(|session| {
            session.state = to;
            session.completed_at = to.is_terminal().then_some(now);
        });
        self.emit(EventKind::SessionStateChanged);
    }

    pub(super) fn delete_waiters(&mut self, of: &PendingId) {
        let gone: Vec<_> = self.view.waiters.iter().filter(|w| &w.pending_id == of).cloned().collect();
        for waiter in gone {
            self.push(Change::DeleteWaiter(waiter.pending_id, waiter.id));
        }
    }

    /// Closes the decision: moves the projection's sequence if pending state may have moved (decisions 25).
    pub(super) fn finish(mut self, effect: Effect) -> Decision {
        let now = self.now();
        let moves_projection = self.is_session_moved || self.changes.iter().any(Change::touches_projection);
        let is_gone = self.view.session.is_none();
        if moves_projection && !is_gone {
            self.set_session(|session| {
                session.sequence = session.sequence.next();
                session.updated_at = now;
            });
            self.emit(EventKind::ProjectionChanged);
            if let Some(session) = self.view.session.clone() {
                self.push(Change::SetSession(session));
            }
        }
        if !self.events.is_empty() {
            self.push(Change::TouchTask(now));
        }
        Decision { changes: self.changes, events: self.events, effect }
    }
}
