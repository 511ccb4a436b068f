//! What an executor tells of an agent that it runs itself: a port that the authority fills (decisions 31).
//! May import: access, ids.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use crate::access::Pass;
use crate::ids::{AgentSessionId, Generation, MessageId, PermissionId, SessionId, TurnId};

/// The house did not take it; why, in words for an operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

/// How the agent of one session comes in.
#[derive(Debug)]
pub struct Door {
    /// The MCP endpoint.
    pub url: String,
    /// The session's bearer token, made for this agent; it stands as long as the agent holds this.
    pub pass: Pass,
    /// The conversation that the agent is to take up again, if it had one.
    pub known: Option<AgentSessionId>,
}

/// Something that the agent said or did in a turn, for the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its session.
    pub session_id: SessionId,
    /// Its turn.
    pub turn_id: TurnId,
    /// `agent`, or `system` for what is said about it.
    pub author: &'static str,
    /// `message`, `thought`, `tool_call`, `plan`.
    pub kind: &'static str,
    /// The text.
    pub content: String,
}

/// How a permission was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent may.
    Approved,
    /// It may not.
    Denied,
    /// Nobody decided, and nobody will.
    Cancelled,
}

/// Takes what agents do to where it is kept. Each call is bounded by who fills the port.
pub trait Output: Debug + Send + Sync {
    /// Lets the session's agent in: a fresh token of that session alone.
    fn admit(&self, session: SessionId) -> BoxFuture<'_, Result<Door, Failed>>;

    /// Keeps the name of the agent's conversation; durable when it returns.
    fn remember(&self, session: SessionId, known: AgentSessionId) -> BoxFuture<'_, Result<(), Failed>>;

    /// Appends to the transcript.
    fn append(&self, said: Said) -> BoxFuture<'_, Result<MessageId, Failed>>;

    /// Replaces the text of a message that still grows.
    fn extend(&self, session: SessionId, message: MessageId, content: String)
    -> BoxFuture<'_, Result<(), Failed>>;

    /// Asks for a permission; durable when it returns.
    fn permit(
        &self,
        session: SessionId,
        id: PermissionId,
        content: String,
    ) -> BoxFuture<'_, Result<MessageId, Failed>>;

    /// Waits for the decision of a permission that was asked for, however long that takes.
    fn verdict(&self, session: SessionId, asked: MessageId) -> BoxFuture<'_, Verdict>;

    /// The agent does not want that permission any more.
    fn withdraw(&self, session: SessionId, id: PermissionId) -> BoxFuture<'_, ()>;

    /// The agent is done with the prompt of that generation. Returns at once.
    fn ready(&self, session: SessionId, generation: Generation);

    /// The agent is gone, and nobody works on that turn any more. Returns at once.
    fn lost(&self, session: SessionId, turn: TurnId);
}
