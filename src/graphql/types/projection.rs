//! A derived value with its version. May import: store, ids.

use async_graphql::SimpleObject;

use crate::ids;
use crate::store::SessionRow;

use super::enums::PendingAction;

/// What a session waits for, with the version of that knowledge. An older revision never replaces a newer one.
#[derive(SimpleObject)]
pub struct PendingActionProjection {
    /// What somebody has to act on, a clarification before a permission; null: nothing, the session is clean.
    action: Option<PendingAction>,
    /// The version.
    revision: Revision,
}

/// A version. Compare as big integers, `epoch` first.
#[derive(SimpleObject)]
pub struct Revision {
    /// The backend generation, a decimal number; greater after every start of a server.
    epoch: String,
    /// The count of changes within the session, a decimal number.
    sequence: String,
}

impl From<ids::Revision> for Revision {
    fn from(revision: ids::Revision) -> Self {
        Self { epoch: revision.epoch.to_string(), sequence: revision.sequence.to_string() }
    }
}

impl From<&SessionRow> for PendingActionProjection {
    fn from(row: &SessionRow) -> Self {
        Self { action: row.pending_action.map(Into::into), revision: row.revision.into() }
    }
}
