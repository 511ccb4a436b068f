//! How the domain says no. A refusal wrote nothing (INV-07). May import: ids and its siblings.

use crate::ids::{Micros, PrincipalId};

use super::question::Status;

/// Why a response cannot be taken any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictReason {
    /// A newer turn is current.
    Superseded,
    /// The bundle is decided.
    Terminal,
    /// Another response is being delivered.
    DeliveryClaimed,
    /// The session is over.
    SessionEnded,
    /// Another turn is current than the caller expected.
    ExpectedTurnChanged,
}

/// Who won a bundle, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Winner {
    /// Who.
    pub principal: PrincipalId,
    /// When; one value for all readers (INV-36).
    pub responded_at: Micros,
    /// With what: answered or rejected.
    pub status: Status,
}

/// One thing that is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldError {
    /// Where, such as `answers[0].customText`.
    pub path: String,
    /// What, such as `TOO_LONG`.
    pub code: FieldCode,
    /// The limit that was passed, if it is one; with its unit in [`FieldCode`].
    pub limit: Option<i64>,
    /// The same in words.
    pub message: String,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldCode {
    /// It has to be there.
    Required,
    /// Too few items; the limit is the least number.
    TooFew,
    /// Too many items; the limit is the greatest number.
    TooMany,
    /// Too long; the limit counts Unicode code points.
    TooLong,
    /// Names nothing that exists.
    Unknown,
    /// Named twice.
    Duplicate,
    /// Not allowed here.
    NotAllowed,
}

/// The domain said no.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Absent, or not the caller's: the same answer (INV-38).
    #[error("not found")]
    NotFound,
    /// The bundle cannot take the response.
    #[error("the bundle cannot be answered any more: {reason:?}")]
    Conflict {
        /// Why.
        reason: ConflictReason,
        /// Who won, if somebody did.
        winner: Option<Winner>,
    },
    /// The input is wrong.
    #[error("the input is wrong")]
    Invalid(Vec<FieldError>),
    /// The client key was used with another body.
    #[error("the client key was used with another body")]
    KeyReused,
    /// The agent works on a turn that asks nothing (decisions 13).
    #[error("the agent works on a turn")]
    TurnInProgress,
    /// The session's state does not allow it.
    #[error("the session's state does not allow it")]
    StateNotAllowed,
    /// A reservation is not resolved; wait, then ask again (INV-33).
    #[error("a dispatch of this session is not resolved")]
    DispatchUnresolved,
    /// Cancel is for live bundles; skip a detached one (decisions 4).
    #[error("nobody waits for this bundle; skip it")]
    NotLive,
    /// The step was made by somebody else, or its row is not what it was.
    #[error("the step does not apply any more")]
    Stale,
    /// Metadata that recovery needs cannot be read (INV-25).
    #[error("{row}: {reason}")]
    Malformed {
        /// The row.
        row: String,
        /// What is wrong.
        reason: String,
    },
}
