//! A durable wait. It looks for itself whenever it is hinted, confirms before it returns an answer (INV-11), and
//! detaches durably when it is given up. May import: lifecycle, ids, metrics, crash.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::crash;
use crate::ids::{PendingId, SessionId, TurnId, WaiterId};
use crate::lifecycle::{Command, Effect, Outcome, OutcomeStatus};
use crate::metrics::Counted;

use super::owed::dropped;
use super::{Authority, Error};

/// A wait for one bundle. Dropped unfinished, it detaches in a task of its own.
pub struct Waiting {
    /// What it waits for.
    pub pending_id: PendingId,
    authority: Authority,
    session: SessionId,
    turn: TurnId,
    waiter: WaiterId,
    hint: watch::Receiver<u64>,
    is_over: bool,
    _counted: Counted,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("pending_id", &self.pending_id).finish_non_exhaustive()
    }
}

/// Proof to be given that the result reached the agent's stream to its end. Silence means that it may not have.
#[derive(Debug)]
#[must_use = "say whether the result was received"]
pub struct Receipt {
    authority: Authority,
    session: SessionId,
    pending_id: PendingId,
    waiter: WaiterId,
}

impl Receipt {
    /// Of an outcome that was there already. Nobody waited for it, so its waiter is one that never was.
    pub(super) fn recorded(authority: &Authority, session: &SessionId, outcome: &Outcome) -> Option<Self> {
        (outcome.status != OutcomeStatus::Pending).then(|| Self {
            authority: authority.clone(),
            session: session.clone(),
            pending_id: outcome.pending_id.clone(),
            waiter: WaiterId::from(authority.0.parts.ids.fresh()),
        })
    }

    /// The stream took the result to its end.
    pub fn received(self) {
        let command = Command::DropWaiter { pending_id: self.pending_id, waiter: self.waiter, is_received: true };
        let (authority, session) = (self.authority.clone(), self.session);
        self.authority.0.parts.tasks.spawn("receipt", async move {
            if let Err(error) = authority.transact(&session, command).await {
                tracing::debug!(%error, "a receipt was not written");
            }
        });
    }
}

/// What a look at the bundle shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Nothing yet.
    Waiting,
    /// A claim to confirm, or an end to learn of.
    Decided,
    /// Undecided, but its turn was torn down: nobody waits any more.
    Drained,
}

impl Waiting {
    /// The wait that a decision registered, if the outcome leaves something to wait for.
    pub(super) fn begin(
        authority: &Authority,
        session: &SessionId,
        outcome: &Outcome,
        waiter: WaiterId,
        hint: watch::Receiver<u64>,
    ) -> Option<Self> {
        (outcome.status == OutcomeStatus::Pending).then(|| Self {
            pending_id: outcome.pending_id.clone(),
            authority: authority.clone(),
            session: session.clone(),
            turn: outcome.turn_id.clone(),
            waiter,
            hint,
            is_over: false,
            _counted: authority.metrics().waiter(),
        })
    }

    /// Waits until the bundle is decided, `bound` has passed, or the server drains; in the latter two the bundle is
    /// detached durably before this returns `Pending`. An answer is confirmed durably before it is returned.
    ///
    /// # Errors
    /// A fault of the store; the wait is then over, and detached.
    pub async fn outcome(mut self, bound: Duration) -> Result<(Outcome, Receipt), Error> {
        let deadline = Instant::now() + bound;
        let drain = self.authority.0.drain.clone();
        loop {
            self.hint.borrow_and_update();
            let look = self.look().await?;
            if look != Look::Waiting {
                let outcome = self.take().await?;
                if outcome.status != OutcomeStatus::Pending || look == Look::Drained {
                    return Ok((outcome, self.finish()));
                }
            }
            let poll = tokio::time::sleep(self.authority.limits().poll);
            let is_ending = tokio::select! {
                _ = self.hint.changed() => false,
                () = poll => false,
                () = tokio::time::sleep_until(deadline) => true,
                () = drain.cancelled() => true,
            };
            if is_ending {
                return self.give_up().await;
            }
        }
    }

    /// A cheap look: is there anything for a waiter to take, and does anybody still count as waiting?
    async fn look(&self) -> Result<Look, Error> {
        let rows = self.authority.store().bundles(std::slice::from_ref(&self.pending_id)).await?;
        let Some(row) = rows.first() else { return Ok(Look::Decided) };
        let is_undecided = row.bundle.open_claim().is_none() && row.bundle.pending().next().is_some();
        Ok(if !is_undecided || !row.is_current || row.session_state.is_terminal() {
            Look::Decided
        } else if row.has_waiter {
            Look::Waiting
        } else {
            Look::Drained
        })
    }

    /// Takes what is there for this wait: an open claim is confirmed by it.
    async fn take(&self) -> Result<Outcome, Error> {
        crash::point("CP-16");
        let command = Command::ConfirmDelivery {
            pending_id: self.pending_id.clone(),
            waiter: self.waiter.clone(),
            watchdog: Some(self.authority.watchdog_deadline()),
        };
        match self.authority.transact(&self.session, command).await?.decision.effect {
            Effect::Outcome(outcome) => Ok(outcome),
            _ => Err(Error::internal("confirming had another effect")),
        }
    }

    /// The bound has passed: take what came at the last moment, else detach.
    async fn give_up(self) -> Result<(Outcome, Receipt), Error> {
        let outcome = self.take().await?;
        if outcome.status == OutcomeStatus::Pending {
            // Cut off here, or failed, it is tried once more when this is dropped.
            let command = self.drop_command();
            self.authority.transact(&self.session, command).await?;
            self.authority.pause_later(&self.session, &self.turn, &self.pending_id);
        }
        Ok((outcome, self.finish()))
    }

    fn finish(mut self) -> Receipt {
        self.is_over = true;
        Receipt {
            authority: self.authority.clone(),
            session: self.session.clone(),
            pending_id: self.pending_id.clone(),
            waiter: self.waiter.clone(),
        }
    }

    fn drop_command(&self) -> Command {
        dropped(&self.pending_id, &self.waiter)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (authority, session, command) = (self.authority.clone(), self.session.clone(), self.drop_command());
        let (turn, pending_id) = (self.turn.clone(), self.pending_id.clone());
        self.authority.0.parts.tasks.spawn("detach", async move {
            // After a stop, startup detaches what no living server waits for (CP-05).
            if authority.insist(&session, command).await.is_some() {
                authority.pause_later(&session, &turn, &pending_id);
            }
        });
    }
}
