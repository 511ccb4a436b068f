//! A session and what stands around it. Everything durable is in the view; the rest dies with a crash, or is what
//! really happened outside and no server can know. May import: ids and the rest of lifecycle.

use uuid::Uuid;

use crate::ids::{Epoch, Micros, Ordinal, PendingId, TurnId};
use crate::lifecycle::fixtures;
use crate::lifecycle::{
    Change, Command, Decision, EventKind, QuestionGuard, Refusal, SessionState, SessionView, Stamp, TaskRef,
    TurnGuard,
};

/// The function under check, or one with a planted fault.
pub(super) type Decide = fn(&SessionView, &Command, &Stamp) -> Result<Decision, Refusal>;

/// How far a search goes, and what may happen in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Turns that stand at once.
    pub(super) turns: usize,
    /// Bundles ever asked.
    pub(super) bundles: u8,
    /// Questions of each.
    pub(super) questions: usize,
    /// Waiters of one bundle.
    pub(super) waiters: usize,
    /// The session has an executor.
    pub(super) has_executor: bool,
    /// Confirmed answers arm a fallback.
    pub(super) has_watchdog: bool,
    /// Rows and messages are deleted.
    pub(super) has_deletes: bool,
    /// What else a runtime and an operator do: permissions, notes, settling of unknown dispatches.
    pub(super) has_extras: bool,
    /// What is said of the session itself: its states, its conversation, its end; and what stands for itself elsewhere:
    /// a fallback that is armed, a claim that is closed, a message that is replaced.
    pub(super) has_states: bool,
    /// Workers come for dispatches; nobody is called.
    pub(super) is_pulled: bool,
}

/// What the executor did with a call, known to it alone until it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    /// It took the prompt.
    Accepted,
    /// It proved that it did not.
    Rejected,
    /// It may have; its answer was lost.
    Lost,
}

/// One session, whole, and its surroundings.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) view: SessionView,
    /// Counts commands; gives times and ids, and is no part of a state.
    pub(super) tick: i64,
    pub(super) epoch: Epoch,
    pub(super) asked: u8,
    /// Where the runtime said that the session stands, while it stands there.
    pub(super) stated: Option<SessionState>,
    /// Calls in flight, held in the memory of a responder.
    pub(super) calls: Vec<(TurnId, Reply)>,
    /// Prompts that the executor took or may have taken, by what they answer.
    pub(super) dispatched: Vec<PendingId>,
    /// Answers that waiting agents were given.
    pub(super) returned: Vec<PendingId>,
    /// Turn events of the outbox.
    pub(super) started: Vec<TurnId>,
    pub(super) completed: Vec<TurnId>,
}

impl World {
    /// A session before its first turn.
    pub(super) fn new(bounds: &Bounds) -> Self {
        let mut view = fixtures::view();
        view.turns.clear();
        view.last_ordinal = Ordinal(0);
        if let Some(session) = &mut view.session {
            session.state = SessionState::Created;
            session.executor = bounds.has_executor.then(|| "scripted".into());
            session.is_watchdog_on = bounds.has_watchdog;
        }
        Self {
            view,
            tick: 0,
            epoch: Epoch(1),
            asked: 0,
            stated: None,
            calls: Vec::new(),
            dispatched: Vec::new(),
            returned: Vec::new(),
            started: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// A task whose session is still to be made.
    pub(super) fn unborn(bounds: &Bounds) -> Self {
        let view = SessionView { task: Some(task()), ..SessionView::default() };
        Self { view, ..Self::new(bounds) }
    }

    /// Time passes with every command; nothing but a watchdog's deadline may depend on it.
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp_after(0)
    }

    /// The stamp of a command that many ticks later.
    pub(super) fn stamp_after(&self, ticks: i64) -> Stamp {
        let tick = self.tick + ticks;
        let base = u128::try_from(tick).unwrap_or_default() << 64;
        Stamp { now: Micros(1_000 * tick), epoch: self.epoch, base: Uuid::from_u128(base) }
    }

    pub(super) fn reply(&self, turn: &TurnId) -> Option<Reply> {
        self.calls.iter().find(|(id, _)| id == turn).map(|(_, reply)| *reply)
    }

    pub(super) fn dispatches(&self, bundle: &PendingId) -> usize {
        self.dispatched.iter().filter(|id| *id == bundle).count()
    }

    /// Makes a decision durable as a store does: each row must meet its guard, each new one must be new.
    pub(super) fn commit(&mut self, decision: &Decision) -> Result<(), String> {
        for change in &decision.changes {
            self.check_guard(change).map_err(|what| format!("a store would refuse it: {what}"))?;
            self.view.apply(change);
        }
        for event in &decision.events {
            self.announce(&event.kind)?;
        }
        Ok(())
    }

    fn check_guard(&self, change: &Change) -> Result<(), String> {
        let view = &self.view;
        let is_met = match change {
            Change::SetQuestion(guard, row) => view.question(&row.id).is_some_and(|old| {
                guard == &QuestionGuard { status: old.status.clone(), has_intent: old.has_intent() }
            }),
            Change::SetTurn(guard, turn) => view.turn(&turn.id).is_some_and(|old| guard == &TurnGuard::of(old)),
            Change::DeleteReservation(id) => {
                view.turn(id).is_some_and(|turn| turn.reservation.is_some() && !turn.has_evidence)
            }
            Change::InsertTurn(turn) => {
                turn.ordinal > view.last_ordinal
                    && turn.started_at > view.last_started_at
                    && view.turn(&turn.id).is_none()
            }
            Change::InsertQuestion(row) => view.question(&row.id).is_none(),
            Change::InsertWaiter(waiter) => !view.waiters.iter().any(|known| known.id == waiter.id),
            Change::DeleteWaiter(_, id) => view.waiters.iter().any(|known| &known.id == id),
            Change::InsertKey(record) => {
                !view.keys.iter().any(|known| (&known.scope, &known.key) == (&record.scope, &record.key))
            }
            _ => true,
        };
        if is_met { Ok(()) } else { Err(format!("{change:?}")) }
    }

    /// INV-21: a turn starts once and completes once, in that order.
    fn announce(&mut self, event: &EventKind) -> Result<(), String> {
        match event {
            EventKind::TurnStarted { turn_id } => add(&mut self.started, turn_id, "INV-21: announced twice"),
            EventKind::TurnCompleted { turn_id } if !self.started.contains(turn_id) => {
                Err("INV-21: a turn completed that was not announced".into())
            }
            EventKind::TurnCompleted { turn_id } => add(&mut self.completed, turn_id, "INV-21: completed twice"),
            _ => Ok(()),
        }
    }
}

/// The one task that there is.
pub(super) fn task() -> TaskRef {
    let session = fixtures::session();
    TaskRef { id: session.task_id, workspace_id: session.workspace_id, session_count: 0 }
}

fn add(known: &mut Vec<TurnId>, id: &TurnId, twice: &str) -> Result<(), String> {
    if known.contains(id) {
        return Err(twice.into());
    }
    known.push(id.clone());
    Ok(())
}
