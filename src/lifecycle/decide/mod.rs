//! `decide`. May import: ids and the rest of lifecycle.

use super::{Command, Decision, Refusal, SessionView, Stamp};

/// Decides one command over one view.
///
/// # Errors
/// The [`Refusal`] says why nothing changes.
pub fn decide(_view: &SessionView, _command: &Command, _stamp: &Stamp) -> Result<Decision, Refusal> {
    Err(Refusal::NotFound)
}
