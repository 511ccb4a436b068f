//! Turns, for runtimes. May import: authority, lifecycle, ids.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use crate::authority::{Completed, Readiness, StartTurn};
use crate::ids::{ClientKey, Generation, SessionId, TurnId};
use crate::lifecycle::ExpectedTurn;

use super::super::context::{authority, load, viewer};
use super::super::fault::{bad_argument, fault};
use super::super::types::{Turn, TurnKind};
use super::{answer, result_union};

/// A turn that the runtime runs itself.
#[derive(InputObject)]
pub struct StartTurnInput {
    /// The session.
    session_id: ID,
    /// The prompt, for the transcript; empty: the runtime keeps it to itself.
    #[graphql(default)]
    prompt: String,
    /// What the turn is for.
    #[graphql(default_with = "TurnKind::Work")]
    kind: TurnKind,
    /// The turn that must be current; null: do not check.
    expected_turn_id: Option<ID>,
    /// No turn must be current yet. Not together with `expectedTurnId`.
    #[graphql(default)]
    expect_no_turn: bool,
    /// Makes it idempotent for this caller and session; null: it is not.
    client_key: Option<String>,
}

/// The turn to stop.
#[derive(InputObject)]
pub struct CancelTurnInput {
    /// The session.
    session_id: ID,
    /// The turn that must be current; null: no turn is.
    expected_turn_id: Option<ID>,
}

/// A turn.
pub struct StartTurnPayload {
    id: TurnId,
}

/// A turn.
#[Object]
impl StartTurnPayload {
    /// The turn's id.
    async fn turn_id(&self) -> ID {
        self.id.as_str().into()
    }

    /// The turn; null: it was deleted meanwhile.
    async fn turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }
}

/// A turn that is over.
#[derive(SimpleObject)]
pub struct CompleteTurnPayload {
    /// The turn.
    turn_id: ID,
    /// Nothing answerable is left in its session, so a workflow may go on.
    workflow_may_advance: bool,
    /// Why not; null: it may.
    reason: Option<String>,
}

impl From<Completed> for CompleteTurnPayload {
    fn from(completed: Completed) -> Self {
        let reason = "a question of the session waits for an answer";
        Self {
            turn_id: completed.turn_id.as_str().into(),
            workflow_may_advance: completed.may_advance,
            reason: (!completed.may_advance).then(|| reason.to_owned()),
        }
    }
}

/// What was stopped.
#[derive(SimpleObject)]
pub struct CancelTurnPayload {
    /// The turn; null: there was nothing to stop.
    turn_id: Option<ID>,
}

/// What came of the agent's being ready.
#[derive(SimpleObject)]
pub struct AgentReadyPayload {
    /// The turn that it ended; null: the event belongs to no open turn and was dropped.
    completed: Option<CompleteTurnPayload>,
}

result_union! {
    /// What came of starting a turn.
    StartTurnResult(StartTurnPayload)
}
result_union! {
    /// What came of completing a turn.
    CompleteTurnResult(CompleteTurnPayload)
}
result_union! {
    /// What came of stopping a turn.
    CancelTurnResult(CancelTurnPayload)
}
result_union! {
    /// What came of reporting an agent ready.
    AgentReadyResult(AgentReadyPayload)
}

fn expected(input: &StartTurnInput) -> Result<Option<ExpectedTurn>> {
    match (&input.expected_turn_id, input.expect_no_turn) {
        (Some(_), true) => {
            Err(bad_argument("expectNoTurn", 0, "expectNoTurn and expectedTurnId exclude each other".into()))
        }
        (Some(id), false) => Ok(Some(ExpectedTurn::Turn(TurnId::new(id.as_str())))),
        (None, true) => Ok(Some(ExpectedTurn::NoTurn)),
        (None, false) => Ok(None),
    }
}

#[derive(Default)]
pub struct Turns;

#[Object]
impl Turns {
    /// Starts a turn that the caller runs. What older turns asked cannot be answered any more. For runtimes.
    async fn start_turn(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The turn to start.")] input: StartTurnInput,
    ) -> Result<StartTurnResult> {
        let start = StartTurn {
            expected: expected(&input)?,
            session_id: SessionId::new(input.session_id.0),
            prompt: input.prompt,
            kind: input.kind.into(),
            client_key: input.client_key.map(ClientKey::new),
        };
        let made = authority(ctx)?.start_turn(viewer(ctx)?, start).await;
        answer(made, |id| StartTurnResult::Done(StartTurnPayload { id }))
    }

    /// Ends a turn's work. What it asked stays answerable, detached. For runtimes.
    async fn complete_turn(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "The turn's id.")] turn_id: ID,
    ) -> Result<CompleteTurnResult> {
        let (session, turn) = (SessionId::new(session_id.0), TurnId::new(turn_id.0));
        let done = authority(ctx)?.complete_turn(viewer(ctx)?, &session, &turn).await;
        answer(done, |completed| CompleteTurnResult::Done(completed.into()))
    }

    /// Stops the current turn, if it is the one that the caller expects.
    async fn cancel_turn(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session and the turn that is expected.")] input: CancelTurnInput,
    ) -> Result<CancelTurnResult> {
        let turn = input.expected_turn_id.map(|id| ExpectedTurn::Turn(TurnId::new(id.0)));
        let session = SessionId::new(input.session_id.0);
        let expected = turn.unwrap_or(ExpectedTurn::NoTurn);
        let done = authority(ctx)?.cancel_turn(viewer(ctx)?, &session, expected).await;
        let payload = |turn: Option<TurnId>| CancelTurnPayload { turn_id: turn.map(|id| id.as_str().into()) };
        answer(done, |turn| CancelTurnResult::Done(payload(turn)))
    }

    /// The agent is ready for more, so the turn of that prompt is over. For runtimes.
    async fn report_agent_ready(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(
            desc = "The number of the prompt that it finished, as `Turn.generation` says; null: not known. \
                          Then the event is dropped where it overlaps a dispatch."
        )]
        generation: Option<String>,
    ) -> Result<AgentReadyResult> {
        let unreadable = || bad_argument("generation", 0, "generation must be a decimal number".into());
        let parse = |text: String| text.parse::<i64>().map(Generation).map_err(|_number| unreadable());
        let generation = generation.map(parse).transpose()?;
        let session = SessionId::new(session_id.0);
        let done = authority(ctx)?.report_agent_ready(viewer(ctx)?, &session, generation).await;
        answer(done, |readiness| {
            let completed = match readiness {
                Readiness::Completed(completed) => Some(completed.into()),
                Readiness::Dropped => None,
            };
            AgentReadyResult::Done(AgentReadyPayload { completed })
        })
    }
}
