//! Drives a reservation: mark, call, acknowledge, publish; or roll back; or leave unknown (architecture section 6).
//! May import: dispatch, outbox, store, lifecycle, ids.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::dispatch::{Dispatch, Executor, Outcome, Revocation, Route};
use crate::ids::{PendingId, Position, SessionId, TurnId};
use crate::lifecycle::{
    Certainty, Command, DispatchOutcome, Effect, Focus, Refusal, SessionView, Turn, TurnEnd, spoken_answers,
};

use super::deliver::unknown;
use super::watchdog::called_off;
use super::{Authority, DeliveryFailure, Error, Failure, Responded};

/// How a dispatch ended.
pub(super) enum Dispatched {
    /// The agent took it, and its start is announced.
    Accepted,
    /// It did not, or nobody can tell.
    Failed(Failure),
    /// The session ended meanwhile; the reservation was closed with it (decisions 6).
    Overtaken,
}

impl Dispatched {
    /// Its name in the metrics.
    fn label(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Overtaken => "overtaken",
            Self::Failed(failure) => match failure.code {
                DeliveryFailure::NotTaken => "not_taken",
                DeliveryFailure::AgentUnreachable => "agent_unreachable",
                DeliveryFailure::Rejected => "rejected",
                DeliveryFailure::Unknown => "unknown",
                DeliveryFailure::PublicationFailed => "publication_failed",
                DeliveryFailure::Persistence => "persistence",
            },
        }
    }
}

impl Authority {
    pub(super) async fn dispatch_answer(
        &self,
        session: &SessionId,
        bundle: &PendingId,
        turn: &TurnId,
    ) -> Result<Responded, Error> {
        match self.drive(session, turn).await {
            Dispatched::Accepted => Ok(Responded::Accepted {
                pending_id: bundle.clone(),
                is_replayed: false,
                dispatched_turn: Some(turn.clone()),
            }),
            Dispatched::Failed(failure) => Ok(Responded::Failed { pending_id: bundle.clone(), failure }),
            Dispatched::Overtaken => Err(self.retired(session).await?.into()),
        }
    }

    /// Takes a reservation to its end.
    pub(super) async fn drive(&self, session: &SessionId, turn: &TurnId) -> Dispatched {
        self.drive_unless(session, turn, &CancellationToken::new()).await
    }

    /// The same for one that may be called off: before the attempt it is rolled back; during the call, that is taken
    /// back where it can be proven.
    pub(super) async fn drive_unless(
        &self,
        session: &SessionId,
        turn: &TurnId,
        cancel: &CancellationToken,
    ) -> Dispatched {
        let span = tracing::info_span!("dispatch", %turn, outcome = tracing::field::Empty);
        let dispatched = self.drive_to_end(session, turn, cancel).instrument(span.clone()).await;
        span.record("outcome", dispatched.label());
        self.metrics().dispatched(dispatched.label());
        dispatched
    }

    async fn drive_to_end(&self, session: &SessionId, turn: &TurnId, cancel: &CancellationToken) -> Dispatched {
        let prepared = tokio::select! {
            prepared = self.prepare(session, turn) => prepared,
            () = cancel.cancelled() => Err(called_off()),
        };
        let (dispatch, executor) = match prepared {
            Ok((_, Route::Pull(pull))) => return self.offer(session, turn, &pull, cancel).await,
            Ok((dispatch, Route::Push(executor))) => (dispatch, executor),
            Err(failure) => return self.roll_back(session, turn, failure).await,
        };
        match self.transact(session, Command::MarkAttempted(turn.clone())).await {
            Ok(_) => {}
            Err(Error::Refused(_)) => return Dispatched::Overtaken,
            Err(error) => {
                let failure = Failure::retryable(DeliveryFailure::Persistence, error.to_string());
                return self.roll_back(session, turn, failure).await;
            }
        }
        match self.call(dispatch, executor, cancel.clone()).await {
            Outcome::Accepted => self.publish(session, turn).await,
            Outcome::Rejected { reason } => {
                let failure = Failure::retryable(DeliveryFailure::Rejected, reason);
                self.roll_back(session, turn, failure).await
            }
            Outcome::Unknown { reason } => self.leave_unknown(session, turn, &reason).await,
        }
    }

    /// Carries out a cancelled turn at its agent, in a task of its own: the turn is over whether the agent hears of
    /// it or not.
    pub(super) fn interrupt(&self, session: &SessionId, turn: &TurnId) {
        let (own, session, turn) = (self.clone(), session.clone(), turn.clone());
        self.0.parts.tasks.spawn("interrupt", async move {
            let Some(executor) = own.executor(&session).await else { return };
            let call = executor.interrupt(session, turn);
            if tokio::time::timeout(own.limits().dispatch, call).await.is_err() {
                tracing::warn!("an agent did not stop in time");
            }
        });
    }

