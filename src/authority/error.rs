//! How a use case fails. A refusal is the domain's no; a fault is the world's; who asks again can tell which.
//! May import: store, lifecycle.

use crate::lifecycle::Refusal;
use crate::store;

/// What kind of fault it is; each is documented in the README's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCode {
    /// Too much is waiting; ask again a little later.
    Busy,
    /// Not done in time; it may have happened: ask again with the same client key.
    Timeout,
    /// The store cannot be used now.
    Unavailable,
    /// The server is going away; ask again when it is back.
    ShuttingDown,
    /// A defect; the log has it.
    Internal,
}

/// The world broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Fault {
    /// What kind.
    pub code: FaultCode,
    /// The same request may be sent again.
    pub retryable: bool,
    /// For the log, never for a caller.
    pub message: String,
}

/// A use case failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The domain says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No valid credentials.
    #[error("no valid credentials")]
    Unauthenticated,
    /// The role may not do this, whatever it names.
    #[error("this role may not do that")]
    Forbidden,
    /// The world broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let code = match &error {
            store::Error::Busy | store::Error::QueueFull => FaultCode::Busy,
            store::Error::Timeout | store::Error::UnknownCommit => FaultCode::Timeout,
            store::Error::Closed => FaultCode::ShuttingDown,
            store::Error::Guard(_) | store::Error::Corrupt(_) => FaultCode::Internal,
            _ => FaultCode::Unavailable,
        };
        let retryable = !matches!(code, FaultCode::Internal);
        if !retryable {
            tracing::error!(%error, "the store broke a promise");
        }
        Self::Fault(Fault { code, retryable, message: error.to_string() })
    }
}

impl Error {
    pub(super) fn timeout(what: &str) -> Self {
        Self::Fault(Fault { code: FaultCode::Timeout, retryable: true, message: what.to_owned() })
    }

    pub(super) fn busy(what: &str) -> Self {
        Self::Fault(Fault { code: FaultCode::Busy, retryable: true, message: what.to_owned() })
    }

    pub(super) fn internal(what: &str) -> Self {
        Self::Fault(Fault { code: FaultCode::Internal, retryable: false, message: what.to_owned() })
    }
}

/// Why a response did not reach its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryFailure {
    /// The agent that waited did not take it in time. Answerable again.
    NotTaken,
    /// Nobody waits and nobody can be called; the agent has to ask again. Answerable again.
    AgentUnreachable,
    /// The agent refused it. Answerable again.
    Rejected,
    /// It may have reached the agent. Not answerable again.
    Unknown,
    /// The agent took it; its turn is not announced yet. Not answerable again.
    PublicationFailed,
    /// A step could not be written; `is_retryable` says how the bundle stands.
    Persistence,
}

/// A response that was claimed and not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The same answer can be sent again; if not, it may be running.
    pub is_retryable: bool,
    /// Why.
    pub code: DeliveryFailure,
    /// The same in words.
    pub message: String,
    /// The task's summary shows what is pending again; if not, the next read brings it up to date.
    pub is_converged: bool,
}

impl Failure {
    pub(super) fn retryable(code: DeliveryFailure, message: impl Into<String>) -> Self {
        Self { is_retryable: true, code, message: message.into(), is_converged: true }
    }

    pub(super) fn terminal(code: DeliveryFailure, message: impl Into<String>) -> Self {
        Self { is_retryable: false, code, message: message.into(), is_converged: true }
    }
}
