//! What a runtime does with bundles: withdraw, detach; and what an operator settles.
//! May import: access, lifecycle, ids.

use crate::access::Viewer;
use crate::ids::{PendingId, SessionId, TurnId};
use crate::lifecycle::{Command, EventKind, Question};

use super::identify::allow;
use super::{Authority, Error};

/// Bundles of a session that are searched for the one that a dispatch answers, newest first.
const DISPATCHED_MAX: i64 = 100;

impl Authority {
    /// Withdraws a live bundle; a detached one is skipped instead (decisions 4).
    ///
    /// # Errors
    /// Not found, not live, or a conflict.
    pub async fn cancel_clarification(&self, viewer: &Viewer, pending_id: &PendingId) -> Result<(), Error> {
        allow(viewer.may_run())?;
        let session = self.session_of_bundle(viewer, pending_id).await?;
        self.transact(&session, Command::Cancel(pending_id.clone())).await.map(drop)
    }

    /// Marks what a turn asked as detached; returns how many questions flipped. A second call flips none.
    ///
    /// # Errors
    /// Not found.
    pub async fn detach_clarifications(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        turn: Option<TurnId>,
    ) -> Result<usize, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        let rows = self.store().sessions(std::slice::from_ref(&session)).await?;
        let current = rows.into_iter().next().and_then(|row| row.current_turn);
        let Some(turn) = turn.or(current) else { return Ok(0) };
        let events = self.transact(&session, Command::Detach(turn)).await?.decision.events;
        Ok(events.iter().filter(|event| matches!(event.kind, EventKind::MessageUpdated { .. })).count())
    }

    /// Records what an operator found out about a dispatch of unknown outcome. The bundle stays as it is.
    ///
    /// # Errors
    /// Not found; no such dispatch is open.
    pub async fn resolve_ambiguous(
        &self,
        viewer: &Viewer,
        turn: &TurnId,
        was_accepted: bool,
    ) -> Result<(), Error> {
        allow(viewer.may_operate())?;
        let session = self.session_of_turn(viewer, turn).await?;
        let recent = self.store().bundles_of_session(&session, DISPATCHED_MAX).await?;
        let is_it = |q: &Question| q.dispatched_turn_id.as_ref() == Some(turn);
        let answered = recent.into_iter().map(|row| row.bundle).find(|bundle| bundle.questions.iter().any(is_it));
        let pending_id = answered.map(|bundle| bundle.pending_id);
        let command = Command::ResolveAmbiguous { turn_id: turn.clone(), pending_id, was_accepted };
        self.transact(&session, command).await.map(drop)
    }
}
