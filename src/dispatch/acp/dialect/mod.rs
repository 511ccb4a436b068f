//! The words of the protocol in its two versions, as pure functions between JSON and ours. May import: dispatch, ids.

mod v1;
mod v2;

use std::path::PathBuf;

use agent_client_protocol::{Error, UntypedMessage};
use serde_json::Value;

use crate::dispatch::{Door, Verdict};
use crate::ids::AgentSessionId;

pub(super) use v1::V1;
pub(super) use v2::V2;

/// The method by which an agent asks for a permission, in both versions.
pub(super) const PERMISSION: &str = "session/request_permission";
/// The method by which an agent tells what it does, in both versions.
pub(super) const UPDATE: &str = "session/update";
/// The name under which the agent knows our MCP endpoint.
const SERVER: &str = "answerable";

/// Where an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its working directory, absolute.
    pub(super) directory: PathBuf,
    /// This binary, which bridges to the endpoint for agents that do not reach MCP servers over HTTP.
    pub(super) bridge: PathBuf,
}

/// What an agent can do beyond the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skills {
    /// It reaches MCP servers over HTTP.
    pub(super) has_http: bool,
    /// It takes up a conversation without telling it again.
    pub(super) may_resume: bool,
    /// It takes up a conversation and tells it again.
    pub(super) may_load: bool,
}

/// What an agent says that it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// A piece of a text that grows. Pieces of one kind that follow each other are one message, unless their ids
    /// differ.
    Piece {
        /// `message`, `thought`.
        kind: &'static str,
        /// The message's own id, where the agent gives one.
        id: Option<String>,
        /// The piece.
        text: String,
    },
    /// A message that is whole.
    Whole {
        /// `tool_call`, `plan`, `message`, `thought`.
        kind: &'static str,
        /// Its own id, where the agent gives one.
        id: Option<String>,
        /// The text.
        text: String,
    },
    /// It works; there is nothing to show.
    Works,
    /// It began to work (second version).
    Begins,
    /// It does nothing any more (second version).
    Rests,
    /// It says nothing about the prompt.
    Aside,
}

/// A permission that an agent asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The conversation.
    pub(super) session: AgentSessionId,
    /// What is asked, for a person.
    pub(super) text: String,
    /// Chosen when it is approved: rather once than always.
    approve: Option<String>,
    /// Chosen when it is denied.
    deny: Option<String>,
}

/// One version of the protocol.
pub(super) trait Dialect: Send + Sync + 'static {
    /// The first request.
    fn initialize(&self) -> Result<UntypedMessage, Error>;
    /// What its answer says.
    fn skills(&self, answer: Value) -> Result<Skills, Error>;
    /// Begins a conversation.
    fn begin(&self, place: &Place, door: &Door, skills: Skills) -> Result<UntypedMessage, Error>;
    /// Takes one up; none: the agent cannot.
    fn take_up(
        &self,
        known: &AgentSessionId,
        place: &Place,
        door: &Door,
        skills: Skills,
    ) -> Option<Result<UntypedMessage, Error>>;
    /// The name of the conversation that began.
    fn begun(&self, answer: Value) -> Result<AgentSessionId, Error>;
    /// A prompt.
    fn prompt(&self, session: &AgentSessionId, text: String) -> Result<UntypedMessage, Error>;
    /// Stops the work on it.
    fn cancel(&self, session: &AgentSessionId) -> Result<UntypedMessage, Error>;
    /// An answer to a prompt says that the work is over; else only that it was taken.
    fn is_answer_the_end(&self) -> bool;
    /// A first update is as good as an answer (design: agents, acknowledgement).
    fn is_update_evidence(&self) -> bool;
    /// What an update says, and of which conversation.
    fn update(&self, params: Value) -> Result<(AgentSessionId, Update), Error>;
    /// What is asked for.
    fn request(&self, params: Value) -> Result<Request, Error>;
    /// The answer to it.
    fn verdict(&self, request: &Request, verdict: Verdict) -> Result<Value, Error>;
}

/// The option that a verdict chooses; none: the request is cancelled.
fn chosen(request: &Request, verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Approved => request.approve.clone(),
        Verdict::Denied => request.deny.clone(),
        Verdict::Cancelled => None,
    }
}

/// The header by which an agent that speaks HTTP comes in.
fn authorization(door: &Door) -> String {
    format!("Bearer {}", door.pass.token())
}

/// The variables by which the bridge of any other agent comes in.
fn environment(door: &Door) -> [(&'static str, String); 2] {
    [("ANSWERABLE_URL", door.url.clone()), ("ANSWERABLE_TOKEN", door.pass.token().to_owned())]
}

/// One line of a plan.
fn plan_line(is_completed: bool, content: &str) -> String {
    let mark = if is_completed { "x" } else { " " };
    format!("- [{mark}] {content}\n")
}
