//! Sessions: made, moved, ended, deleted. May import: access, lifecycle, ids.

use crate::access::Viewer;
use crate::ids::{SessionId, TaskId};
use crate::lifecycle::{Command, Effect, FieldCode, FieldError, Refusal, SessionState};

use super::identify::allow;
use super::{Authority, Error};

/// A session to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSession {
    /// Its task.
    pub task_id: TaskId,
    /// Who resumes its agent; none: it comes back by itself.
    pub executor: Option<String>,
    /// A confirmed answer without agent activity falls back to a dispatch.
    pub is_watchdog_on: bool,
}

impl Authority {
    /// Makes a session.
    ///
    /// # Errors
    /// No such task; no such executor on this server.
    pub async fn create_session(&self, viewer: &Viewer, create: CreateSession) -> Result<SessionId, Error> {
        allow(viewer.may_run())?;
        self.own_task(viewer, &create.task_id).await?;
        if let Some(name) = create.executor.as_deref().filter(|name| self.0.parts.executors.get(name).is_none()) {
            return Err(no_executor(name));
        }
        let id = SessionId::from(self.0.parts.ids.fresh());
        let command = Command::CreateSession {
            task_id: create.task_id,
            executor: create.executor,
            is_watchdog_on: create.is_watchdog_on,
        };
        match self.transact(&id, command).await?.decision.effect {
            Effect::Session(id) => Ok(id),
            _ => Err(Error::internal("making a session had another effect")),
        }
    }

    /// Moves a session. A terminal state ends it and expires what is pending, in one transaction.
    ///
    /// # Errors
    /// Not found; a move that its state does not allow.
    pub async fn set_session_state(&self, viewer: &Viewer, id: &SessionId, to: SessionState) -> Result<(), Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, id).await?;
        let command = if to.is_terminal() { Command::EndSession(to) } else { Command::SetSessionState(to) };
        self.transact(&session, command).await?;
        if to.is_terminal()
            && let Some(executor) = self.executor(&session).await
        {
            executor.release(&session);
        }
        Ok(())
    }

    /// Removes a session and all that it holds.
    ///
    /// # Errors
    /// Not found.
    pub async fn delete_session(&self, viewer: &Viewer, id: &SessionId) -> Result<(), Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, id).await?;
        let executor = self.executor(&session).await;
        self.transact(&session, Command::DeleteSession).await?;
        if let Some(executor) = executor {
            executor.release(&session);
        }
        Ok(())
    }
}

fn no_executor(name: &str) -> Error {
    let message = format!("executor names none of this server's executors: {name}");
    Refusal::Invalid(vec![FieldError { path: "executor".into(), code: FieldCode::Unknown, limit: None, message }])
        .into()
}
