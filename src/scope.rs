//! What a caller may reach, as the rooms below `access` need it. May import: ids.

use crate::ids::WorkspaceId;

/// Which workspaces a read may show.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every workspace.
    All,
    /// These; none of them: nothing.
    Workspaces(Vec<WorkspaceId>),
}

impl Scope {
    /// Whether that workspace may be shown.
    pub fn allows(&self, workspace: &WorkspaceId) -> bool {
        match self {
            Self::All => true,
            Self::Workspaces(ids) => ids.contains(workspace),
        }
    }

    /// Whether the other one shows nothing that this one does not.
    pub fn covers(&self, other: &Self) -> bool {
        match other {
            Self::All => self == &Self::All,
            Self::Workspaces(ids) => ids.iter().all(|id| self.allows(id)),
        }
    }
}
