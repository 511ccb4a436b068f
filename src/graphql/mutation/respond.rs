//! Answering and skipping one exact bundle. May import: authority, lifecycle, ids.

use async_graphql::{ComplexObject, Context, ID, InputObject, Object, Result, SimpleObject, Union};

use crate::authority::{self, Responded};
use crate::ids::{ClientKey, OptionId, PendingId, QuestionId, TurnId};
use crate::lifecycle::Refusal;

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::{
    Clarification, ClarificationResponse, ConflictReason, DeliveryFailure, FieldError, Member, NotFound, Refused,
    Turn,
};

/// Answers to one exact bundle.
#[derive(InputObject)]
pub struct RespondInput {
    /// The bundle.
    pending_id: ID,
    /// One answer for each question that is still pending, in any order.
    answers: Vec<AnswerInput>,
    /// The turn that the person saw; the response is refused when another one asks. Null: do not check.
    expected_turn_id: Option<ID>,
    /// Makes the response idempotent for this caller and bundle: sent again with the same body, it returns its own
    /// first outcome. 1 to 200 code points.
    client_key: String,
}

/// The answer to one question.
#[derive(InputObject)]
pub struct AnswerInput {
    /// The question's id inside the bundle.
    question_id: ID,
    /// Chosen options; several only with `multiSelect`.
    #[graphql(default)]
    option_ids: Vec<ID>,
    /// Free text, at most 2,000 code points; only with `allowCustomText`. Null: none.
    custom_text: Option<String>,
}

/// The skip of one exact bundle.
#[derive(InputObject)]
pub struct SkipInput {
    /// The bundle.
    pending_id: ID,
    /// Why, for the agent; at most 2,000 code points. Null: no reason.
    reason: Option<String>,
    /// The turn that the person saw; the response is refused when another one asks. Null: do not check.
    expected_turn_id: Option<ID>,
    /// Makes the skip idempotent for this caller and bundle. 1 to 200 code points.
    client_key: String,
}

/// What came of a response to a bundle.
#[derive(Union)]
pub enum ResponseResult {
    Accepted(ResponseAccepted),
    Conflict(ResponseConflict),
    Failed(DeliveryFailed),
    Invalid(InvalidResponse),
    NotFound(NotFound),
    Refused(Refused),
}

/// The response stands, durably: its agent has it, or the turn that carries it runs, or it was a skip that nobody
/// waits for.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct ResponseAccepted {
    #[graphql(skip)]
    pending_id: PendingId,
    #[graphql(skip)]
    dispatched: Option<TurnId>,
    /// The same client key came before; this is its first outcome.
    replayed: bool,
}

#[ComplexObject]
impl ResponseAccepted {
    /// The bundle as it stands now; null: it was deleted meanwhile.
    async fn clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        clarification(ctx, &self.pending_id).await
    }

    /// The turn that carries the answer; null: the agent waited for it, or it was a skip.
    async fn dispatched_turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.dispatched.clone()?;
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }
}

/// The bundle cannot take the response any more. Nothing was written.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct ResponseConflict {
    #[graphql(skip)]
    pending_id: PendingId,
    /// Why.
    reason: ConflictReason,
    /// Who decided it or is deciding it, and when; null: nobody did.
    winner: Option<ClarificationResponse>,
}

#[ComplexObject]
impl ResponseConflict {
    /// The bundle as it stands now; null: it was deleted meanwhile.
    async fn clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        clarification(ctx, &self.pending_id).await
    }
}

/// The response was taken and did not reach its agent.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct DeliveryFailed {
    #[graphql(skip)]
    pending_id: PendingId,
    /// True: it was given back, the same answer can be sent again. False: it may have reached the agent.
    retryable: bool,
    /// Why.
    code: DeliveryFailure,
    /// The same in words.
    message: String,
    /// The task's summary shows what is pending. False: it is brought up to date when the task is next read; that makes
    /// nothing unsafe to send again.
    summary_converged: bool,
}

