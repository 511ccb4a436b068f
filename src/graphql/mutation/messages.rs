//! Transcript messages and permission requests, for runtimes; people decide
//! permissions too. May import: authority, lifecycle, ids.

use async_graphql::{Context, ID, InputObject, Json, Object, Result, SimpleObject};
use serde_json::{Map, Value};

use crate::ids::{MessageId, PermissionId, SessionId, TurnId};
use crate::lifecycle::NewMessage;

use super::super::context::{authority, viewer};
use super::super::fault::fault;
use super::super::types::{Message, PermissionDecision};
use super::{answer, result_union};

/// A message to append.
#[derive(InputObject)]
pub struct AppendMessageInput {
    /// The session.
    session_id: ID,
    /// The turn; null: the current one.
    turn_id: Option<ID>,
    /// `user`, `agent` or `system`.
    #[graphql(default = "agent")]
    author: String,
    /// `message`, `tool_call`, or the writer's own word; never a question or a permission request.
    #[graphql(default = "message")]
    kind: String,
    /// Its text.
    content: String,
    /// What the writer notes, an object; null: nothing.
    metadata: Option<Json<Map<String, Value>>>,
}

/// A message.
pub struct MessagePayload {
    id: MessageId,
}

/// A message.
#[Object]
impl MessagePayload {
    /// The message's id.
    async fn message_id(&self) -> ID {
        self.id.as_str().into()
    }

    /// The message itself; null: it was deleted meanwhile. `message` is what refusals say in words.
    async fn transcript_message(&self, ctx: &Context<'_>) -> Option<Result<Message>> {
        let found = async { authority(ctx)?.read_message(viewer(ctx)?, &self.id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Message))
    }
}

/// The message is gone.
#[derive(SimpleObject)]
pub struct DeleteMessagePayload {
    /// The message that was.
    message_id: ID,
}

/// The permission request is decided.
#[derive(SimpleObject)]
pub struct PermissionPayload {
    /// The request.
    permission_id: ID,
}

result_union! {
    /// What came of appending a message.
    AppendMessageResult(MessagePayload)
}
result_union! {
    /// What came of changing a message.
    UpdateMessageResult(MessagePayload)
}
result_union! {
    /// What came of deleting a message.
    DeleteMessageResult(DeleteMessagePayload)
}
result_union! {
    /// What came of recording a permission request.
    RecordPermissionResult(MessagePayload)
}
result_union! {
    /// What came of deciding a permission request.
    ResolvePermissionResult(PermissionPayload)
}

#[derive(Default)]
pub struct Messages;

#[Object]
impl Messages {
    /// Appends a message to a turn's transcript. For runtimes.
    async fn append_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The message to append.")] input: AppendMessageInput,
    ) -> Result<AppendMessageResult> {
        let session = SessionId::new(input.session_id.0);
        let new = NewMessage {
            turn_id: input.turn_id.map(|id| TurnId::new(id.0)),
            author: input.author,
            kind: input.kind,
            content: input.content,
            metadata: input.metadata.map(|json| json.0).unwrap_or_default(),
        };
        let made = authority(ctx)?.append_message(viewer(ctx)?, &session, new).await;
        answer(made, |id| AppendMessageResult::Done(MessagePayload { id }))
    }

    /// Replaces a message's text; a question's cannot be. For runtimes.
    async fn update_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The message's id.")] message_id: ID,
        #[graphql(desc = "Its new text.")] content: String,
    ) -> Result<UpdateMessageResult> {
        let id = MessageId::new(message_id.0);
        let done = authority(ctx)?.update_message(viewer(ctx)?, &id, content).await;
        answer(done, |()| UpdateMessageResult::Done(MessagePayload { id }))
    }

    /// Deletes a message or question. No older question is revived by it. For runtimes.
    async fn delete_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The message's id.")] message_id: ID,
    ) -> Result<DeleteMessageResult> {
        let done = authority(ctx)?.delete_message(viewer(ctx)?, &MessageId::new(message_id.as_str())).await;
        answer(done, |()| DeleteMessageResult::Done(DeleteMessagePayload { message_id }))
    }

    /// Records that an agent asks for a permission; the same id again is the same request. For runtimes.
    async fn record_permission_request(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "The request's own id, given by the caller.")] permission_id: ID,
        #[graphql(desc = "What is asked.")] content: String,
    ) -> Result<RecordPermissionResult> {
        let (session, permission) = (SessionId::new(session_id.0), PermissionId::new(permission_id.0));
        let made = authority(ctx)?.record_permission(viewer(ctx)?, &session, permission, content).await;
        answer(made, |id| RecordPermissionResult::Done(MessagePayload { id }))
    }

    /// Decides a permission request; an agent that the server runs goes on with the decision. For people and runtimes.
    async fn resolve_permission_request(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session's id.")] session_id: ID,
        #[graphql(desc = "The request's own id: `pending_id` in its message's metadata.")] permission_id: ID,
        #[graphql(desc = "How it was decided.")] decision: PermissionDecision,
    ) -> Result<ResolvePermissionResult> {
        let (session, permission) = (SessionId::new(session_id.0), PermissionId::new(permission_id.as_str()));
        let status = decision.as_str().to_owned();
        let done = authority(ctx)?.resolve_permission(viewer(ctx)?, &session, permission, status).await;
        answer(done, |()| ResolvePermissionResult::Done(PermissionPayload { permission_id }))
    }
}
