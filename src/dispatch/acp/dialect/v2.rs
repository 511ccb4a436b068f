//! The second version of the protocol, a draft. May import: dispatch, ids.

use agent_client_protocol::schema::{MaybeUndefined, ProtocolVersion};
use agent_client_protocol::v2::schema::{
    AGENT_METHOD_NAMES as METHODS, CancelSessionNotification, CancelledPermissionOutcome, ContentBlock,
    EnvVariable, HttpHeader, Implementation, InitializeRequest, InitializeResponse, McpServer, McpServerHttp,
    McpServerStdio, MessageId, NewSessionRequest, NewSessionResponse, PermissionOptionKind, PlanEntry,
    PlanEntryStatus, PlanUpdateContent, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ResumeSessionRequest, SelectedPermissionOutcome, SessionUpdate, StateUpdate,
    TextContent, UpdateSessionNotification,
};
use agent_client_protocol::{Error, UntypedMessage};
use serde_json::Value;

use crate::dispatch::{Door, Verdict};
use crate::ids::AgentSessionId;

use super::{Dialect, Place, Request, SERVER, Skills, Update, authorization, chosen, environment, plan_line};

/// Its prompt is answered when the agent has taken it; updates say when the work begins and rests.
#[derive(Debug)]
pub(in crate::dispatch::acp) struct V2;

impl Dialect for V2 {
    fn initialize(&self) -> Result<UntypedMessage, Error> {
        let own = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        UntypedMessage::new(METHODS.initialize, InitializeRequest::new(ProtocolVersion::V2, own))
    }

    fn skills(&self, answer: Value) -> Result<Skills, Error> {
        let refused = |why: &str| Error::invalid_request().data(why.to_owned());
        if answer.get("protocolVersion") != Some(&Value::from(2)) {
            return Err(refused("the agent does not speak version 2"));
        }
        let answer: InitializeResponse = serde_json::from_value(answer)?;
        let session = answer.capabilities.session.ok_or_else(|| refused("the agent holds no sessions"))?;
        let has_http = session.mcp.is_some_and(|mcp| mcp.http.is_some());
        Ok(Skills { has_http, may_resume: true, may_load: false })
    }

    fn begin(&self, place: &Place, door: &Door, skills: Skills) -> Result<UntypedMessage, Error> {
        let request = NewSessionRequest::new(place.directory.clone()).mcp_servers(servers(place, door, skills));
        UntypedMessage::new(METHODS.session_new, request)
    }

    fn take_up(
        &self,
        known: &AgentSessionId,
        place: &Place,
        door: &Door,
        skills: Skills,
    ) -> Option<Result<UntypedMessage, Error>> {
        let request = ResumeSessionRequest::new(known.as_str().to_owned(), place.directory.clone());
        Some(UntypedMessage::new(METHODS.session_resume, request.mcp_servers(servers(place, door, skills))))
    }

    fn begun(&self, answer: Value) -> Result<AgentSessionId, Error> {
        let answer: NewSessionResponse = serde_json::from_value(answer)?;
        Ok(AgentSessionId::new(answer.session_id.to_string()))
    }

    fn prompt(&self, session: &AgentSessionId, text: String) -> Result<UntypedMessage, Error> {
        let content = vec![ContentBlock::Text(TextContent::new(text))];
        UntypedMessage::new(METHODS.session_prompt, PromptRequest::new(session.as_str().to_owned(), content))
    }

    fn cancel(&self, session: &AgentSessionId) -> Result<UntypedMessage, Error> {
        let cancel = CancelSessionNotification::new(session.as_str().to_owned());
        UntypedMessage::new(METHODS.session_cancel, cancel)
    }

    fn is_answer_the_end(&self) -> bool {
        false
    }

    fn is_update_evidence(&self) -> bool {
        false
    }

    fn update(&self, params: Value) -> Result<(AgentSessionId, Update), Error> {
        let told: UpdateSessionNotification = serde_json::from_value(params)?;
        Ok((AgentSessionId::new(told.session_id.to_string()), read(told.update)))
    }

    fn request(&self, params: Value) -> Result<Request, Error> {
        let asked: RequestPermissionRequest = serde_json::from_value(params)?;
        let option = |kinds: [PermissionOptionKind; 2]| {
            let of = |kind| asked.options.iter().find(|option| option.kind == kind);
            kinds.into_iter().find_map(of).map(|option| option.option_id.to_string())
        };
        let text = match &asked.description {
            Some(description) => format!("{}\n{description}", asked.title),
            None => asked.title.clone(),
        };
        Ok(Request {
            session: AgentSessionId::new(asked.session_id.to_string()),
            text,
            approve: option([PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]),
            deny: option([PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]),
        })
    }

