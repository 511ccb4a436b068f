//! A question, its bundle, and what a person said. May import: ids.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{ClaimId, Epoch, MessageId, Micros, OptionId, PendingId, PrincipalId, QuestionId, TurnId};

use super::turn::DispatchOutcome;

/// One choice of a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// Its id inside the question.
    #[serde(rename = "option_id")]
    pub id: OptionId,
    /// What a person reads.
    pub label: String,
    /// What it means; may be empty.
    #[serde(default)]
    pub description: String,
}

/// A question as asked, in its one canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QuestionSpec {
    /// Its id inside the bundle.
    pub id: QuestionId,
    /// A short heading; may be empty.
    #[serde(default)]
    pub title: String,
    /// The question.
    pub prompt: String,
    /// None, or two to six choices.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Several choices may be taken.
    #[serde(default)]
    pub multi_select: bool,
    /// A free text may be given.
    #[serde(default = "yes")]
    pub allow_custom_text: bool,
    /// The answer is shown masked to all but the agent and who answered (decisions 29).
    #[serde(default)]
    pub secret: bool,
}

fn yes() -> bool {
    true
}

/// What a person said to one question. Empty = no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Answer {
    /// Chosen options, in the question's order.
    pub option_ids: Vec<OptionId>,
    /// Free text, trimmed.
    pub custom_text: Option<String>,
}

/// A row's `status`. Absent or empty text reads as [`Status::Pending`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not decided.
    Pending,
    /// Answered.
    Answered,
    /// Skipped.
    Rejected,
    /// Its session ended first.
    Expired,
    /// Withdrawn by the asker.
    Cancelled,
    /// Anything else: inert.
    Other(String),
}

impl Status {
    /// The name in metadata.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::Answered => "answered",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Other(text) => text,
        }
    }
}

/// The mark of one response on one row; with `is_open` it is the delivery intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The claim.
    pub id: ClaimId,
    /// The delivery intent (`response_delivery_pending`): not handed over yet.
    pub is_open: bool,
    /// The intent was retired without delivery: a newer turn or the session's end came first.
    pub is_retired: bool,
    /// The backend generation that must deliver it.
    pub epoch: Epoch,
    /// Who responded.
    pub principal: PrincipalId,
    /// When; one value for all rows and readers (INV-36).
    pub responded_at: Micros,
}

/// One question row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// The message row.
    pub id: MessageId,
    /// Its turn; empty in legacy rows.
    pub turn_id: TurnId,
    /// When it was asked.
    pub created_at: Micros,
    /// When it last changed.
    pub updated_at: Micros,
    /// The bundle.
    pub pending_id: PendingId,
    /// Its place in the bundle, from 0.
    pub index: i64,
    /// The bundle's size when asked.
    pub total: i64,
    /// What is asked.
    pub spec: QuestionSpec,
    /// Shared background, the same on each row; may be empty.
    pub context: String,
    /// Where it stands.
    pub status: Status,
    /// `status` was absent when read; kept so.
    pub is_status_absent: bool,
    /// Nobody waits (`agent_disconnected`).
    pub is_detached: bool,
    /// The answer, of an answered row.
    pub answer: Option<Answer>,
    /// Why it was skipped; may be empty.
    pub reject_reason: String,
    /// The response's mark.
    pub claim: Option<Claim>,
    /// The turn that carried the answer, if it was dispatched.
    pub dispatched_turn_id: Option<TurnId>,
    /// What became of that dispatch.
    pub dispatch_outcome: Option<DispatchOutcome>,
    /// The agent's stream took the result to its end.
    pub is_result_received: bool,
    /// Its watchdog has dispatched; never a second time (decisions 3).
    pub is_watchdog_spent: bool,
    /// Metadata that is not ours, kept as it is.
    pub rest: Map<String, Value>,
}

impl Question {
    /// Not decided (`pending(q)` of the one rule).
    pub fn is_pending(&self) -> bool {
        self.status == Status::Pending
    }

    /// Carries a delivery intent.
    pub fn has_intent(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.is_open)
    }
}

/// Questions that were asked together, by index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bundle {
    /// Their `pending_id`.
    pub pending_id: PendingId,
    /// Their rows, ordered by (index, `created_at`, id).
    pub questions: Vec<Question>,
}

impl Bundle {
    /// Its place among bundles, by which all readers list them: when it was asked, then its id.
    pub fn place(&self) -> (Option<Micros>, &PendingId) {
        (self.questions.iter().map(|question| question.created_at).min(), &self.pending_id)
    }

    /// The one turn of its rows: empty ids do not count, two different ones leave none (INV-31).
    pub fn turn_id(&self) -> Option<&TurnId> {
        one_turn(self.questions.iter())
    }

    /// Without that row it is of the same turn still, or nothing is left of it.
    pub fn keeps_turn_without(&self, id: &MessageId) -> bool {
        let mut rest = self.questions.iter().filter(|q| &q.id != id).peekable();
        rest.peek().is_none() || one_turn(rest) == self.turn_id()
    }

    /// Rows that are not decided.
    pub fn pending(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|q| q.is_pending())
    }

    /// The rows that carry a delivery intent.
    pub fn claimed(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|q| q.has_intent())
    }

    /// The open claim, if there is one.
    pub fn open_claim(&self) -> Option<&Claim> {
        self.claimed().find_map(|q| q.claim.as_ref())
    }
}

fn one_turn<'a>(rows: impl Iterator<Item = &'a Question>) -> Option<&'a TurnId> {
    let mut ids = rows.map(|q| &q.turn_id).filter(|id| !id.as_str().is_empty());
    let first = ids.next()?;
    ids.all(|id| id == first).then_some(first)
}
