//! Everything that has an id of its own. May import: ids.

use async_graphql::{Context, ID, Interface, Result};

use crate::ids::{MessageId, PendingId, SessionId, TaskId, TurnId};

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::{Clarification, Message, Task, TaskSession, Turn};

/// Something with an id of its own.
#[derive(Interface)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on its way into a response")]
#[graphql(field(name = "id", ty = "ID", desc = "Opaque, unique over all types, the same for ever."))]
pub enum Node {
    Task(Task),
    TaskSession(TaskSession),
    Turn(Turn),
    Message(Message),
    Clarification(Clarification),
}

impl Node {
    /// Whatever has that id. Ids are unique over all types, so at most one of the looks finds something.
    ///
    /// # Errors
    /// A fault of the store.
    pub(crate) async fn find(ctx: &Context<'_>, id: &str) -> Result<Option<Self>> {
        let load = load(ctx)?;
        let (task, session, turn, bundle) = futures_util::try_join!(
            load.load_one(TaskId::new(id)),
            load.load_one(SessionId::new(id)),
            load.load_one(TurnId::new(id)),
            load.load_one(PendingId::new(id)),
        )
        .map_err(fault)?;
        let found = task
            .map(|row| Self::Task(row.into()))
            .or_else(|| session.map(|row| Self::TaskSession(TaskSession(row))))
            .or_else(|| turn.map(|row| Self::Turn(Turn(row))))
            .or_else(|| bundle.map(|row| Self::Clarification(Clarification(row))));
        if found.is_some() {
            return Ok(found);
        }
        let message = authority(ctx)?.read_message(viewer(ctx)?, &MessageId::new(id)).await.map_err(fault)?;
        Ok(message.map(|row| Self::Message(Message(row))))
    }
}
