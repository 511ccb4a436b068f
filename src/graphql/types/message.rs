//! A message of a transcript. May import: store, ids.

use async_graphql::{Context, ID, Json, Object, Result};
use serde_json::{Map, Value};

use crate::lifecycle::QUESTION_KIND;
use crate::store::{MessageKey, MessageRowOut};

use super::super::context::{load, viewer};
use super::super::fault::fault;
use super::question::may_read_answer;
use super::{Clarification, DateTime, TaskSession, Turn};

/// One entry of a session's transcript.
pub struct Message(pub(crate) MessageRowOut);

impl Message {
    /// Its place in its session.
    pub(crate) fn key(row: &MessageRowOut) -> MessageKey {
        MessageKey { created_at: row.created_at, id: row.id.clone() }
    }
}

/// One entry of a session's transcript. A question is one, and so is a permission request.
#[Object]
impl Message {
    /// Opaque; names this message for ever.
    pub(super) async fn id(&self) -> ID {
        self.0.id.as_str().into()
    }

    /// Its session; null: it was deleted meanwhile.
    async fn session(&self, ctx: &Context<'_>) -> Option<Result<TaskSession>> {
        let id = self.0.session_id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(TaskSession))
    }

    /// Its turn; null: it has none (imported rows), or the turn is not shown.
    async fn turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.0.turn_id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }

    /// Who wrote it: `user`, `agent` or `system`.
    async fn author(&self) -> &str {
        &self.0.author
    }

    /// What it is: `message`, `tool_call`, `clarification_request`, `permission_request`, or the writer's own word.
    async fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Its text.
    async fn content(&self) -> &str {
        &self.0.content
    }

    /// What its writer noted, without what the server keeps for itself. The answer to a secret question is left out.
    async fn metadata(&self, ctx: &Context<'_>) -> Result<Json<Map<String, Value>>> {
        let mut metadata = self.0.metadata.clone();
        let may_read = match &self.0.question {
            Some(question) => may_read_answer(viewer(ctx)?, &self.0.session_id, question),
            None => self.0.kind != QUESTION_KIND,
        };
        if !may_read {
            metadata.remove("response");
        }
        Ok(Json(metadata))
    }

    /// When it was written.
    async fn created_at(&self) -> DateTime {
        self.0.created_at.into()
    }

    /// When its text or metadata last changed.
    async fn updated_at(&self) -> DateTime {
        self.0.updated_at.into()
    }

    /// The bundle that this question belongs to; null: it is no question.
    async fn clarification(&self, ctx: &Context<'_>) -> Option<Result<Clarification>> {
        let id = self.0.question.as_ref()?.pending_id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Clarification))
    }
}
