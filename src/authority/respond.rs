//! A person answers or skips one exact bundle. May import: access, lifecycle, ids.

use sha2::{Digest, Sha256};

use crate::access::Viewer;
use crate::ids::{ClientKey, OptionId, PendingId, QuestionId, TurnId};
use crate::lifecycle::{Answer, Command, Keyed, Respond, Skip};

use super::ask::hex;
use super::identify::allow;
use super::{Authority, Error, Failure};

/// An answer to one question, as a caller writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerInput {
    /// The question.
    pub question_id: QuestionId,
    /// Chosen options.
    pub option_ids: Vec<OptionId>,
    /// Free text.
    pub custom_text: Option<String>,
}

/// An answer to a bundle, as a caller writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RespondInput {
    /// The bundle.
    pub pending_id: PendingId,
    /// One for each pending question.
    pub answers: Vec<AnswerInput>,
    /// The turn that the person saw.
    pub expected_turn_id: Option<TurnId>,
    /// Makes it idempotent for this principal and bundle.
    pub client_key: ClientKey,
}

/// A skip, as a caller writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipInput {
    /// The bundle.
    pub pending_id: PendingId,
    /// Why; may be empty.
    pub reason: String,
    /// The turn that the person saw.
    pub expected_turn_id: Option<TurnId>,
    /// Makes it idempotent for this principal and bundle.
    pub client_key: ClientKey,
}

/// What came of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Responded {
    /// It stands, durably, and reached its end.
    Accepted {
        /// The bundle.
        pending_id: PendingId,
        /// The same key came before; this is its outcome.
        is_replayed: bool,
        /// The turn that carries the answer, if nobody waited for it.
        dispatched_turn: Option<TurnId>,
    },
    /// It was claimed, and not delivered.
    Failed {
        /// The bundle.
        pending_id: PendingId,
        /// Why, and whether it can be sent again.
        failure: Failure,
    },
}

impl Authority {
    /// Answers a bundle: success means that its agent has it, durably, or that its successor turn runs.
    ///
    /// # Errors
    /// Refusals in the order of decisions 5; faults.
    pub async fn respond(&self, viewer: &Viewer, input: RespondInput) -> Result<Responded, Error> {
        allow(viewer.may_answer())?;
        let session = self.session_of_bundle(viewer, &input.pending_id).await?;
        let body_hash = hash_answers(&input.answers);
        let command = Command::Respond(Respond {
            pending_id: input.pending_id.clone(),
            answers: input.answers.into_iter().map(plain).collect(),
            expected_turn: input.expected_turn_id,
            principal: viewer.principal.clone(),
            key: Keyed { key: input.client_key, body_hash },
        });
        self.deliver(session, input.pending_id, command).await
    }

    /// Skips a bundle: a waiter learns of it in the same turn; a detached agent is not resumed.
    ///
    /// # Errors
    /// As [`Self::respond`].
    pub async fn skip(&self, viewer: &Viewer, input: SkipInput) -> Result<Responded, Error> {
        allow(viewer.may_answer())?;
        let session = self.session_of_bundle(viewer, &input.pending_id).await?;
        let body_hash = hex(&Sha256::digest(format!("skip:{}", input.reason)));
        let command = Command::Skip(Skip {
            pending_id: input.pending_id.clone(),
            reason: input.reason,
            expected_turn: input.expected_turn_id,
            principal: viewer.principal.clone(),
            key: Keyed { key: input.client_key, body_hash },
        });
        self.deliver(session, input.pending_id, command).await
    }
}

fn plain(input: AnswerInput) -> (QuestionId, Answer) {
    (input.question_id, Answer { option_ids: input.option_ids, custom_text: input.custom_text })
}

fn hash_answers(answers: &[AnswerInput]) -> String {
    let body: Vec<_> = answers.iter().map(|a| (&a.question_id, &a.option_ids, &a.custom_text)).collect();
    hex(&Sha256::digest(serde_json::to_vec(&body).unwrap_or_default()))
}
