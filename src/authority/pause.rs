//! The clarification pause: an agent that lost its wait and did not come back is stopped, if its turn is still the
//! one that asked (decisions 12). May import: dispatch, lifecycle, ids.

use crate::ids::{PendingId, SessionId, TurnId};
use crate::lifecycle::{Command, Effect, ExpectedTurn};

use super::Authority;

impl Authority {
    /// Pauses the session after the grace, unless somebody waits again or the turn has moved on.
    pub(super) fn pause_later(&self, session: &SessionId, turn: &TurnId, pending_id: &PendingId) {
        let (own, session, turn, pending_id) = (self.clone(), session.clone(), turn.clone(), pending_id.clone());
        self.0.parts.tasks.spawn("pause", async move {
            tokio::select! {
                () = tokio::time::sleep(own.limits().reattach_grace) => own.pause(&session, turn, &pending_id).await,
                () = own.0.drain.cancelled() => {}
            }
        });
    }

    async fn pause(&self, session: &SessionId, turn: TurnId, pending_id: &PendingId) {
        match self.is_abandoned(pending_id).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!(%error, "a pause could not look at its bundle"),
        }
        match self.transact(session, Command::CancelTurn(ExpectedTurn::Turn(turn))).await {
            Ok(passed) => {
                if let Effect::Interrupt(turn) = passed.decision.effect {
                    tracing::info!(session.id = %session, turn.id = %turn, "the turn was paused");
                    self.interrupt(session, &turn);
                }
            }
            Err(error) => tracing::debug!(%error, "the pause came too late"),
        }
    }

    /// Still undecided, nobody waits, and there is an executor that can resume the session.
    async fn is_abandoned(&self, pending_id: &PendingId) -> Result<bool, super::Error> {
        let rows = self.store().bundles(std::slice::from_ref(pending_id)).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(false) };
        let is_open = row.bundle.pending().next().is_some() && row.is_current && !row.has_waiter;
        let sessions = self.store().sessions(std::slice::from_ref(&row.session_id)).await?;
        let has_executor = sessions.first().is_some_and(|row| row.session.executor.is_some());
        Ok(is_open && has_executor)
    }
}