    fn verdict(&self, request: &Request, verdict: Verdict) -> Result<Value, Error> {
        let outcome = match chosen(request, verdict) {
            Some(id) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
            None => RequestPermissionOutcome::Cancelled(CancelledPermissionOutcome::new()),
        };
        Ok(serde_json::to_value(RequestPermissionResponse::new(outcome))?)
    }
}

fn servers(place: &Place, door: &Door, skills: Skills) -> Vec<McpServer> {
    if skills.has_http {
        let header = HttpHeader::new("Authorization", authorization(door));
        return vec![McpServer::Http(McpServerHttp::new(SERVER, door.url.clone()).headers(vec![header]))];
    }
    let environment = environment(door).into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let server = McpServerStdio::new(SERVER, place.bridge.clone()).args(vec!["mcp".to_owned()]).env(environment);
    vec![McpServer::Stdio(server)]
}

fn read(update: SessionUpdate) -> Update {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => piece("message", &chunk.message_id, chunk.content),
        SessionUpdate::AgentThoughtChunk(chunk) => piece("thought", &chunk.message_id, chunk.content),
        SessionUpdate::AgentMessage(whole) => snapshot("message", &whole.message_id, whole.content),
        SessionUpdate::AgentThought(whole) => snapshot("thought", &whole.message_id, whole.content),
        SessionUpdate::ToolCallUpdate(call) => match call.title {
            MaybeUndefined::Value(text) => {
                Update::Whole { kind: "tool_call", id: Some(call.tool_call_id.to_string()), text }
            }
            MaybeUndefined::Null | MaybeUndefined::Undefined => Update::Works,
        },
        SessionUpdate::PlanUpdate(update) => match update.plan {
            PlanUpdateContent::Items(items) => Update::Whole {
                kind: "plan",
                id: Some(items.plan_id.to_string()),
                text: items.entries.iter().map(line).collect(),
            },
            _ => Update::Works,
        },
        SessionUpdate::StateUpdate(StateUpdate::Idle(_)) => Update::Rests,
        SessionUpdate::StateUpdate(_) => Update::Begins,
        SessionUpdate::ToolCallContentChunk(_)
        | SessionUpdate::TerminalUpdate(_)
        | SessionUpdate::TerminalOutputChunk(_) => Update::Works,
        _ => Update::Aside,
    }
}

fn line(entry: &PlanEntry) -> String {
    plan_line(entry.status == PlanEntryStatus::Completed, &entry.content)
}

fn piece(kind: &'static str, id: &MessageId, content: ContentBlock) -> Update {
    Update::Piece { kind, id: Some(id.to_string()), text: text(content) }
}

fn snapshot(kind: &'static str, id: &MessageId, content: MaybeUndefined<Vec<ContentBlock>>) -> Update {
    match content {
        MaybeUndefined::Value(blocks) => {
            Update::Whole { kind, id: Some(id.to_string()), text: blocks.into_iter().map(text).collect() }
        }
        MaybeUndefined::Null | MaybeUndefined::Undefined => Update::Works,
    }
}

fn text(content: ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text,
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(update: Value) -> Update {
        V2.update(json!({"sessionId": "s", "update": update})).unwrap().1
    }

    #[test]
    fn only_a_known_idle_state_is_rest() {
        assert_eq!(update(json!({"sessionUpdate": "state_update", "state": "idle"})), Update::Rests);
        assert_eq!(update(json!({"sessionUpdate": "state_update", "state": "running"})), Update::Begins);
        assert_eq!(update(json!({"sessionUpdate": "state_update", "state": "_dozing"})), Update::Begins);
    }

    #[test]
    fn an_agent_of_the_first_version_is_refused_by_name() {
        let error = V2.skills(json!({"protocolVersion": 1, "agentCapabilities": {}})).unwrap_err();
        assert_eq!(error.data, Some(json!("the agent does not speak version 2")));
    }

    #[test]
    fn a_permission_shows_its_description() {
        let params = json!({
            "sessionId": "s", "title": "Delete", "description": "All of it",
            "options": [{"optionId": "a", "name": "Yes", "kind": "allow_always"}],
        });
        let request = V2.request(params).unwrap();
        assert_eq!(request.text, "Delete\nAll of it");
        let denied = V2.verdict(&request, Verdict::Denied).unwrap();
        assert_eq!(denied["outcome"]["outcome"], "cancelled");
    }
}
