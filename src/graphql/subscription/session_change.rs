//! Changes of one session. May import: authority, access, lifecycle, ids.

use async_graphql::{ID, Interface, Result, SimpleObject};

use crate::access::Viewer;
use crate::authority::{self, Authority, ChangeItem};
use crate::ids::{MessageId, SessionId, TurnId};
use crate::lifecycle::{EventKind, OutboxRow};
use crate::store::SessionRow;

use super::super::cursor::Cursor;
use super::super::fault::fault;
use super::super::types::{Message, PendingActionProjection, TaskSession, Turn};
use super::Gap;

/// Something that happened in a session.
#[derive(Interface)]
#[graphql(field(name = "cursor", ty = "&Cursor", desc = "Send it as `after` to go on right behind this item."))]
pub enum SessionChange {
    SessionSnapshot(SessionSnapshot),
    Gap(Gap),
    MessageAdded(MessageAdded),
    MessageUpdated(MessageUpdated),
    MessageDeleted(MessageDeleted),
    TurnStarted(TurnStarted),
    TurnCompleted(TurnCompleted),
    SessionStateChanged(SessionStateChanged),
    ProjectionChanged(ProjectionChanged),
    SessionDeleted(SessionDeleted),
}

/// The session now. It includes all that happened up to its cursor.
#[derive(SimpleObject)]
pub struct SessionSnapshot {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The session, with its projection and active bundle.
    session: TaskSession,
    /// What it waits for.
    projection: PendingActionProjection,
}

/// A message or question was added.
#[derive(SimpleObject)]
pub struct MessageAdded {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The message as it is now.
    message: Message,
    /// What the session waits for; null: the message cannot have changed that, keep what you have.
    projection: Option<PendingActionProjection>,
}

/// A message or question changed.
#[derive(SimpleObject)]
pub struct MessageUpdated {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The message as it is now.
    message: Message,
    /// What the session waits for; null: only the text changed, keep what you have.
    projection: Option<PendingActionProjection>,
}

/// A message or question is gone.
#[derive(SimpleObject)]
pub struct MessageDeleted {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The message that was.
    message_id: ID,
    /// Its turn.
    turn_id: ID,
    /// What the session waits for.
    projection: PendingActionProjection,
}

/// A turn began; what older turns asked cannot be answered any more.
#[derive(SimpleObject)]
pub struct TurnStarted {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The turn as it is now.
    turn: Turn,
    /// What the session waits for.
    projection: PendingActionProjection,
}

/// A turn is over.
#[derive(SimpleObject)]
pub struct TurnCompleted {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The turn as it is now.
    turn: Turn,
    /// What the session waits for.
    projection: PendingActionProjection,
}

/// The session moved.
#[derive(SimpleObject)]
pub struct SessionStateChanged {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The session as it is now.
    session: TaskSession,
    /// What it waits for.
    projection: PendingActionProjection,
}

/// What the session waits for may have changed.
#[derive(SimpleObject)]
pub struct ProjectionChanged {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The session as it is now.
    session: TaskSession,
    /// What it waits for.
    projection: PendingActionProjection,
}

/// The session is gone. It is the last item that means anything.
#[derive(SimpleObject)]
pub struct SessionDeleted {
    /// Send it as `after` to go on right behind this item.
    cursor: Cursor,
    /// The session that was.
    session_id: ID,
}

/// Reads items for one subscription.
#[derive(Clone)]
pub(super) struct SessionFeed {
    authority: Authority,
    viewer: Viewer,
    session: SessionId,
}

impl SessionFeed {
    pub(super) fn new(authority: &Authority, viewer: &Viewer, session: SessionId) -> Self {
        Self { authority: authority.clone(), viewer: viewer.clone(), session }
    }

