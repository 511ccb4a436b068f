//! Transcript messages and permission requests. May import: access, lifecycle, ids.

use crate::access::Viewer;
use crate::ids::{MessageId, PermissionId, SessionId};
use crate::lifecycle::{Command, Effect, NewMessage};

use super::identify::allow;
use super::{Authority, Error};

impl Authority {
    /// Appends a message to a turn, or to the current one.
    ///
    /// # Errors
    /// No such turn; a text over the limit.
    pub async fn append_message(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        new: NewMessage,
    ) -> Result<MessageId, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        self.check_text("content", &new.content, true)?;
        self.message_of(&session, Command::AppendMessage(new)).await
    }

    /// Replaces a message's text; a question's cannot be.
    ///
    /// # Errors
    /// Not found; a question; a text over the limit.
    pub async fn update_message(&self, viewer: &Viewer, id: &MessageId, content: String) -> Result<(), Error> {
        allow(viewer.may_run())?;
        let session = self.session_of_message(viewer, id).await?;
        self.check_text("content", &content, true)?;
        self.transact(&session, Command::UpdateMessage { id: id.clone(), content }).await.map(drop)
    }

    /// Deletes a message or question. No turn moves by it, and nothing is revived (INV-05).
    ///
    /// # Errors
    /// Not found; a question whose response is being delivered.
    pub async fn delete_message(&self, viewer: &Viewer, id: &MessageId) -> Result<(), Error> {
        allow(viewer.may_run())?;
        let session = self.session_of_message(viewer, id).await?;
        self.transact(&session, Command::DeleteMessage(id.clone())).await.map(drop)
    }

    /// Records that an agent asks for a permission; the same id again is the same request.
    ///
    /// # Errors
    /// The session is over, or has no turn.
    pub async fn record_permission(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        id: PermissionId,
        content: String,
    ) -> Result<MessageId, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        self.check_text("content", &content, true)?;
        self.message_of(&session, Command::RecordPermission { id, content }).await
    }

    /// Resolves a permission request; people may, and runtimes.
    ///
    /// # Errors
    /// No unresolved request of that id in the session.
    pub async fn resolve_permission(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        id: PermissionId,
        status: String,
    ) -> Result<(), Error> {
        allow(viewer.may_run() || viewer.may_answer())?;
        let session = self.own_session(viewer, session).await?;
        self.transact(&session, Command::ResolvePermission { id, status }).await.map(drop)
    }

    pub(super) async fn message_of(&self, session: &SessionId, command: Command) -> Result<MessageId, Error> {
        match self.transact(session, command).await?.decision.effect {
            Effect::Message(id) => Ok(id),
            _ => Err(Error::internal("a message had another effect")),
        }
    }
}
