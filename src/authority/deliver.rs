//! Carries a claimed response to its end, in a task that no caller can cut short (architecture section 6).
//! May import: lifecycle, ids, crash.

use tokio::time::Instant;

use crate::crash;
use crate::ids::{ClaimId, PendingId, SessionId};
use crate::lifecycle::{
    ClaimFate, ClaimTicket, Command, ConflictReason, DispatchOutcome, Effect, Focus, Refusal, Reservation,
    claim_fate,
};

use super::dispatching::unannounced;
use super::owed::given_back;
use super::{Authority, DeliveryFailure, Error, Failure, Responded};

/// A lost waiter sends its responder round once more, along the detached path (decisions 4).
const ROUNDS_MAX: usize = 3;

/// How a hand-over ended.
enum HandOver {
    Confirmed,
    /// Given back; `is_lost`: the waiter went away before it took anything.
    Restored {
        is_lost: bool,
    },
    Retired,
}

impl Authority {
    pub(super) async fn deliver(
        &self,
        session: SessionId,
        pending_id: PendingId,
        command: Command,
    ) -> Result<Responded, Error> {
        let own = self.clone();
        let task = self.0.parts.tasks.spawn("deliver", async move {
            let responded = own.carry(&session, &pending_id, command).await?;
            Ok(own.told_when_shown(&session, responded).await)
        });
        task.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    /// What can be sent again is told when the task shows the question again. That it does not makes nothing unsafe:
    /// the rows are given back (decisions 20).
    async fn told_when_shown(&self, session: &SessionId, mut responded: Responded) -> Responded {
        if let Responded::Failed { failure, .. } = &mut responded
            && failure.is_retryable
        {
            failure.is_converged = self.converge(session).await;
        }
        responded
    }

    async fn carry(&self, session: &SessionId, bundle: &PendingId, command: Command) -> Result<Responded, Error> {
        for round in 1..=ROUNDS_MAX {
            let is_last = round == ROUNDS_MAX;
            let effect = self.transact_resolved(session, command.clone()).await?.decision.effect;
            match effect {
                Effect::Settled(_) => return Ok(accepted(bundle)),
                Effect::Dispatch(_, turn) => return self.dispatch_answer(session, bundle, &turn).await,
                Effect::Replayed(claim, fate) => return self.replay(session, bundle, &claim, fate).await,
                Effect::HandOver(ticket) => match self.owned_hand_over(session, &ticket).await? {
                    HandOver::Confirmed => {
                        crash::point("CP-19");
                        return Ok(accepted(bundle));
                    }
                    HandOver::Retired => return Err(self.retired(session).await?.into()),
                    HandOver::Restored { is_lost: true } if !is_last => {}
                    HandOver::Restored { .. } => return self.not_taken(session, bundle).await,
                },
                _ => return Err(Error::internal("a response had another effect")),
            }
        }
        Err(Error::internal("a response went round too often"))
    }

    /// A claim that a fault of the store kept from its end is given back as soon as the store takes it.
    async fn owned_hand_over(&self, session: &SessionId, ticket: &ClaimTicket) -> Result<HandOver, Error> {
        let ended = self.hand_over(session, ticket).await;
        if ended.is_err() {
            self.insist_later(session, given_back(ticket));
        }
        ended
    }

    /// Waits a bounded time for a waiter to confirm; then gives the claim back. The database decides which of the
    /// two wins (INV-16).
    async fn hand_over(&self, session: &SessionId, ticket: &ClaimTicket) -> Result<HandOver, Error> {
        let deadline = Instant::now() + self.limits().hand_over;
        let has_executor = self.executor_of(session).await?.is_some();
        let mut hint = self.0.hints.subscribe(session);
        let mut is_lost = false;
        while Instant::now() < deadline && !is_lost {
            hint.borrow_and_update();
            let rows = self.store().bundles(std::slice::from_ref(&ticket.pending_id)).await?;
            let Some(row) = rows.into_iter().next() else { return Err(Refusal::NotFound.into()) };
            match claim_fate(&row.bundle, &ticket.id) {
                ClaimFate::Delivered(_) => return Ok(HandOver::Confirmed),
                ClaimFate::Retired => return Ok(HandOver::Retired),
                ClaimFate::Restored => return Ok(HandOver::Restored { is_lost: false }),
                ClaimFate::Open if has_executor && !row.has_waiter => is_lost = true,
                ClaimFate::Open => {
                    let poll = tokio::time::sleep(self.limits().poll);
                    tokio::select! {
                        _ = hint.changed() => {}
                        () = poll => {}
                        () = tokio::time::sleep_until(deadline) => {}
                    }
                }
            }
        }
        self.abandon(session, ticket, is_lost).await
    }

    async fn abandon(&self, session: &SessionId, ticket: &ClaimTicket, is_lost: bool) -> Result<HandOver, Error> {
        match self.transact(session, given_back(ticket)).await {
            Ok(passed) if passed.decision.effect == Effect::Unchanged => Ok(HandOver::Retired),
            Ok(_) => Ok(HandOver::Restored { is_lost }),
            Err(Error::Refused(Refusal::Stale)) => {
                match self.store().claim_fate(&ticket.pending_id, &ticket.id).await? {
                    ClaimFate::Delivered(_) => Ok(HandOver::Confirmed),
                    ClaimFate::Retired => Ok(HandOver::Retired),
                    ClaimFate::Open | ClaimFate::Restored => Ok(HandOver::Restored { is_lost: false }),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The same key again: its own first outcome, waited for if it is still open (decisions 7).
    async fn replay(
        &self,
        session: &SessionId,
        bundle: &PendingId,
        claim: &ClaimId,
        mut fate: ClaimFate,
    ) -> Result<Responded, Error> {
        let deadline = Instant::now() + self.limits().hand_over + self.limits().dispatch;
        let mut hint = self.0.hints.subscribe(session);
        while fate == ClaimFate::Open && Instant::now() < deadline {
            tokio::select! {
                _ = hint.changed() => {}
                () = tokio::time::sleep(self.limits().poll) => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
            fate = self.store().claim_fate(bundle, claim).await?;
        }
        let pending_id = bundle.clone();
        match fate {
            ClaimFate::Delivered(Some(DispatchOutcome::Unknown | DispatchOutcome::NotAccepted)) => {
                Ok(Responded::Failed { pending_id, failure: unknown() })
            }
            ClaimFate::Delivered(_) => {
                let dispatched_turn = self.dispatched_turn(bundle).await?;
                Ok(Responded::Accepted { pending_id, is_replayed: true, dispatched_turn })
            }
            ClaimFate::Retired => Err(self.retired(session).await?.into()),
            ClaimFate::Restored => self.not_taken(session, bundle).await,
            ClaimFate::Open if self.is_taken(session, claim).await? => {
                Ok(Responded::Failed { pending_id, failure: unannounced() })
            }
            ClaimFate::Open => Err(Error::timeout("the first response with this key is still being delivered")),
        }
    }

    /// The claim's dispatch was acknowledged, and its turn is not announced yet.
    async fn is_taken(&self, session: &SessionId, claim: &ClaimId) -> Result<bool, Error> {
        let view = self.store().view(session, Focus::default()).await?;
        let reservation = view.reservation().and_then(|turn| turn.reservation.as_ref());
        let is_its = |r: &&Reservation| r.source.as_ref().is_some_and(|s| s.claim_id.as_ref() == Some(claim));
        Ok(reservation.filter(is_its).is_some_and(|r| r.is_acknowledged))
    }

    async fn dispatched_turn(&self, bundle: &PendingId) -> Result<Option<crate::ids::TurnId>, Error> {
        let rows = self.store().bundles(std::slice::from_ref(bundle)).await?;
        Ok(rows.iter().flat_map(|row| &row.bundle.questions).find_map(|q| q.dispatched_turn_id.clone()))
    }

    async fn not_taken(&self, session: &SessionId, bundle: &PendingId) -> Result<Responded, Error> {
        let failure = if self.executor_of(session).await?.is_some() {
            Failure::retryable(DeliveryFailure::NotTaken, "The waiting agent did not take the response in time.")
        } else {
            Failure::retryable(
                DeliveryFailure::AgentUnreachable,
                "The agent is not waiting now and cannot be called; the question stays until it asks again.",
            )
        };
        Ok(Responded::Failed { pending_id: bundle.clone(), failure })
    }

    /// Why a claim was closed without effect.
    pub(super) async fn retired(&self, session: &SessionId) -> Result<Refusal, Error> {
        let rows = self.store().sessions(std::slice::from_ref(session)).await?;
        let is_over = rows.first().is_none_or(|row| row.session.state.is_terminal());
        let reason = if is_over { ConflictReason::SessionEnded } else { ConflictReason::Superseded };
        Ok(Refusal::Conflict { reason, winner: None })
    }

    /// The name of the session's executor.
    pub(super) async fn executor_of(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let rows = self.store().sessions(std::slice::from_ref(session)).await?;
        Ok(rows.into_iter().next().and_then(|row| row.session.executor))
    }
}

fn accepted(bundle: &PendingId) -> Responded {
    Responded::Accepted { pending_id: bundle.clone(), is_replayed: false, dispatched_turn: None }
}

/// The dispatch may have reached the agent.
pub(super) fn unknown() -> Failure {
    Failure::terminal(
        DeliveryFailure::Unknown,
        "Nobody can tell whether the agent received the answer; it is not sent again.",
    )
}
