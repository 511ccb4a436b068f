//! How a mutation says no: members of the union that it returns. May import: lifecycle.

use async_graphql::SimpleObject;

use crate::lifecycle::{self, Refusal};

use super::enums::{FieldErrorCode, RefusalReason};

/// What was named is absent or not the caller's; the two are one answer.
#[derive(SimpleObject)]
pub struct NotFound {
    /// The same in words; equal in both cases.
    message: String,
}

impl Default for NotFound {
    fn default() -> Self {
        Self { message: "there is no such thing, or it is not yours".into() }
    }
}

/// The input is wrong. Nothing was written.
#[derive(SimpleObject)]
pub struct InvalidInput {
    /// Everything that is wrong; at least one.
    errors: Vec<FieldError>,
}

/// One thing that is wrong with an input.
#[derive(SimpleObject)]
pub struct FieldError {
    /// Where, such as `answers[0].customText`.
    path: String,
    /// What.
    code: FieldErrorCode,
    /// The limit that was passed, in the unit of `code`; null: it is not about a limit.
    limit: Option<i32>,
    /// The same in words.
    message: String,
}

/// The domain refuses what was asked. Nothing was written.
#[derive(SimpleObject)]
pub struct Refused {
    /// Why.
    refusal: RefusalReason,
    /// The same request can succeed later.
    retryable: bool,
    /// The same in words.
    message: String,
}

impl From<lifecycle::FieldError> for FieldError {
    fn from(error: lifecycle::FieldError) -> Self {
        Self {
            path: error.path,
            code: error.code.into(),
            limit: error.limit.and_then(|limit| i32::try_from(limit).ok()),
            message: error.message,
        }
    }
}

impl InvalidInput {
    /// From the domain's errors.
    pub(crate) fn new(errors: Vec<lifecycle::FieldError>) -> Self {
        Self { errors: errors.into_iter().map(FieldError::from).collect() }
    }
}

/// A refusal as one of the three members that every mutation has.
pub(crate) enum Member {
    NotFound(NotFound),
    InvalidInput(InvalidInput),
    Refused(Refused),
}

impl From<Refusal> for Member {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let reason = match refusal {
            Refusal::NotFound => return Self::NotFound(NotFound::default()),
            Refusal::Invalid(errors) => return Self::InvalidInput(InvalidInput::new(errors)),
            Refusal::Conflict { reason, .. } => conflict(reason),
            Refusal::KeyReused => RefusalReason::KeyReused,
            Refusal::TurnInProgress => RefusalReason::TurnInProgress,
            Refusal::StateNotAllowed => RefusalReason::StateNotAllowed,
            Refusal::DispatchUnresolved => RefusalReason::DispatchUnresolved,
            Refusal::NotLive => RefusalReason::NotLive,
            Refusal::Stale => RefusalReason::Stale,
            Refusal::Malformed { .. } => RefusalReason::Malformed,
        };
        // The words of a malformed record name rows; they are for `inspect`.
        let message =
            if reason == RefusalReason::Malformed { "a stored record cannot be read".into() } else { message };
        Self::Refused(Refused { refusal: reason, retryable: reason == RefusalReason::DispatchUnresolved, message })
    }
}

fn conflict(reason: lifecycle::ConflictReason) -> RefusalReason {
    match reason {
        lifecycle::ConflictReason::Superseded => RefusalReason::Superseded,
        lifecycle::ConflictReason::Terminal => RefusalReason::Terminal,
        lifecycle::ConflictReason::DeliveryClaimed => RefusalReason::DeliveryClaimed,
        lifecycle::ConflictReason::SessionEnded => RefusalReason::SessionEnded,
        lifecycle::ConflictReason::ExpectedTurnChanged => RefusalReason::ExpectedTurnChanged,
    }
}
