//! Who asks. May import: access, scope.

use async_graphql::{ID, Object};

use crate::access;
use crate::scope::Scope;

use super::enums::Role;

/// Who asks, as their credentials say.
pub struct Viewer(pub(crate) access::Viewer);

/// Who asks, as their credentials say.
#[Object]
impl Viewer {
    /// Names the caller wherever a response says who acted. `local` without tokens.
    async fn principal(&self) -> ID {
        self.0.principal.as_str().into()
    }

    /// What the caller may do.
    async fn role(&self) -> Role {
        self.0.role.into()
    }

    /// The workspaces that the caller sees; null: all of them.
    async fn workspaces(&self) -> Option<Vec<ID>> {
        match &self.0.scope {
            Scope::All => None,
            Scope::Workspaces(ids) => Some(ids.iter().map(|id| id.as_str().into()).collect()),
        }
    }

    /// The one session of an agent's token; null: the token is not bound.
    async fn session_id(&self) -> Option<ID> {
        self.0.session.as_ref().map(|id| id.as_str().into())
    }

    /// The caller may answer and skip.
    async fn may_answer(&self) -> bool {
        self.0.may_answer()
    }
}
