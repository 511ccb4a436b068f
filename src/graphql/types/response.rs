//! Who decided a bundle. May import: lifecycle.

use async_graphql::{Enum, ID, SimpleObject};

use crate::lifecycle::{Bundle, Status, Winner};

use super::DateTime;

/// How a bundle was decided.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    /// It was answered.
    Answered,
    /// It was skipped.
    Rejected,
}

/// Who decided a bundle, and when. The answers stand with the questions.
#[derive(SimpleObject)]
pub struct ClarificationResponse {
    /// The principal who responded.
    responded_by: ID,
    /// When; one moment for all questions and readers.
    responded_at: DateTime,
    /// Answered or skipped.
    status: ResponseStatus,
    /// Why it was skipped; null: no reason was given, or it was answered.
    reject_reason: Option<String>,
}

fn status(status: &Status) -> ResponseStatus {
    if *status == Status::Rejected { ResponseStatus::Rejected } else { ResponseStatus::Answered }
}

impl From<&Winner> for ClarificationResponse {
    fn from(winner: &Winner) -> Self {
        Self {
            responded_by: winner.principal.as_str().into(),
            responded_at: winner.responded_at.into(),
            status: status(&winner.status),
            reject_reason: None,
        }
    }
}

impl ClarificationResponse {
    /// The response of a bundle that is not being delivered any more.
    pub(crate) fn of(bundle: &Bundle) -> Option<Self> {
        if bundle.open_claim().is_some() {
            return None;
        }
        let claimed = bundle.questions.iter().filter_map(|row| Some((row, row.claim.as_ref()?)));
        let (row, claim) = claimed.max_by_key(|(_, claim)| claim.responded_at)?;
        Some(Self {
            responded_by: claim.principal.as_str().into(),
            responded_at: claim.responded_at.into(),
            status: status(&row.status),
            reject_reason: Some(row.reject_reason.clone()).filter(|reason| !reason.is_empty()),
        })
    }
}
