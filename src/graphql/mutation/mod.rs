//! What can be written. Each mutation returns a union: what was made, or how the domain says no.
//! May import: authority, lifecycle, ids.

mod ask;
mod clarifications;
mod messages;
mod operate;
mod prompt;
mod reports;
mod respond;
mod sessions;
mod tasks;
mod turns;
mod workers;

use async_graphql::{MergedObject, Result};

use crate::authority::Error;
use crate::lifecycle::Refusal;

use super::fault::fault;

/// Writes. Every result is a union of what was made and the ways of the domain to say no; top-level errors are
/// faults, and `extensions.retryable` says whether to send the same again.
#[derive(MergedObject, Default)]
pub struct Mutation(
    respond::Respond,
    prompt::Prompt,
    tasks::Tasks,
    reports::Reports,
    sessions::Sessions,
    turns::Turns,
    messages::Messages,
    ask::Ask,
    clarifications::Clarifications,
    workers::Workers,
    operate::Operate,
);

/// What was made, or the refusal as a member of the union; what is neither is a top-level error.
///
/// # Errors
/// A fault, or a role that may not do this.
pub(super) fn answer<T, U: From<Refusal>>(
    result: std::result::Result<T, Error>,
    done: impl FnOnce(T) -> U,
) -> Result<U> {
    match result {
        Ok(made) => Ok(done(made)),
        Err(error) => refused(error),
    }
}

/// The refusal as a member of the union.
///
/// # Errors
/// It is none, but a fault, or a role that may not do this.
pub(super) fn refused<U: From<Refusal>>(error: Error) -> Result<U> {
    match error {
        Error::Refused(refusal) => Ok(refusal.into()),
        error => Err(fault(error)),
    }
}

/// A union of a payload and the three members of a refusal.
macro_rules! result_union {
    ($(#[$meta:meta])* $name:ident($payload:ident)) => {
        $(#[$meta])*
        #[derive(async_graphql::Union)]
        pub enum $name {
            Done($payload),
            NotFound($crate::graphql::types::NotFound),
            InvalidInput($crate::graphql::types::InvalidInput),
            Refused($crate::graphql::types::Refused),
        }

        impl From<$crate::lifecycle::Refusal> for $name {
            fn from(refusal: $crate::lifecycle::Refusal) -> Self {
                use $crate::graphql::types::Member;
                match refusal.into() {
                    Member::NotFound(member) => Self::NotFound(member),
                    Member::InvalidInput(member) => Self::InvalidInput(member),
                    Member::Refused(member) => Self::Refused(member),
                }
            }
        }
    };
}
pub(super) use result_union;
