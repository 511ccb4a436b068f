//! How far one dispatch got, so that what was not sent can be taken back for certain. May import: dispatch.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::dispatch::{Outcome, Revocation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Sent,
    Taken,
    Over,
}

/// One dispatch, seen by who makes it and by who may take it back.
#[derive(Clone, Debug)]
pub(super) struct Attempt(Arc<Mutex<Stage>>);

impl Attempt {
    /// The right to send it; false: it was taken back.
    pub(super) fn begin(&self) -> bool {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let may_begin = *stage == Stage::Waiting;
        if may_begin {
            *stage = Stage::Sent;
        }
        may_begin
    }

    /// Takes it back, as far as that can be proven.
    pub(super) fn take_back(&self) -> Revocation {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *stage {
            Stage::Waiting => {
                *stage = Stage::Over;
                Revocation::Revoked
            }
            Stage::Taken => Revocation::AlreadyAccepted,
            Stage::Sent | Stage::Over => Revocation::Unknown,
        }
    }

    fn taken(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Stage::Taken;
    }
}

/// The same dispatch for who carries it out; dropped without a word, its stage tells the outcome.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) attempt: Attempt,
    told: Option<oneshot::Sender<Outcome>>,
}

impl Ticket {
    /// A dispatch that begins, and where its outcome will be told.
    pub(super) fn new() -> (Self, oneshot::Receiver<Outcome>) {
        let (told, outcome) = oneshot::channel();
        let attempt = Attempt(Arc::new(Mutex::new(Stage::Waiting)));
        (Self { attempt, told: Some(told) }, outcome)
    }

    /// Nothing was told yet.
    pub(super) fn is_open(&self) -> bool {
        self.told.is_some()
    }

    /// Tells the outcome, once; true: somebody heard it. What comes after the deadline is heard by nobody.
    pub(super) fn tell(&mut self, outcome: Outcome) -> bool {
        if outcome == Outcome::Accepted {
            self.attempt.taken();
        }
        self.told.take().is_some_and(|told| told.send(outcome).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_back_is_never_sent_and_what_was_sent_is_never_proven_back() {
        let (ticket, _outcome) = Ticket::new();
        assert_eq!(ticket.attempt.take_back(), Revocation::Revoked);
        assert!(!ticket.attempt.begin());
        let (mut ticket, _outcome) = Ticket::new();
        assert!(ticket.attempt.begin());
        assert_eq!(ticket.attempt.take_back(), Revocation::Unknown);
        ticket.tell(Outcome::Accepted);
        assert_eq!(ticket.attempt.take_back(), Revocation::AlreadyAccepted);
    }

    #[test]
    fn an_outcome_after_the_deadline_is_heard_by_nobody() {
        let (mut ticket, outcome) = Ticket::new();
        drop(outcome);
        assert!(!ticket.tell(Outcome::Accepted));
        assert!(!ticket.is_open());
    }
}
