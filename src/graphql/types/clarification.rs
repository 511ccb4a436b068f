//! A bundle of questions. May import: store, lifecycle, ids.

use async_graphql::{Context, ID, Object, Result};

use crate::ids::{Micros, PendingId, TurnId};
use crate::lifecycle::{BundleState, outcome};
use crate::store::BundleRow;

use super::super::context::{load, viewer};
use super::super::fault::fault;
use super::enums::{ClarificationState, DispatchOutcome, OutcomeStatus};
use super::projection::Revision;
use super::question::{ClarificationQuestion, may_read_answer};
use super::{ClarificationResponse, DateTime, TaskSession, Turn};

/// Questions that were asked together.
pub struct Clarification(pub(crate) BundleRow);

impl Clarification {
    /// Its place in the inbox.
    pub(crate) fn key(row: &BundleRow) -> (Micros, PendingId) {
        (row.created_at(), row.bundle.pending_id.clone())
    }

    fn is_active(&self) -> bool {
        matches!(self.0.state(), BundleState::ActiveLive | BundleState::ActiveDetached)
    }
}

async fn turn(ctx: &Context<'_>, id: Option<&TurnId>) -> Option<Result<Turn>> {
    let id = id?.clone();
    let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
    Some(found.await.transpose()?.map(Turn))
}

/// Questions that were asked together and are answered or skipped together.
#[Object]
impl Clarification {
    /// Opaque; names this bundle for ever. The same as `pendingId`.
    pub(super) async fn id(&self) -> ID {
        self.0.bundle.pending_id.as_str().into()
    }

    /// What `respond` and `skip` name.
    async fn pending_id(&self) -> ID {
        self.0.bundle.pending_id.as_str().into()
    }

    /// Where it stands.
    async fn state(&self) -> ClarificationState {
        self.0.state().into()
    }

    /// How it ended for its agent, or that it has not.
    async fn outcome(&self) -> OutcomeStatus {
        outcome(&self.0.bundle, self.0.is_current, !self.0.session_state.is_terminal()).status.into()
    }

    /// The agent does not wait for it any more.
    async fn agent_disconnected(&self) -> bool {
        self.0.bundle.questions.iter().any(|row| row.is_detached)
    }

    /// Shared background of the questions; may be empty.
    async fn context(&self) -> &str {
        self.0.bundle.questions.first().map_or("", |row| row.context.as_str())
    }

    /// The session that asks; null: it was deleted meanwhile.
    async fn session(&self, ctx: &Context<'_>) -> Option<Result<TaskSession>> {
        let id = self.0.session_id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(TaskSession))
    }

    /// The turn that asks; null: it has none (imported rows), or the turn is not shown.
    async fn turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        turn(ctx, self.0.bundle.turn_id()).await
    }

    /// The questions, in the order they were asked.
    async fn questions(&self, ctx: &Context<'_>) -> Result<Vec<ClarificationQuestion>> {
        let viewer = viewer(ctx)?;
        let rows = self.0.bundle.questions.iter().cloned();
        let question =
            |row| ClarificationQuestion { is_masked: !may_read_answer(viewer, &self.0.session_id, &row), row };
        Ok(rows.map(question).collect())
    }

    /// The caller can answer it now.
    async fn can_respond(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.is_active() && viewer(ctx)?.may_answer())
    }

    /// The caller can skip it now.
    async fn can_skip(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.is_active() && viewer(ctx)?.may_answer())
    }

    /// The version of what is derived here, the same count as its session's projection.
    async fn revision(&self) -> Revision {
        self.0.revision.into()
    }

    /// Who decided it; null: nobody, or the response is still being delivered.
    async fn response(&self) -> Option<ClarificationResponse> {
        ClarificationResponse::of(&self.0.bundle)
    }

    /// The current turn, where that is a newer one; null: none is, or no agent is known to have accepted it yet.
    async fn superseded_by(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let is_history = self.0.state() == BundleState::SupersededHistory;
        turn(ctx, self.0.current_visible.as_ref().filter(|_| is_history)).await
    }

    /// The turn that carried the answer; null: the agent waited for it, or there is none yet.
    async fn dispatched_turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let ids = self.0.bundle.questions.iter().find_map(|row| row.dispatched_turn_id.as_ref());
        turn(ctx, ids).await
    }

    /// What is known of that turn's dispatch; null: there was none.
    async fn dispatch_outcome(&self) -> Option<DispatchOutcome> {
        self.0.bundle.questions.iter().find_map(|row| row.dispatch_outcome).map(Into::into)
    }

    /// When it was asked.
    async fn created_at(&self) -> DateTime {
        self.0.created_at().into()
    }
}
