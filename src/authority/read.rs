//! Reads, each showing only what its viewer may see; what is hidden is as absent as what is not there (INV-38).
//! A [`SessionRow`] that came from here proves that its viewer may see the session, so what lies inside a session
//! is read by its row. May import: store, access, ids, scope.

use crate::access::{Role, Viewer};
use crate::ids::{MessageId, Micros, Ordinal, PendingId, SessionId, TaskId, TurnId};
use crate::store::{BundleRow, MessageRowOut, Page, PendingFilter, SessionRow, TaskFilter, TaskKey, TurnRow};

use super::{Authority, Error, TaskReading};

impl Authority {
    /// Tasks by id, each with at most `sessions_max` of its sessions, newest first; in no order. Those that may not
    /// be seen are left out.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_tasks_by_id(
        &self,
        viewer: &Viewer,
        ids: &[TaskId],
        sessions_max: i64,
    ) -> Result<Vec<TaskReading>, Error> {
        let mut rows = self.store().tasks_of(ids, sessions_max).await?;
        rows.retain(|row| viewer.may_read_tasks(&row.task.workspace_id));
        Ok(self.with_summaries(rows).await)
    }

    /// A page of tasks, newest activity first. At most three statements, whatever its size, and beside them what
    /// brings summaries up to date.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_tasks(
        &self,
        viewer: &Viewer,
        filter: &TaskFilter,
        after: Option<TaskKey>,
        limit: i64,
    ) -> Result<Vec<TaskReading>, Error> {
        if viewer.session.is_some() || viewer.role == Role::Agent {
            return Ok(Vec::new());
        }
        let rows = self.store().tasks_page(&viewer.scope, filter, after, limit).await?;
        Ok(self.with_summaries(rows).await)
    }

    /// Sessions by id, in no order; those that may not be seen are left out.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_sessions(&self, viewer: &Viewer, ids: &[SessionId]) -> Result<Vec<SessionRow>, Error> {
        let mut rows = self.store().sessions(ids).await?;
        rows.retain(|row| viewer.may_read_session(&row.session.workspace_id, &row.session.id));
        Ok(rows)
    }

    /// Bundles by id, in no order; those that may not be seen are left out.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_bundles(&self, viewer: &Viewer, ids: &[PendingId]) -> Result<Vec<BundleRow>, Error> {
        let mut rows = self.store().bundles(ids).await?;
        rows.retain(|row| viewer.may_read_session(&row.workspace_id, &row.session_id));
        Ok(rows)
    }

    /// Visible turns by id, in no order; those that may not be seen are left out (INV-19).
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_turns(&self, viewer: &Viewer, ids: &[TurnId]) -> Result<Vec<TurnRow>, Error> {
        let mut rows = self.store().turns(ids).await?;
        rows.retain(|row| row.turn.is_visible() && viewer.may_read_session(&row.workspace_id, &row.session_id));
        Ok(rows)
    }

    /// A message by id.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_message(&self, viewer: &Viewer, id: &MessageId) -> Result<Option<MessageRowOut>, Error> {
        let home = self.store().session_of_message(id).await?;
        let is_seen = home.is_some_and(|(session, _, workspace)| viewer.may_read_session(&workspace, &session));
        if !is_seen {
            return Ok(None);
        }
        Ok(self.store().messages(std::slice::from_ref(id)).await?.into_iter().next())
    }

    /// The inbox: active bundles, oldest first.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_inbox(
        &self,
        viewer: &Viewer,
        filter: &PendingFilter,
        after: Option<(Micros, PendingId)>,
        limit: i64,
    ) -> Result<Vec<BundleRow>, Error> {
        let mut filter = filter.clone();
        if viewer.role == Role::Agent && viewer.session.is_none() {
            return Ok(Vec::new());
        }
        if let Some(bound) = &viewer.session {
            if filter.session.as_ref().is_some_and(|named| named != bound) {
                return Ok(Vec::new());
            }
            filter.session = Some(bound.clone());
        }
        Ok(self.store().pending_page(&viewer.scope, &filter, after, limit).await?)
    }

    /// A page of a session's visible turns, ascending by ordinal.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_turn_page(
        &self,
        of: &SessionRow,
        after: Option<Ordinal>,
        limit: i64,
    ) -> Result<Vec<TurnRow>, Error> {
        Ok(self.store().turns_page(&of.session.id, after, limit).await?)
    }

    /// A page of a session's messages.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn read_message_page(&self, of: &SessionRow, page: Page) -> Result<Vec<MessageRowOut>, Error> {
        Ok(self.store().messages_page(&of.session.id, page).await?)
    }

    /// Dispatches that nobody knows the fate of, for operators.
    ///
    /// # Errors
    /// Forbidden for other roles; a fault of the store.
    pub async fn read_ambiguous(&self, viewer: &Viewer, limit: i64) -> Result<Vec<TurnRow>, Error> {
        super::identify::allow(viewer.may_operate())?;
        let mut rows = self.store().ambiguous(limit).await?;
        rows.retain(|row| viewer.may_read_session(&row.workspace_id, &row.session_id));
        Ok(rows)
    }
}