    /// Who is called to resume the session's agent, if this server has one of that name.
    pub(super) async fn executor(&self, session: &SessionId) -> Option<Arc<dyn Executor>> {
        match self.executor_of(session).await {
            Ok(name) => self.0.parts.executors.get(&name?)?.executor(),
            Err(error) => {
                tracing::warn!(%error, "a session's executor could not be read");
                None
            }
        }
    }

    async fn prepare(&self, session: &SessionId, turn: &TurnId) -> Result<(Dispatch, Route), Failure> {
        let persistence =
            |error: crate::store::Error| Failure::retryable(DeliveryFailure::Persistence, error.to_string());
        let focus = Focus { turn_id: Some(turn.clone()), ..Focus::default() };
        let view = self.store().view(session, focus).await.map_err(persistence)?;
        let name = view.session.as_ref().and_then(|session| session.executor.clone()).unwrap_or_default();
        let Some((route, dispatch)) = self.0.parts.executors.get(&name).zip(dispatch_of(&view, session, turn))
        else {
            let message = format!("this server has no executor named {name:?}");
            return Err(Failure::retryable(DeliveryFailure::AgentUnreachable, message));
        };
        Ok((dispatch, route))
    }

    /// The one external call: bounded, outside every lock, in a task of its own so that a panic is an outcome too.
    /// What it leaves unknown, or is called off, is taken back where that can be proven.
    async fn call(&self, dispatch: Dispatch, executor: Arc<dyn Executor>, cancel: CancellationToken) -> Outcome {
        let within = self.limits().dispatch;
        let turn = dispatch.turn_id.clone();
        let task = self.0.parts.tasks.spawn("dispatch", async move {
            let called = tokio::select! {
                called = tokio::time::timeout(within, executor.dispatch(dispatch, within)) => called,
                () = cancel.cancelled() => Ok(Outcome::Unknown { reason: "it was called off".into() }),
            };
            let reason = match called {
                Ok(Outcome::Unknown { reason }) => reason,
                Ok(known) => return known,
                Err(_elapsed) => "the deadline passed".into(),
            };
            match tokio::time::timeout(within, executor.revoke(turn)).await {
                Ok(Revocation::Revoked) => Outcome::Rejected {
                    reason: "The agent did not take it in time; the call was taken back.".into(),
                },
                Ok(Revocation::AlreadyAccepted) => Outcome::Accepted,
                Ok(Revocation::Unknown) | Err(_) => Outcome::Unknown { reason },
            }
        });
        task.await.unwrap_or_else(|error| Outcome::Unknown { reason: error.to_string() })
    }

    /// Accepted: announce the start, then let the recovery fields go (INV-22).
    pub(super) async fn publish(&self, session: &SessionId, turn: &TurnId) -> Dispatched {
        let position = match self.close(session, turn, Certainty::Accepted).await {
            Ok(Some(position)) => position,
            Ok(None) => return Dispatched::Accepted,
            Err(Error::Refused(_)) => {
                tracing::warn!(session.id = %session, turn.id = %turn, "an acceptance came after its turn was closed");
                return Dispatched::Overtaken;
            }
            Err(error) => {
                tracing::error!(%error, "an acceptance was not written");
                self.close_later(session, turn, Certainty::Accepted);
                return Dispatched::Failed(unannounced());
            }
        };
        match self.settle(session, turn, position).await {
            Some(dispatched) => dispatched,
            None => {
                self.settle_later(session, turn, position);
                Dispatched::Failed(unannounced())
            }
        }
    }

    /// Lets the recovery fields of an announced turn go; none: the bus did not take its start in time, or the store
    /// did not write.
    async fn settle(&self, session: &SessionId, turn: &TurnId, position: Position) -> Option<Dispatched> {
        if let Err(error) = self.0.parts.relay.accepted(position, self.limits().publish).await {
            tracing::warn!(%error, session.id = %session, turn.id = %turn, "an accepted turn is not announced yet");
            return None;
        }
        match self.transact(session, Command::PublishAccepted(turn.clone())).await {
            Ok(_) => Some(Dispatched::Accepted),
            Err(Error::Refused(_)) => Some(Dispatched::Overtaken),
            Err(error) => {
                tracing::error!(%error, "an announced turn kept its recovery fields");
                None
            }
        }
    }

    /// Goes on trying until the server stops; then the next start does.
    fn settle_later(&self, session: &SessionId, turn: &TurnId, position: Position) {
        let (own, session, turn) = (self.clone(), session.clone(), turn.clone());
        self.0.parts.tasks.spawn("settle", async move {
            while own.settle(&session, &turn, position).await.is_none() && own.may_try_again().await {}
        });
    }

