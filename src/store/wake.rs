//! That another server of the same database did something. May import: ids.

use crate::ids::SessionId;

/// What to look at again. A wake-up says nothing of what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// This session.
    Session(SessionId),
    /// The log.
    Log,
    /// Everything: what was told for a while was not heard.
    All,
}