    /// The item of an event; none: what it is about is gone again, which is told by an event of its own.
    pub(super) async fn read(
        &self,
        item: std::result::Result<ChangeItem, authority::Error>,
    ) -> Result<Option<SessionChange>> {
        let (place, row) = match item.map_err(fault)? {
            ChangeItem::Event(place, row) => (place, Some(row)),
            ChangeItem::Snapshot(place) => (place, None),
            ChangeItem::Gap(reason, place) => {
                let gap = Gap { cursor: (&place).into(), reason: reason.into() };
                return Ok(Some(SessionChange::Gap(gap)));
            }
        };
        let cursor = Cursor::from(&place);
        if let Some(EventKind::SessionDeleted | EventKind::TaskDeleted) = row.as_ref().map(|row| &row.event.kind) {
            let session_id = self.session.as_str().into();
            return Ok(Some(SessionChange::SessionDeleted(SessionDeleted { cursor, session_id })));
        }
        let Some(session) = self.session().await? else { return Ok(None) };
        let projection = PendingActionProjection::from(&session);
        match row {
            Some(row) => self.event(cursor, row, session, projection).await,
            None => {
                let session = TaskSession(session);
                Ok(Some(SessionChange::SessionSnapshot(SessionSnapshot { cursor, session, projection })))
            }
        }
    }

    async fn event(
        &self,
        cursor: Cursor,
        row: OutboxRow,
        session: SessionRow,
        projection: PendingActionProjection,
    ) -> Result<Option<SessionChange>> {
        Ok(match row.event.kind {
            EventKind::MessageAdded { message_id } => self.message(&message_id).await?.map(|message| {
                let projection = moves_projection(&message).then_some(projection);
                SessionChange::MessageAdded(MessageAdded { cursor, message, projection })
            }),
            EventKind::MessageUpdated { message_id } => self.message(&message_id).await?.map(|message| {
                let projection = moves_projection(&message).then_some(projection);
                SessionChange::MessageUpdated(MessageUpdated { cursor, message, projection })
            }),
            EventKind::MessageDeleted { message_id, turn_id } => {
                let (message_id, turn_id) = (message_id.as_str().into(), turn_id.as_str().into());
                Some(SessionChange::MessageDeleted(MessageDeleted { cursor, message_id, turn_id, projection }))
            }
            EventKind::TurnStarted { turn_id } => self
                .turn(&turn_id)
                .await?
                .map(|turn| SessionChange::TurnStarted(TurnStarted { cursor, turn, projection })),
            EventKind::TurnCompleted { turn_id } => self
                .turn(&turn_id)
                .await?
                .map(|turn| SessionChange::TurnCompleted(TurnCompleted { cursor, turn, projection })),
            EventKind::SessionStateChanged => {
                let session = TaskSession(session);
                Some(SessionChange::SessionStateChanged(SessionStateChanged { cursor, session, projection }))
            }
            EventKind::ProjectionChanged => {
                let session = TaskSession(session);
                Some(SessionChange::ProjectionChanged(ProjectionChanged { cursor, session, projection }))
            }
            EventKind::TaskChanged | EventKind::TaskDeleted | EventKind::SessionDeleted => None,
        })
    }

    async fn session(&self) -> Result<Option<SessionRow>> {
        let ids = std::slice::from_ref(&self.session);
        let found = self.authority.read_sessions(&self.viewer, ids).await.map_err(fault)?;
        Ok(found.into_iter().next())
    }

    async fn message(&self, id: &MessageId) -> Result<Option<Message>> {
        Ok(self.authority.read_message(&self.viewer, id).await.map_err(fault)?.map(Message))
    }

    async fn turn(&self, id: &TurnId) -> Result<Option<Turn>> {
        let found = self.authority.read_turns(&self.viewer, std::slice::from_ref(id)).await.map_err(fault)?;
        Ok(found.into_iter().next().map(Turn))
    }
}

/// Questions and permission requests are what a session can wait for.
fn moves_projection(message: &Message) -> bool {
    message.0.question.is_some() || message.0.kind == crate::lifecycle::PERMISSION_KIND
}