#[ComplexObject]
impl DeliveryFailed {
    /// The bundle as it stands now; null: it was deleted meanwhile.
    async fn clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        clarification(ctx, &self.pending_id).await
    }
}

/// The answers are wrong. Nothing was written.
#[derive(SimpleObject)]
pub struct InvalidResponse {
    /// Everything that is wrong; at least one.
    errors: Vec<FieldError>,
}

async fn clarification(ctx: &Context<'_>, id: &PendingId) -> Option<Result<Clarification>> {
    let found = async { load(ctx)?.load_one(id.clone()).await.map_err(fault) };
    Some(found.await.transpose()?.map(Clarification))
}

fn refused(pending_id: PendingId, refusal: Refusal) -> ResponseResult {
    match refusal {
        Refusal::Conflict { reason, winner } => ResponseResult::Conflict(ResponseConflict {
            pending_id,
            reason: reason.into(),
            winner: winner.as_ref().map(ClarificationResponse::from),
        }),
        Refusal::Invalid(errors) => {
            ResponseResult::Invalid(InvalidResponse { errors: errors.into_iter().map(FieldError::from).collect() })
        }
        other => match other.into() {
            Member::NotFound(member) => ResponseResult::NotFound(member),
            Member::Refused(member) => ResponseResult::Refused(member),
            Member::InvalidInput(_) => ResponseResult::Invalid(InvalidResponse { errors: Vec::new() }),
        },
    }
}

fn told(pending: PendingId, result: std::result::Result<Responded, authority::Error>) -> Result<ResponseResult> {
    match result {
        Ok(Responded::Accepted { pending_id, is_replayed, dispatched_turn }) => {
            let (replayed, dispatched) = (is_replayed, dispatched_turn);
            Ok(ResponseResult::Accepted(ResponseAccepted { pending_id, dispatched, replayed }))
        }
        Ok(Responded::Failed { pending_id, failure }) => Ok(ResponseResult::Failed(DeliveryFailed {
            pending_id,
            retryable: failure.is_retryable,
            code: failure.code.into(),
            message: failure.message,
            summary_converged: failure.is_converged,
        })),
        Err(authority::Error::Refused(refusal)) => Ok(refused(pending, refusal)),
        Err(error) => Err(fault(error)),
    }
}

impl From<AnswerInput> for authority::AnswerInput {
    fn from(input: AnswerInput) -> Self {
        Self {
            question_id: QuestionId::new(input.question_id.0),
            option_ids: input.option_ids.into_iter().map(|id| OptionId::new(id.0)).collect(),
            custom_text: input.custom_text,
        }
    }
}

#[derive(Default)]
pub struct Respond;

#[Object]
impl Respond {
    /// Answers one exact bundle, whole. For persons. At most one `respond` or `skip` stands in a document.
    async fn respond(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle and its answers.")] input: RespondInput,
    ) -> Result<ResponseResult> {
        let pending_id = PendingId::new(input.pending_id.0);
        let request = authority::RespondInput {
            pending_id: pending_id.clone(),
            answers: input.answers.into_iter().map(Into::into).collect(),
            expected_turn_id: input.expected_turn_id.map(|id| TurnId::new(id.0)),
            client_key: ClientKey::new(input.client_key),
        };
        told(pending_id, authority(ctx)?.respond(viewer(ctx)?, request).await)
    }

    /// Skips one exact bundle: its agent learns that a person declined to answer. For persons.
    async fn skip(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle, and why.")] input: SkipInput,
    ) -> Result<ResponseResult> {
        let pending_id = PendingId::new(input.pending_id.0);
        let request = authority::SkipInput {
            pending_id: pending_id.clone(),
            reason: input.reason.unwrap_or_default(),
            expected_turn_id: input.expected_turn_id.map(|id| TurnId::new(id.0)),
            client_key: ClientKey::new(input.client_key),
        };
        told(pending_id, authority(ctx)?.skip(viewer(ctx)?, request).await)
    }
}
