//! The reference model of one bundle, and what each call may do to it. A response is two steps, claim and delivery;
//! a claim may be given back in between. May import: history.

use super::history::{Call, Op, Seen, Told};

/// What the rows say. Numbers are those of responses in the bundle's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    Absent,
    Pending,
    Claimed(usize),
    /// That response stands.
    Responded(usize),
    Cancelled,
    /// That response was claimed and has no effect: something newer came first.
    Retired(usize),
}

/// One bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    pub rows: Rows,
    pub is_superseded: bool,
    pub has_ended: bool,
}

/// How far a call has come in one possible order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Waits,
    Claimed,
    /// Its caller was told that it may still be running, and it is.
    Left,
    Over,
}

impl Model {
    pub const NEW: Self = Self { rows: Rows::Absent, is_superseded: false, has_ended: false };

    /// Why no response is taken now; none: one is.
    fn reason(&self) -> Option<&'static str> {
        match self.rows {
            Rows::Absent => Some("NOT_FOUND"),
            Rows::Claimed(_) => Some("DELIVERY_CLAIMED"),
            Rows::Pending if self.has_ended => Some("SESSION_ENDED"),
            Rows::Pending if self.is_superseded => Some("SUPERSEDED"),
            Rows::Pending => None,
            Rows::Responded(_) | Rows::Cancelled | Rows::Retired(_) => Some("TERMINAL"),
        }
    }

    fn state_is(&self, seen: &str) -> bool {
        match self.reason() {
            None => seen == "ACTIVE_LIVE" || seen == "ACTIVE_DETACHED",
            Some("SUPERSEDED") => seen == "SUPERSEDED_HISTORY",
            Some("SESSION_ENDED") => seen == "TERMINAL",
            Some(reason) => seen == reason,
        }
    }

    fn outcome(&self, ops: &[Op]) -> &'static str {
        match self.rows {
            Rows::Absent => "NOT_FOUND",
            Rows::Responded(by) if matches!(ops[by].call, Call::Skip(_)) => "REJECTED",
            Rows::Responded(_) => "ANSWERED",
            Rows::Cancelled => "CANCELLED",
            _ if self.has_ended => "EXPIRED",
            Rows::Claimed(_) => "PENDING",
            Rows::Retired(_) => "SUPERSEDED",
            Rows::Pending if self.is_superseded => "SUPERSEDED",
            Rows::Pending => "PENDING",
        }
    }

    /// Whether somebody may see that now. An answer is told with its text.
    fn looks_like(&self, seen: &Seen, ops: &[Op]) -> bool {
        let text = match self.rows {
            Rows::Responded(by) => text(&ops[by].call),
            _ => None,
        };
        let is_text = seen.outcome != "ANSWERED" || seen.text.as_deref() == text;
        seen.outcome == self.outcome(ops) && is_text && seen.state.as_deref().is_none_or(|s| self.state_is(s))
    }

    /// The winner that a loser is told of.
    fn has_winner(&self, winner: Option<&str>, ops: &[Op]) -> bool {
        match self.rows {
            Rows::Responded(_) => winner == Some(self.outcome(ops)),
            Rows::Cancelled | Rows::Pending => winner.is_none(),
            _ => true,
        }
    }

    /// The same response was made before, by the same key, and stands.
    fn is_decided_by(&self, op: &Op, ops: &[Op]) -> bool {
        matches!(self.rows, Rows::Responded(by) if ops[by].call == op.call)
    }

    /// Whether a call that changes nothing can have been told that now.
    pub fn may_tell(&self, op: &Op, ops: &[Op]) -> bool {
        match (&op.call, &op.told) {
            (Call::Ask, Told::Asked { is_new: false, outcome }) => {
                self.rows != Rows::Absent && outcome == self.outcome(ops)
            }
            (Call::Read | Call::Wait, Told::Seen(seen)) => self.looks_like(seen, ops),
            (Call::Answer(_) | Call::Skip(_), Told::Accepted { is_replayed: true }) => self.is_decided_by(op, ops),
            (Call::Answer(_) | Call::Skip(_), Told::Conflict { reason, winner }) => match self.rows {
                // By the same key: it learns what became of its own claim.
                Rows::Retired(by) if ops[by].call == op.call => self.is_told_retired(&op.told),
                _ => self.reason() == Some(reason) && self.has_winner(winner.as_deref(), ops),
            },
            // Given back, or never claimed: the same can be sent again (INV-13).
            (Call::Answer(_) | Call::Skip(_), Told::Failed { is_retryable: true, .. }) => {
                self.rows == Rows::Pending
            }
            (Call::Answer(_) | Call::Skip(_), Told::Failed { .. }) => self.is_decided_by(op, ops),
            (Call::Answer(_) | Call::Skip(_), Told::Refused(reason)) => {
                reason == "DISPATCH_UNRESOLVED" && self.reason().is_none()
            }
            (Call::Cancel, Told::Refused(reason)) if reason == "NOT_LIVE" => self.reason().is_none(),
            (Call::Cancel, Told::Refused(reason)) => self.reason() == Some(reason),
            (Call::NewTurn, Told::Refused(reason)) => match reason.as_str() {
                // Of a turn that asks nothing.
                "TURN_IN_PROGRESS" => !matches!(self.reason(), None | Some("DELIVERY_CLAIMED")),
                "STATE_NOT_ALLOWED" => self.has_ended,
                reason => reason == "DISPATCH_UNRESOLVED",
            },
            _ => false,
        }
    }

    /// Every way in which a call can go on from here.
    pub fn steps(&self, number: usize, phase: Phase, ops: &[Op]) -> Vec<(Self, Phase)> {
        let op = &ops[number];
        let over = |rows| vec![(Self { rows, ..*self }, Phase::Over)];
        let is_open = matches!(op.told, Told::Info(_));
        match op.call {
            Call::Answer(_) | Call::Skip(_) => self.response_steps(number, phase, ops),
            Call::Ask if self.rows == Rows::Absent => match &op.told {
                Told::Asked { is_new: true, outcome } if outcome == "PENDING" => over(Rows::Pending),
                Told::Info(_) => over(Rows::Pending),
                _ => Vec::new(),
            },
            Call::Cancel if self.reason().is_none() && (is_open || op.told == Told::Done) => over(Rows::Cancelled),
            Call::NewTurn if is_open || op.told == Told::Done => {
                vec![(Self { is_superseded: true, ..self.retired() }, Phase::Over)]
            }
            Call::End if is_open || op.told == Told::Done => {
                vec![(Self { has_ended: true, ..self.retired() }, Phase::Over)]
            }
            _ => Vec::new(),
        }
    }

    fn retired(&self) -> Self {
        let rows = match self.rows {
            Rows::Claimed(by) => Rows::Retired(by),
            rows => rows,
        };
        Self { rows, ..*self }
    }

    fn response_steps(&self, number: usize, phase: Phase, ops: &[Op]) -> Vec<(Self, Phase)> {
        let told = &ops[number].told;
        let to = |rows| Self { rows, ..*self };
        let mut steps = Vec::new();
        let is_its = self.rows == Rows::Claimed(number);
        if phase == Phase::Waits && self.reason().is_none() {
            steps.push((to(Rows::Claimed(number)), Phase::Claimed));
        }
        if phase == Phase::Left && is_its {
            steps.push((to(Rows::Responded(number)), Phase::Over));
            // Refused by the agent, and that could not be written: the next start gives it back (specification, failed
            // rollback), so this one no is not the last word.
            if matches!(told, Told::Failed { code, .. } if code == "PERSISTENCE") {
                steps.push((to(Rows::Pending), Phase::Over));
            }
        }
        if phase == Phase::Claimed && is_its {
            // A lost waiter sends its responder round once more.
            steps.push((to(Rows::Pending), Phase::Waits));
            match told {
                Told::Info(_) | Told::Accepted { is_replayed: false } => {
                    steps.push((to(Rows::Responded(number)), Phase::Over));
                }
                Told::Failed { is_retryable: true, .. } => steps.push((to(Rows::Pending), Phase::Over)),
                Told::Failed { is_retryable: false, .. } => {
                    steps.push((to(Rows::Responded(number)), Phase::Over));
                    steps.push((*self, Phase::Left));
                }
                _ => {}
            }
        }
        if phase == Phase::Claimed && self.rows == Rows::Retired(number) {
            steps.extend(self.is_told_retired(told).then_some((*self, Phase::Over)));
        }
        steps
    }

    fn is_told_retired(&self, told: &Told) -> bool {
        match told {
            Told::Conflict { reason, .. } if reason == "SESSION_ENDED" => self.has_ended,
            Told::Conflict { reason, .. } if reason == "SUPERSEDED" => self.is_superseded,
            // It may be running, and nobody will hear.
            Told::Failed { is_retryable, .. } => !is_retryable && self.has_ended,
            _ => false,
        }
    }
}

fn text(call: &Call) -> Option<&str> {
    match call {
        Call::Answer(text) => Some(text),
        _ => None,
    }
}
