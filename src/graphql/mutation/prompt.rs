//! A person's newer prompt. May import: authority, ids.

use async_graphql::{ComplexObject, Context, ID, InputObject, Object, Result, SimpleObject, Union};

use crate::authority::{Prompted, SendPrompt};
use crate::ids::{ClientKey, SessionId, TurnId};
use crate::lifecycle::Refusal;

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::{DeliveryFailure, InvalidInput, Member, NotFound, Refused, Turn};
use super::answer;

/// A person's newer prompt.
#[derive(InputObject)]
pub struct SendPromptInput {
    /// The session.
    session_id: ID,
    /// The prompt; at least one character.
    text: String,
    /// The turn that the person saw; refused when another one is current. Null: do not check.
    expected_turn_id: Option<ID>,
    /// Makes the prompt idempotent for this caller and session.
    client_key: String,
}

/// What came of a prompt.
#[derive(Union)]
pub enum SendPromptResult {
    Accepted(PromptAccepted),
    Failed(PromptFailed),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
    Refused(Refused),
}

/// The prompt is a turn. What older turns asked cannot be answered any more.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct PromptAccepted {
    #[graphql(skip)]
    turn: TurnId,
    /// The same client key came before; this is its first outcome.
    replayed: bool,
}

#[ComplexObject]
impl PromptAccepted {
    /// The turn's id.
    async fn turn_id(&self) -> ID {
        self.turn.as_str().into()
    }

    /// The turn; null: it was deleted meanwhile.
    async fn turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.turn.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }
}

/// The agent did not take the prompt, or nobody can tell.
#[derive(SimpleObject)]
pub struct PromptFailed {
    /// True: it was given back, the same prompt can be sent again. False: it may have reached the agent.
    retryable: bool,
    /// Why.
    code: DeliveryFailure,
    /// The same in words.
    message: String,
}

impl From<Refusal> for SendPromptResult {
    fn from(refusal: Refusal) -> Self {
        match refusal.into() {
            Member::NotFound(member) => Self::NotFound(member),
            Member::InvalidInput(member) => Self::InvalidInput(member),
            Member::Refused(member) => Self::Refused(member),
        }
    }
}

impl From<Prompted> for SendPromptResult {
    fn from(prompted: Prompted) -> Self {
        match prompted {
            Prompted::Accepted { turn_id, is_replayed } => {
                Self::Accepted(PromptAccepted { turn: turn_id, replayed: is_replayed })
            }
            Prompted::Failed(failure) => Self::Failed(PromptFailed {
                retryable: failure.is_retryable,
                code: failure.code.into(),
                message: failure.message,
            }),
        }
    }
}

#[derive(Default)]
pub struct Prompt;

#[Object]
impl Prompt {
    /// Starts a newer turn with a person's prompt, which supersedes whatever older turns asked.
    async fn send_prompt(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session and the prompt.")] input: SendPromptInput,
    ) -> Result<SendPromptResult> {
        let prompt = SendPrompt {
            session_id: SessionId::new(input.session_id.0),
            text: input.text,
            expected_turn_id: input.expected_turn_id.map(|id| TurnId::new(id.0)),
            client_key: ClientKey::new(input.client_key),
        };
        answer(authority(ctx)?.send_prompt(viewer(ctx)?, prompt).await, SendPromptResult::from)
    }
}
