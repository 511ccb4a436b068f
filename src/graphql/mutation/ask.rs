//! Asking and waiting, for agents and their runtimes. May import: authority, lifecycle, ids.

use std::time::Duration;

use async_graphql::{ComplexObject, Context, ID, InputObject, Object, Result, SimpleObject};

use crate::access::Role;
use crate::authority::{self, Waiting};
use crate::ids::{ClientKey, PendingId, SessionId, TurnId};
use crate::lifecycle::{OptionInput, Outcome, QuestionInput};

use super::super::context::{authority, limits, load, receipts, viewer};
use super::super::fault::{bad_argument, fault};
use super::super::types::{Clarification, OutcomeStatus};
use super::{refused, result_union};

/// A bundle to ask.
#[derive(InputObject)]
pub struct AskClarificationInput {
    /// The session that asks.
    session_id: ID,
    /// One to four questions.
    questions: Vec<ClarificationQuestionInput>,
    /// Shared background, at most 4,000 code points.
    #[graphql(default)]
    context: String,
    /// Makes it idempotent in its turn: asked again, the same bundle is waited for. Null: equal questions of the same
    /// turn are the same while they are pending.
    client_key: Option<String>,
    /// The turn that must be current; null: do not check.
    expected_turn_id: Option<ID>,
    /// Seconds to wait for the answer, 0 to the server's limit, which is 600 unless it is set otherwise. While
    /// nobody waits, an answer starts a new turn.
    #[graphql(default)]
    wait_seconds: i32,
}

/// A question to ask.
#[derive(InputObject)]
pub struct ClarificationQuestionInput {
    /// Its id inside the bundle; null: given by its place, `q1` and so on.
    id: Option<ID>,
    /// A short heading, at most 200 code points.
    #[graphql(default)]
    title: String,
    /// The question, 1 to 4,000 code points.
    prompt: String,
    /// None, or two to six choices.
    #[graphql(default)]
    options: Vec<ClarificationOptionInput>,
    /// Several options may be chosen.
    #[graphql(default)]
    multi_select: bool,
    /// A free text may be written.
    #[graphql(default = true)]
    allow_custom_text: bool,
    /// Its answer is shown to the session's agent and to who gave it only.
    #[graphql(default)]
    secret: bool,
}

/// A choice to offer.
#[derive(InputObject)]
pub struct ClarificationOptionInput {
    /// Its id inside the question; null: given by its place, `q1_opt1` and so on.
    id: Option<ID>,
    /// What a person reads, 1 to 200 code points.
    label: String,
    /// What it means, at most 1,000 code points.
    #[graphql(default)]
    description: String,
}

impl From<ClarificationQuestionInput> for QuestionInput {
    fn from(input: ClarificationQuestionInput) -> Self {
        let option = |option: ClarificationOptionInput| OptionInput {
            id: option.id.map(|id| id.0),
            label: option.label,
            description: option.description,
        };
        Self {
            id: input.id.map(|id| id.0),
            title: input.title,
            prompt: input.prompt,
            options: input.options.into_iter().map(option).collect(),
            multi_select: input.multi_select,
            allow_custom_text: input.allow_custom_text,
            secret: input.secret,
        }
    }
}

/// How a bundle stands for whoever asked it.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct ClarificationOutcome {
    #[graphql(skip)]
    id: PendingId,
    /// How it stands. `PENDING` says that nobody has decided in time, and nothing about a person's wish.
    status: OutcomeStatus,
    /// What was answered, in the order asked; questions without an answer are left out. Empty unless `ANSWERED`.
    answers: Vec<SpokenAnswer>,
    /// Why it was skipped; null: no reason was given, or it was not skipped.
    reject_reason: Option<String>,
    /// This call made the bundle.
    is_new: bool,
}

/// One answer in the words of its question.
#[derive(SimpleObject)]
pub struct SpokenAnswer {
    /// The question's id inside the bundle.
    question_id: ID,
    /// Labels of the chosen options, in the question's order.
    selected: Vec<String>,
    /// Free text; null: none was written.
    text: Option<String>,
}

impl From<crate::lifecycle::SpokenAnswer> for SpokenAnswer {
    fn from(answer: crate::lifecycle::SpokenAnswer) -> Self {
        Self { question_id: answer.question_id.as_str().into(), selected: answer.selected, text: answer.text }
    }
}

