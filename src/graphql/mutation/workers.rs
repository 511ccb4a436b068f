//! What workers do that come for dispatches. May import: authority, ids.

use std::time::Duration;

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use crate::authority::{ClaimDispatch, Claimed, LeaseKey};
use crate::ids::TurnId;

use super::super::context::{authority, viewer};
use super::super::types::DateTime;
use super::ask::SpokenAnswer;
use super::{answer, result_union};

/// The dispatch that a worker wants.
#[derive(InputObject)]
pub struct ClaimDispatchInput {
    /// The executor whose worker this is; a dispatch of another one is not found.
    executor: String,
    /// As `dispatchAvailable` told it.
    dispatch_id: ID,
    /// Seconds until it must be acknowledged, 1 to the server's longest lease; null: as the server's setting says.
    lease_seconds: Option<i32>,
}

/// A dispatch that this worker claimed.
#[derive(InputObject)]
pub struct LeaseInput {
    /// The dispatch.
    dispatch_id: ID,
    /// As it was told at the claim. With another one the dispatch is not found.
    lease_token: String,
}

impl From<LeaseInput> for LeaseKey {
    fn from(input: LeaseInput) -> Self {
        Self { dispatch_id: TurnId::new(input.dispatch_id.0), lease_token: input.lease_token }
    }
}

/// A dispatch that is this worker's alone: acknowledge it before the lease ends, or refuse it. What is neither has an
/// unknown outcome, and nobody is given it again.
pub struct ClaimDispatchPayload(Claimed);

/// A dispatch that is this worker's alone: acknowledge it before the lease ends, or refuse it. What is neither has an
/// unknown outcome, and nobody is given it again.
#[Object]
impl ClaimDispatchPayload {
    /// The dispatch; it is also the id of the turn that begins with it.
    async fn dispatch_id(&self) -> ID {
        self.0.dispatch.turn_id.as_str().into()
    }

    /// Names this claim in what the worker says later. It is shown this once and stored hashed.
    async fn lease_token(&self) -> &str {
        &self.0.lease_token
    }

    /// Until when it must be acknowledged.
    async fn lease_until(&self) -> DateTime {
        self.0.lease_until.into()
    }

    /// The session.
    async fn session_id(&self) -> ID {
        self.0.dispatch.session_id.as_str().into()
    }

    /// What the agent is to read.
    async fn prompt(&self) -> &str {
        &self.0.dispatch.prompt
    }

    /// The prompt's number in its session; name it when the agent is ready.
    async fn generation(&self) -> String {
        self.0.dispatch.generation.to_string()
    }

    /// The answered bundle; null: it is a plain prompt.
    async fn pending_id(&self) -> Option<ID> {
        self.0.dispatch.pending_id.as_ref().map(|id| id.as_str().into())
    }

    /// The turn that asked; null: it is a plain prompt.
    async fn source_turn_id(&self) -> Option<ID> {
        self.0.dispatch.source_turn_id.as_ref().map(|id| id.as_str().into())
    }

    /// What was answered, in the words that were asked; empty for a plain prompt.
    async fn answers(&self) -> Vec<SpokenAnswer> {
        self.0.dispatch.answers.iter().cloned().map(SpokenAnswer::from).collect()
    }

    /// The agent's turn before this one has not ended: stop it first.
    async fn is_interrupt(&self) -> bool {
        self.0.dispatch.is_interrupt
    }
}

/// The worker took it.
#[derive(SimpleObject)]
pub struct AckDispatchPayload {
    /// The dispatch.
    dispatch_id: ID,
    /// It was acknowledged before.
    replayed: bool,
}

/// The worker refused it: what it answers can be answered again.
#[derive(SimpleObject)]
pub struct RejectDispatchPayload {
    /// The dispatch that was.
    dispatch_id: ID,
}

/// The worker has longer.
#[derive(SimpleObject)]
pub struct ExtendLeasePayload {
    /// The dispatch.
    dispatch_id: ID,
    /// Until when it must be acknowledged now. It lies never beyond the server's longest lease.
    lease_until: DateTime,
}

result_union! {
    /// What came of claiming a dispatch. `STALE`: another worker was quicker, or it was taken back.
    ClaimDispatchResult(ClaimDispatchPayload)
}
result_union! {
    /// What came of acknowledging a dispatch. `STALE`: its lease had ended, so its outcome is unknown and stays so.
    AckDispatchResult(AckDispatchPayload)
}
result_union! {
    /// What came of refusing a dispatch. `STALE`: it was acknowledged, or its lease had ended.
    RejectDispatchResult(RejectDispatchPayload)
}
result_union! {
    /// What came of asking for more time. `STALE`: it was acknowledged, or its lease had ended.
    ExtendLeaseResult(ExtendLeasePayload)
}

#[derive(Default)]
pub struct Workers;

#[Object]
impl Workers {
    /// Gives a dispatch to the caller and to no other, ever. For runtimes. A caller that does not hear the result knows
    /// nothing of it: the lease ends, and the outcome is unknown.
    async fn claim_dispatch(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which dispatch, and for how long.")] input: ClaimDispatchInput,
    ) -> Result<ClaimDispatchResult> {
        let claim = ClaimDispatch {
            executor: input.executor,
            dispatch_id: TurnId::new(input.dispatch_id.0),
            lease: input.lease_seconds.map(seconds),
        };
        answer(authority(ctx)?.claim_dispatch(viewer(ctx)?, claim).await, |claimed| {
            ClaimDispatchResult::Done(ClaimDispatchPayload(claimed))
        })
    }

    /// Says that the agent took a claimed dispatch. Said again, it is the same. For runtimes.
    async fn ack_dispatch(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The claimed dispatch.")] input: LeaseInput,
    ) -> Result<AckDispatchResult> {
        let dispatch_id = input.dispatch_id.clone();
        answer(authority(ctx)?.ack_dispatch(viewer(ctx)?, &input.into()).await, |done| {
            AckDispatchResult::Done(AckDispatchPayload { dispatch_id, replayed: done.is_replayed })
        })
    }

    /// Says that no agent took a claimed dispatch, and none will. For runtimes.
    async fn reject_dispatch(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The claimed dispatch.")] input: LeaseInput,
        #[graphql(desc = "Why, for the person who answered; empty: unsaid.", default)] reason: String,
    ) -> Result<RejectDispatchResult> {
        let dispatch_id = input.dispatch_id.clone();
        answer(authority(ctx)?.reject_dispatch(viewer(ctx)?, &input.into(), reason).await, |()| {
            RejectDispatchResult::Done(RejectDispatchPayload { dispatch_id })
        })
    }

    /// Asks for more time to acknowledge a claimed dispatch. For runtimes.
    async fn extend_lease(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The claimed dispatch.")] input: LeaseInput,
        #[graphql(desc = "Seconds from now, 1 to the server's longest lease.")] lease_seconds: i32,
    ) -> Result<ExtendLeaseResult> {
        let dispatch_id = input.dispatch_id.clone();
        let extended = authority(ctx)?.extend_lease(viewer(ctx)?, &input.into(), seconds(lease_seconds)).await;
        answer(extended, |until| {
            ExtendLeaseResult::Done(ExtendLeasePayload { dispatch_id, lease_until: until.into() })
        })
    }
}

/// What is below nothing is nothing, which the domain refuses by name.
fn seconds(count: i32) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}
