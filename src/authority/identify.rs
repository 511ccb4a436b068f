//! Who acts, and whether what they name is theirs. Absent and not theirs are one answer (INV-38).
//! May import: store, access, lifecycle, ids.

use crate::access::{Role, Viewer, hash_token};
use crate::ids::{MessageId, PendingId, PrincipalId, SessionId, TaskId, TokenId, TurnId, WorkspaceId};
use crate::lifecycle::{Refusal, SessionState};
use crate::scope::Scope;

use super::{Authority, Error};

impl Authority {
    /// Who a bearer token stands for. Without any token in the store, nobody needs one: the server then listens on
    /// loopback only, and whoever reaches it is the local user.
    ///
    /// # Errors
    /// Unauthenticated: unknown, expired, revoked, or its session is over.
    pub async fn authenticate(&self, bearer: Option<&str>) -> Result<Viewer, Error> {
        let Some(bearer) = bearer else {
            let is_open = self.store().token_count().await? == 0;
            return if is_open { Ok(Viewer::local()) } else { Err(Error::Unauthenticated) };
        };
        if let Some(session) = self.0.passes.session(bearer) {
            return self.agent(session).await;
        }
        let row = self.store().token_by_hash(&hash_token(bearer)).await?.ok_or(Error::Unauthenticated)?;
        let now = self.0.parts.clock.now();
        let is_over = row.revoked_at.is_some() || row.expires_at.is_some_and(|at| at <= now);
        let role = Role::parse(&row.role).filter(|_| !is_over).ok_or(Error::Unauthenticated)?;
        Ok(Viewer {
            principal: PrincipalId::new(row.id.as_str()),
            role,
            scope: row.workspaces.map_or(Scope::All, Scope::Workspaces),
            session: row.session_id,
        })
    }

    /// The agent that this server runs for that session; with the session its way in ends.
    async fn agent(&self, session: SessionId) -> Result<Viewer, Error> {
        let row = self.store().sessions(std::slice::from_ref(&session)).await?.into_iter().next();
        let is_dead = |state| matches!(state, SessionState::Failed | SessionState::Cancelled);
        let row = row.filter(|row| !is_dead(row.session.state)).ok_or(Error::Unauthenticated)?;
        Ok(Viewer {
            principal: PrincipalId::new(format!("agent of {session}")),
            role: Role::Agent,
            scope: Scope::Workspaces(vec![row.session.workspace_id]),
            session: Some(session),
        })
    }

    pub(super) async fn own_task(&self, viewer: &Viewer, id: &TaskId) -> Result<WorkspaceId, Error> {
        let task = self.store().task(id).await?.ok_or(Refusal::NotFound)?;
        let is_own = viewer.may_read_tasks(&task.workspace_id);
        if is_own { Ok(task.workspace_id) } else { Err(Refusal::NotFound.into()) }
    }

    pub(super) async fn own_session(&self, viewer: &Viewer, id: &SessionId) -> Result<SessionId, Error> {
        let rows = self.store().sessions(std::slice::from_ref(id)).await?;
        let session = rows.into_iter().next().ok_or(Refusal::NotFound)?.session;
        own(viewer, &session.workspace_id, session.id)
    }

    /// A token bound to a session is as near as that; another one is the viewer's where it reaches nothing beyond what
    /// the viewer does.
    pub(super) async fn own_token(&self, viewer: &Viewer, id: &TokenId) -> Result<(), Error> {
        let token = self.store().token(id).await?.ok_or(Refusal::NotFound)?;
        if let Some(session) = &token.session_id {
            return self.own_session(viewer, session).await.map(drop);
        }
        let reach = token.workspaces.map_or(Scope::All, Scope::Workspaces);
        let is_own = viewer.session.is_none() && viewer.scope.covers(&reach);
        if is_own { Ok(()) } else { Err(Refusal::NotFound.into()) }
    }

    pub(super) async fn session_of_bundle(&self, viewer: &Viewer, id: &PendingId) -> Result<SessionId, Error> {
        let (session, _, workspace) = self.store().session_of_bundle(id).await?.ok_or(Refusal::NotFound)?;
        own(viewer, &workspace, session)
    }

    pub(super) async fn session_of_turn(&self, viewer: &Viewer, id: &TurnId) -> Result<SessionId, Error> {
        let (session, _, workspace) = self.store().session_of_turn(id).await?.ok_or(Refusal::NotFound)?;
        own(viewer, &workspace, session)
    }

    pub(super) async fn session_of_message(&self, viewer: &Viewer, id: &MessageId) -> Result<SessionId, Error> {
        let (session, _, workspace) = self.store().session_of_message(id).await?.ok_or(Refusal::NotFound)?;
        own(viewer, &workspace, session)
    }
}

fn own(viewer: &Viewer, workspace: &WorkspaceId, session: SessionId) -> Result<SessionId, Error> {
    if viewer.may_read_session(workspace, &session) { Ok(session) } else { Err(Refusal::NotFound.into()) }
}

/// Lets a role through, or not; what it names plays no part.
pub(super) fn allow(is_allowed: bool) -> Result<(), Error> {
    if is_allowed { Ok(()) } else { Err(Error::Forbidden) }
}