#[ComplexObject]
impl ClarificationOutcome {
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

result_union! {
    /// What came of asking.
    AskClarificationResult(ClarificationOutcome)
}
result_union! {
    /// What came of waiting.
    AwaitClarificationResult(ClarificationOutcome)
}

fn bound(ctx: &Context<'_>, argument: &str, seconds: i32) -> Result<Duration> {
    let max = limits(ctx)?.wait.as_secs();
    let allowed = u64::try_from(seconds).ok().filter(|seconds| *seconds <= max);
    let message = || format!("{argument} must be between 0 and {max}");
    let limit = i64::try_from(max).unwrap_or(i64::MAX);
    allowed.map(Duration::from_secs).ok_or_else(|| bad_argument(argument, limit, message()))
}

/// An outcome with whether a wait of this very call received it.
struct Heard {
    outcome: Outcome,
    is_waited: bool,
}

/// Waits, if there is something to wait for. The receipt is redeemed when the response was written.
async fn wait(
    ctx: &Context<'_>,
    outcome: Outcome,
    waiting: Option<Waiting>,
    bound: Duration,
) -> Result<std::result::Result<Heard, authority::Error>> {
    let Some(waiting) = waiting else { return Ok(Ok(Heard { outcome, is_waited: false })) };
    let (outcome, receipt) = match waiting.outcome(bound).await {
        Ok(heard) => heard,
        Err(error) => return Ok(Err(error)),
    };
    receipts(ctx)?.keep(receipt);
    Ok(Ok(Heard { outcome, is_waited: true }))
}

/// What is told of an outcome. An answer to a secret question goes to agents and runtimes, or to who waited for it.
async fn told(ctx: &Context<'_>, heard: Heard, is_new: bool) -> Result<ClarificationOutcome> {
    let Heard { outcome, is_waited } = heard;
    let is_agent = is_waited || matches!(viewer(ctx)?.role, Role::Agent | Role::Runtime);
    let secrets = match is_agent || outcome.answers.is_empty() {
        true => None,
        false => load(ctx)?.load_one(outcome.pending_id.clone()).await.map_err(fault)?,
    };
    let is_secret = |answer: &crate::lifecycle::SpokenAnswer| {
        let mut rows = secrets.iter().flat_map(|row| &row.bundle.questions);
        rows.any(|row| row.spec.id == answer.question_id && row.spec.secret)
    };
    let spoken = outcome.answers.iter().filter(|answer| !is_secret(answer));
    let answers = spoken.cloned().map(SpokenAnswer::from);
    Ok(ClarificationOutcome {
        answers: answers.collect(),
        id: outcome.pending_id,
        status: outcome.status.into(),
        reject_reason: Some(outcome.reject_reason).filter(|reason| !reason.is_empty()),
        is_new,
    })
}

#[derive(Default)]
pub struct Ask;

#[Object]
impl Ask {
    /// Asks a bundle of questions, whole or not at all, and waits for its answer if asked to. For agents and
    /// runtimes. A call that is given up detaches its bundle; the answer then starts a new turn.
    async fn ask_clarification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle to ask.")] input: AskClarificationInput,
    ) -> Result<AskClarificationResult> {
        let bound = bound(ctx, "waitSeconds", input.wait_seconds)?;
        let session = SessionId::new(input.session_id.0);
        let ask = authority::AskInput {
            questions: input.questions.into_iter().map(QuestionInput::from).collect(),
            context: input.context,
            client_key: input.client_key.map(ClientKey::new),
            expected_turn_id: input.expected_turn_id.map(|id| TurnId::new(id.0)),
        };
        let asked = match authority(ctx)?.ask(viewer(ctx)?, &session, ask, !bound.is_zero()).await {
            Ok(asked) => asked,
            Err(error) => return refused(error),
        };
        match wait(ctx, asked.outcome, asked.waiting, bound).await? {
            Ok(heard) => Ok(AskClarificationResult::Done(told(ctx, heard, asked.is_new).await?)),
            Err(error) => refused(error),
        }
    }

    /// Waits for a bundle again, or learns its recorded outcome at once. For agents and runtimes.
    async fn await_clarification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bundle's `pendingId`.")] pending_id: ID,
        #[graphql(desc = "Seconds to wait, 0 to the server's limit, which is 600 unless it is set otherwise.")]
        wait_seconds: i32,
    ) -> Result<AwaitClarificationResult> {
        let bound = bound(ctx, "waitSeconds", wait_seconds)?;
        let pending = PendingId::new(pending_id.0);
        let awaited = match authority(ctx)?.await_answer(viewer(ctx)?, &pending).await {
            Ok(awaited) => awaited,
            Err(error) => return refused(error),
        };
        match wait(ctx, awaited.outcome, awaited.waiting, bound).await? {
            Ok(heard) => Ok(AwaitClarificationResult::Done(told(ctx, heard, false).await?)),
            Err(error) => refused(error),
        }
    }
}
