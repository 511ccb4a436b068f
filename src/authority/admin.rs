//! Workspaces, tasks and tokens: what is not part of a session's life. May import: store, access, ids.

use crate::access::{Role, Viewer, new_token};
use crate::ids::{EventId, Micros, SessionId, TaskId, TokenId, WorkspaceId};
use crate::lifecycle::{FieldCode, FieldError, Refusal};
use crate::scope::Scope;
use crate::store::{TaskPatch, TaskRow, TokenRow, Workspace};

use super::identify::allow;
use super::{Authority, Error};

/// A task to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTask {
    /// Its workspace; none: the caller's only one.
    pub workspace_id: Option<WorkspaceId>,
    /// What it is called.
    pub title: String,
    /// What it is about; may be empty.
    pub description: String,
}

/// A token to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Who it stands for.
    pub role: Role,
    /// What it may see; none: everything.
    pub workspaces: Option<Vec<WorkspaceId>>,
    /// The one session of an agent.
    pub session_id: Option<SessionId>,
    /// For people who look at the list.
    pub name: String,
    /// Seconds until it expires; none: never.
    pub expires_in_s: Option<i64>,
}

impl Authority {
    /// Makes a task.
    ///
    /// # Errors
    /// The workspace is not the caller's.
    pub async fn create_task(&self, viewer: &Viewer, create: CreateTask) -> Result<TaskId, Error> {
        allow(viewer.may_run())?;
        self.check_text("title", &create.title, false)?;
        self.check_text("description", &create.description, true)?;
        let workspace_id = self.workspace_for(viewer, create.workspace_id).await?;
        let (now, id) = (self.0.parts.clock.now(), TaskId::from(self.0.parts.ids.fresh()));
        let row = TaskRow {
            id: id.clone(),
            workspace_id,
            title: create.title,
            description: create.description,
            state: "TODO".into(),
            created_at: now,
            updated_at: now,
            last_activity_at: now,
        };
        self.store().task_insert(row, self.event_id()).await?;
        self.0.parts.relay.wake();
        Ok(id)
    }

    /// Changes a task's own fields.
    ///
    /// # Errors
    /// Not found.
    pub async fn update_task(&self, viewer: &Viewer, id: &TaskId, patch: TaskPatch) -> Result<(), Error> {
        allow(viewer.may_run())?;
        self.own_task(viewer, id).await?;
        if let Some(title) = &patch.title {
            self.check_text("title", title, false)?;
        }
        let is_there = self.store().task_update(id, patch, self.0.parts.clock.now(), self.event_id()).await?;
        self.0.parts.relay.wake();
        if is_there { Ok(()) } else { Err(Refusal::NotFound.into()) }
    }

    /// Deletes a task with its sessions.
    ///
    /// # Errors
    /// Not found.
    pub async fn delete_task(&self, viewer: &Viewer, id: &TaskId) -> Result<(), Error> {
        allow(viewer.may_run())?;
        self.own_task(viewer, id).await?;
        let is_there = self.store().task_delete(id, self.0.parts.clock.now(), self.event_id()).await?;
        self.0.parts.relay.wake();
        if is_there { Ok(()) } else { Err(Refusal::NotFound.into()) }
    }

    /// Makes a token; its text is shown this once.
    ///
    /// # Errors
    /// The session or a workspace is not the caller's; an agent without a session.
    pub async fn create_token(&self, viewer: &Viewer, new: NewToken) -> Result<(TokenId, String), Error> {
        allow(viewer.may_operate())?;
        // Who is bound makes nothing that is not.
        let session_id = new.session_id.or_else(|| viewer.session.clone());
        match &session_id {
            Some(session) => drop(self.own_session(viewer, session).await?),
            None if new.role == Role::Agent => return Err(no_session()),
            None => {}
        }
        let reach = new.workspaces.map_or_else(|| viewer.scope.clone(), Scope::Workspaces);
        if !viewer.scope.covers(&reach) {
            return Err(Refusal::NotFound.into());
        }
        let workspaces = match reach {
            Scope::All => None,
            Scope::Workspaces(ids) => Some(ids),
        };
        let (text, hash) = new_token();
        let now = self.0.parts.clock.now();
        let id = TokenId::from(self.0.parts.ids.fresh());
        let lifetime = new.expires_in_s.map(|s| s.saturating_mul(1_000_000));
        self.store()
            .token_insert(TokenRow {
                id: id.clone(),
                hash,
                role: new.role.as_str().into(),
                workspaces,
                session_id,
                name: new.name,
                created_at: now,
                expires_at: lifetime.map(|us| Micros(now.0.saturating_add(us))),
                revoked_at: None,
            })
            .await?;
        Ok((id, text))
    }

    /// Ends a token at once.
    ///
    /// # Errors
    /// Not found, or it reaches beyond what the caller does.
    pub async fn revoke_token(&self, viewer: &Viewer, id: &TokenId) -> Result<(), Error> {
        allow(viewer.may_operate())?;
        self.own_token(viewer, id).await?;
        let is_there = self.store().token_revoke(id, self.0.parts.clock.now()).await?;
        if is_there { Ok(()) } else { Err(Refusal::NotFound.into()) }
    }

    pub(super) fn event_id(&self) -> EventId {
        EventId::from(self.0.parts.ids.fresh())
    }

    /// The workspace of a new task; a store without any gets its first.
    async fn workspace_for(&self, viewer: &Viewer, named: Option<WorkspaceId>) -> Result<WorkspaceId, Error> {
        if let Some(id) = named {
            let is_there = self.store().workspaces().await?.iter().any(|workspace| workspace.id == id);
            let is_own = is_there && viewer.may_read(&id);
            return if is_own { Ok(id) } else { Err(Refusal::NotFound.into()) };
        }
        if let Scope::Workspaces(own) = &viewer.scope {
            return own.first().cloned().ok_or(Error::Refused(Refusal::NotFound));
        }
        if let Some(first) = self.store().workspaces().await?.into_iter().next() {
            return Ok(first.id);
        }
        let workspace = Workspace {
            id: WorkspaceId::from(self.0.parts.ids.fresh()),
            name: "default".into(),
            created_at: self.0.parts.clock.now(),
        };
        let id = workspace.id.clone();
        self.store().workspace_insert(workspace).await?;
        Ok(id)
    }
}

/// An agent is bound to one session, or may nothing.
fn no_session() -> Error {
    let message = "an agent's token needs the session that it is for".into();
    Refusal::Invalid(vec![FieldError {
        path: "sessionId".into(),
        code: FieldCode::Required,
        limit: None,
        message,
    }])
    .into()
}
