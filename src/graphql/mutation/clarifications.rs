//! What a runtime does with bundles. May import: authority, ids.

use async_graphql::{Context, ID, Object, Result, SimpleObject};

use crate::ids::{PendingId, SessionId, TurnId};

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::Clarification;
use super::{answer, result_union};

/// The bundle is withdrawn.
pub struct CancelClarificationPayload {
    id: PendingId,
}

/// The bundle is withdrawn.
#[Object]
impl CancelClarificationPayload {
    /// The bundle.
    async fn pending_id(&self) -> ID {
        self.id.as_str().into()
    }

    /// The bundle as it stands now; null: it was deleted meanwhile.
    async fn clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        let id = self.id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Clarification))
    }
}

/// Nobody waits any more.
#[derive(SimpleObject)]
pub struct DetachClarificationsPayload {
    /// Questions that this call detached; 0 when it is repeated.
    detached: i32,
}

result_union! {
    /// What came of withdrawing a bundle.
    CancelClarificationResult(CancelClarificationPayload)
}
result_union! {
    /// What came of detaching.
    DetachClarificationsResult(DetachClarificationsPayload)
}

#[derive(Default)]
pub struct Clarifications;

#[Object]
impl Clarifications {
    /// Withdraws a bundle that its agent waits for. A detached one is refused as `NOT_LIVE`: skip it. For runtimes.
    async fn cancel_clarification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle's `pendingId`.")] pending_id: ID,
    ) -> Result<CancelClarificationResult> {
        let id = PendingId::new(pending_id.0);
        let done = authority(ctx)?.cancel_clarification(viewer(ctx)?, &id).await;
        answer(done, |()| CancelClarificationResult::Done(CancelClarificationPayload { id }))
    }

    /// Marks what a turn asked as detached: its agent is gone, the questions stay answerable. For runtimes.
    async fn detach_clarifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "The turn's id; null: the current one.")] turn_id: Option<ID>,
    ) -> Result<DetachClarificationsResult> {
        let turn = turn_id.map(|id| TurnId::new(id.0));
        let done = authority(ctx)?.detach_clarifications(viewer(ctx)?, &SessionId::new(session_id.0), turn).await;
        let payload = |count| DetachClarificationsPayload { detached: i32::try_from(count).unwrap_or(i32::MAX) };
        answer(done, |count: usize| DetachClarificationsResult::Done(payload(count)))
    }
}