    /// Goes on writing what is known of a dispatch, so that its claim has an end while the server lives (INV-34). The
    /// attempt marker is on disk: after a stop the next start finds as much.
    fn close_later(&self, session: &SessionId, turn: &TurnId, certainty: Certainty) {
        let (own, session, turn) = (self.clone(), session.clone(), turn.clone());
        self.0.parts.tasks.spawn("close", async move {
            while own.may_try_again().await {
                match own.close(&session, &turn, certainty).await {
                    Ok(Some(position)) => return own.settle_later(&session, &turn, position),
                    Ok(None) | Err(Error::Refused(_)) => return,
                    Err(error) => tracing::warn!(%error, "what is known of a dispatch is not written yet"),
                }
            }
        });
    }

    /// Where the start of an accepted turn is announced, at the latest; none: nothing is left to be done.
    async fn close(
        &self,
        session: &SessionId,
        turn: &TurnId,
        certainty: Certainty,
    ) -> Result<Option<Position>, Error> {
        let passed = self.transact(session, Command::Acknowledge(turn.clone(), certainty)).await?;
        match (certainty, passed.last_position) {
            (Certainty::Unknown, _) => Ok(None),
            (Certainty::Accepted, Some(position)) => Ok(Some(position)),
            // Its worker wrote it, or the first try did after all: then it stands somewhere before the tip.
            (Certainty::Accepted, None) => Ok(Some(self.store().outbox_tip().await?)),
        }
    }

    /// Provably not taken. A rollback that fails leaves the reservation, which blocks admission until recovery.
    pub(super) async fn roll_back(&self, session: &SessionId, turn: &TurnId, failure: Failure) -> Dispatched {
        match self.transact(session, Command::RejectDispatch(turn.clone())).await {
            Ok(passed) => match passed.decision.effect {
                Effect::Closed(DispatchOutcome::Unknown) => Dispatched::Failed(unknown()),
                _ => Dispatched::Failed(failure),
            },
            Err(Error::Refused(Refusal::Stale | Refusal::NotFound)) => Dispatched::Overtaken,
            Err(error) => {
                tracing::error!(%error, "a rollback failed; the session admits nothing until the next start");
                let message = "The response was not delivered, and could not be given back; it will be when the server starts again.";
                Dispatched::Failed(Failure::terminal(DeliveryFailure::Persistence, message))
            }
        }
    }

    async fn leave_unknown(&self, session: &SessionId, turn: &TurnId, reason: &str) -> Dispatched {
        tracing::warn!(session.id = %session, turn.id = %turn, reason, "a dispatch has an unknown outcome");
        match self.transact(session, Command::Acknowledge(turn.clone(), Certainty::Unknown)).await {
            Ok(_) => Dispatched::Failed(unknown()),
            Err(Error::Refused(_)) => Dispatched::Overtaken,
            Err(error) => {
                tracing::error!(%error, "an unknown outcome was not written");
                self.close_later(session, turn, Certainty::Unknown);
                Dispatched::Failed(unknown())
            }
        }
    }
}

/// What is sent for a reservation; none: it is no reservation any more.
pub(super) fn dispatch_of(view: &SessionView, session: &SessionId, id: &TurnId) -> Option<Dispatch> {
    let turn = view.turn(id)?;
    let reservation = turn.reservation.as_ref()?;
    let source = reservation.source.as_ref();
    let predecessor = view.turns.iter().filter(|t| &t.id != id && t.is_authoritative());
    let answered = source.and_then(|source| view.bundle(&source.pending_id));
    Some(Dispatch {
        session_id: session.clone(),
        turn_id: id.clone(),
        source_turn_id: source.map(|source| source.turn_id.clone()),
        pending_id: source.map(|source| source.pending_id.clone()),
        generation: turn.generation,
        prompt: reservation.prompt.clone(),
        answers: answered.map(spoken_answers).unwrap_or_default(),
        is_interrupt: predecessor.max_by_key(|t| t.ordinal).is_some_and(may_work_on),
    })
}

/// Only the end that its agent told proves that nobody works on a turn: one that was paused or cancelled may sit in a
/// call that it does not know to be dead.
fn may_work_on(turn: &Turn) -> bool {
    !matches!(turn.end, Some((_, TurnEnd::Completed)))
}

/// Accepted, and not announced yet.
pub(super) fn unannounced() -> Failure {
    Failure::terminal(
        DeliveryFailure::PublicationFailed,
        "The agent took the answer; the start of its turn will be announced later.",
    )
}
