//! Offers a dispatch to workers and follows what becomes of it in the store, where whoever claims, acknowledges or
//! refuses it writes that (design: agents). May import: dispatch, store, lifecycle, ids.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::dispatch::{Offered, Pull};
use crate::ids::{Micros, SessionId, TurnId};
use crate::lifecycle::{Command, DispatchOutcome, Effect, Focus, Refusal};

use super::deliver::unknown;
use super::dispatching::Dispatched;
use super::{Authority, DeliveryFailure, Error, Failure};

/// How an offer stands.
enum Standing {
    /// Nobody claimed it.
    Open,
    /// A worker has it, until then.
    Leased(Micros),
    /// Its worker took it.
    Acknowledged,
    /// It is a plain turn: its worker's refusal came too late, or its session ended.
    Closed,
    /// It is gone: its worker refused it, or its session ended.
    Gone,
}

impl Authority {
    /// Until it is acknowledged, refused, taken back or lapsed; in a task of its own, so that it has an owner even when
    /// the store is slower than any responder waits.
    pub(super) async fn offer(
        &self,
        session: &SessionId,
        turn: &TurnId,
        pull: &Arc<Pull>,
        cancel: &CancellationToken,
    ) -> Dispatched {
        let limits = self.limits();
        let bound = limits.dispatch + limits.lease_max + limits.persistence + limits.publish;
        let (own, session, turn, offered) = (self.clone(), session.clone(), turn.clone(), pull.offer(turn));
        let cancel = cancel.clone();
        let task = self
            .0
            .parts
            .tasks
            .spawn("offer", async move { own.follow_offer(&session, &turn, &offered, &cancel).await });
        match tokio::time::timeout(bound, task).await {
            Ok(Ok(dispatched)) => dispatched,
            Ok(Err(_)) | Err(_) => Dispatched::Failed(unknown()),
        }
    }

    async fn follow_offer(
        &self,
        session: &SessionId,
        turn: &TurnId,
        offered: &Offered,
        cancel: &CancellationToken,
    ) -> Dispatched {
        let deadline = Instant::now() + self.limits().dispatch;
        let (drain, stop) = (&self.0.drain, self.0.parts.tasks.stop());
        let mut hint = self.0.hints.subscribe(session);
        loop {
            hint.borrow_and_update();
            let is_withdrawn = deadline <= Instant::now() || drain.is_cancelled() || cancel.is_cancelled();
            let wait = match self.standing(session, turn).await {
                Ok(Standing::Open) if is_withdrawn => {
                    match self.end_offer(session, Command::RevokeDispatch(turn.clone())).await {
                        Some(ended) => return ended,
                        None => Duration::ZERO,
                    }
                }
                Ok(Standing::Open) => deadline.saturating_duration_since(Instant::now()),
                Ok(Standing::Leased(until)) => match until.since(self.0.parts.clock.now()) {
                    Duration::ZERO => match self.end_offer(session, Command::LapseLease(turn.clone())).await {
                        Some(ended) => return ended,
                        None => Duration::ZERO,
                    },
                    left => left,
                },
                Ok(Standing::Acknowledged) => return self.publish(session, turn).await,
                Ok(Standing::Closed) => return offered.refusal().map_or(Dispatched::Overtaken, too_late),
                Ok(Standing::Gone) => return offered.refusal().map_or(Dispatched::Overtaken, refused),
                Err(error) => {
                    tracing::warn!(%error, "an offered dispatch could not be looked at");
                    self.limits().poll
                }
            };
            tokio::select! {
                _ = hint.changed() => {}
                () = tokio::time::sleep(wait.min(self.limits().poll)) => {}
                () = drain.cancelled(), if !drain.is_cancelled() => {}
                () = cancel.cancelled(), if !cancel.is_cancelled() => {}
                // The next start finds as much as this one would.
                () = stop.cancelled() => return Dispatched::Failed(unknown()),
            }
        }
    }

    async fn standing(&self, session: &SessionId, id: &TurnId) -> Result<Standing, Error> {
        let focus = Focus { turn_id: Some(id.clone()), ..Focus::default() };
        let view = self.store().view(session, focus).await?;
        let Some(turn) = view.turn(id) else { return Ok(Standing::Gone) };
        Ok(match (&turn.reservation, &turn.lease) {
            (None, _) => Standing::Closed,
            (Some(reservation), _) if reservation.is_acknowledged => Standing::Acknowledged,
            (Some(_), Some(lease)) => Standing::Leased(lease.until),
            (Some(_), None) => Standing::Open,
        })
    }

    /// Takes an offer back, or lets a lease lapse; none: it moved first, and has to be looked at again.
    async fn end_offer(&self, session: &SessionId, command: Command) -> Option<Dispatched> {
        match self.transact(session, command).await {
            Ok(passed) => Some(Dispatched::Failed(match passed.decision.effect {
                Effect::Closed(DispatchOutcome::Unknown) => unknown(),
                _ => Failure::retryable(
                    DeliveryFailure::Rejected,
                    "No worker claimed it in time; it was taken back.",
                ),
            })),
            Err(Error::Refused(Refusal::Stale | Refusal::NotFound)) => None,
            Err(error) => {
                tracing::error!(%error, "an offer could not be ended");
                tokio::time::sleep(self.limits().poll).await;
                None
            }
        }
    }
}

fn refused(reason: String) -> Dispatched {
    let message = if reason.is_empty() {
        "The worker refused it.".to_owned()
    } else {
        format!("The worker refused it: {reason}")
    };
    Dispatched::Failed(Failure::retryable(DeliveryFailure::Rejected, message))
}

/// A message of its turn proves that an agent works on what the worker then refused.
fn too_late(_reason: String) -> Dispatched {
    Dispatched::Failed(unknown())
}
