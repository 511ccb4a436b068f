//! The first version of the protocol. May import: dispatch, ids.

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES as METHODS, CancelNotification, ContentBlock, EnvVariable, HttpHeader, Implementation,
    InitializeRequest, InitializeResponse, LoadSessionRequest, McpServer, McpServerHttp, McpServerStdio,
    NewSessionRequest, NewSessionResponse, PermissionOptionKind, PlanEntry, PlanEntryStatus, PromptRequest,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, ResumeSessionRequest,
    SelectedPermissionOutcome, SessionNotification, SessionUpdate, TextContent,
};
use agent_client_protocol::{Error, UntypedMessage};
use serde_json::Value;

use crate::dispatch::{Door, Verdict};
use crate::ids::AgentSessionId;

use super::{Dialect, Place, Request, SERVER, Skills, Update, authorization, chosen, environment, plan_line};

/// Stable; its prompt is answered when the work is over.
#[derive(Debug)]
pub(in crate::dispatch::acp) struct V1;

impl Dialect for V1 {
    fn initialize(&self) -> Result<UntypedMessage, Error> {
        let own = Implementation::new(SERVER, env!("CARGO_PKG_VERSION"));
        UntypedMessage::new(METHODS.initialize, InitializeRequest::new(ProtocolVersion::V1).client_info(own))
    }

    fn skills(&self, answer: Value) -> Result<Skills, Error> {
        let answer: InitializeResponse = serde_json::from_value(answer)?;
        if answer.protocol_version != ProtocolVersion::V1 {
            return Err(Error::invalid_request().data("the agent does not speak version 1".to_owned()));
        }
        let can = answer.agent_capabilities;
        Ok(Skills {
            has_http: can.mcp_capabilities.http,
            may_resume: can.session_capabilities.resume.is_some(),
            may_load: can.load_session,
        })
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
        let (id, directory) = (known.as_str().to_owned(), place.directory.clone());
        let servers = servers(place, door, skills);
        if skills.may_resume {
            let request = ResumeSessionRequest::new(id, directory).mcp_servers(servers);
            Some(UntypedMessage::new(METHODS.session_resume, request))
        } else if skills.may_load {
            let request = LoadSessionRequest::new(id, directory).mcp_servers(servers);
            Some(UntypedMessage::new(METHODS.session_load, request))
        } else {
            None
        }
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
        UntypedMessage::new(METHODS.session_cancel, CancelNotification::new(session.as_str().to_owned()))
    }

    fn is_answer_the_end(&self) -> bool {
        true
    }

    fn is_update_evidence(&self) -> bool {
        true
    }

    fn update(&self, params: Value) -> Result<(AgentSessionId, Update), Error> {
        let told: SessionNotification = serde_json::from_value(params)?;
        Ok((AgentSessionId::new(told.session_id.to_string()), read(told.update)))
    }

    fn request(&self, params: Value) -> Result<Request, Error> {
        let asked: RequestPermissionRequest = serde_json::from_value(params)?;
        let option = |kinds: [PermissionOptionKind; 2]| {
            let of = |kind| asked.options.iter().find(|option| option.kind == kind);
            kinds.into_iter().find_map(of).map(|option| option.option_id.to_string())
        };
        let title = asked.tool_call.fields.title.clone();
        Ok(Request {
            session: AgentSessionId::new(asked.session_id.to_string()),
            text: title.unwrap_or_else(|| asked.tool_call.tool_call_id.to_string()),
            approve: option([PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]),
            deny: option([PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]),
        })
    }

    fn verdict(&self, request: &Request, verdict: Verdict) -> Result<Value, Error> {
        let outcome = match chosen(request, verdict) {
            Some(id) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
            None => RequestPermissionOutcome::Cancelled,
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
        SessionUpdate::AgentMessageChunk(chunk) => piece("message", chunk.message_id, chunk.content),
        SessionUpdate::AgentThoughtChunk(chunk) => piece("thought", chunk.message_id, chunk.content),
        SessionUpdate::ToolCall(call) => {
            Update::Whole { kind: "tool_call", id: Some(call.tool_call_id.to_string()), text: call.title }
        }
        SessionUpdate::Plan(plan) => {
            let line = |entry: &PlanEntry| plan_line(entry.status == PlanEntryStatus::Completed, &entry.content);
            Update::Whole { kind: "plan", id: None, text: plan.entries.iter().map(line).collect() }
        }
        SessionUpdate::ToolCallUpdate(_) | SessionUpdate::UserMessageChunk(_) => Update::Works,
        _ => Update::Aside,
    }
}

fn piece<I: ToString>(kind: &'static str, id: Option<I>, content: ContentBlock) -> Update {
    let id = id.map(|id| id.to_string());
    match content {
        ContentBlock::Text(text) => Update::Piece { kind, id, text: text.text },
        ContentBlock::ResourceLink(link) => {
            Update::Piece { kind, id, text: format!("[{}]({})", link.name, link.uri) }
        }
        _ => Update::Works,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::Passes;
    use crate::ids::SessionId;

    fn update(update: Value) -> Update {
        V1.update(json!({"sessionId": "s", "update": update})).unwrap().1
    }

    #[test]
    fn available_commands_are_no_evidence_and_a_chunk_is() {
        assert_eq!(
            update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []})),
            Update::Aside
        );
        let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}});
        assert_eq!(update(chunk), Update::Piece { kind: "message", id: None, text: "Hi".into() });
    }

    #[test]
    fn a_plan_is_one_message() {
        let entry = |status| json!({"content": "Paint", "priority": "high", "status": status});
        let plan = json!({"sessionUpdate": "plan", "entries": [entry("completed"), entry("pending")]});
        let text = "- [x] Paint\n- [ ] Paint\n".into();
        assert_eq!(update(plan), Update::Whole { kind: "plan", id: None, text });
    }

    #[test]
    fn an_approval_is_rather_for_once_than_for_ever() {
        let option = |id: &str| json!({"optionId": id, "name": id, "kind": id});
        let params = json!({
            "sessionId": "s", "toolCall": {"toolCallId": "t", "title": "Delete it"},
            "options": [option("allow_always"), option("reject_once"), option("allow_once")],
        });
        let request = V1.request(params).unwrap();
        assert_eq!(request.text, "Delete it");
        let chosen = |verdict| V1.verdict(&request, verdict).unwrap()["outcome"].clone();
        assert_eq!(chosen(Verdict::Approved), json!({"outcome": "selected", "optionId": "allow_once"}));
        assert_eq!(chosen(Verdict::Denied), json!({"outcome": "selected", "optionId": "reject_once"}));
        assert_eq!(chosen(Verdict::Cancelled), json!({"outcome": "cancelled"}));
    }

    #[test]
    fn the_token_goes_in_a_header_or_to_the_bridge_and_nowhere_else() {
        let pass = Passes::default().issue(SessionId::new("s"));
        let secret = pass.token().to_owned();
        let door = Door { url: "http://127.0.0.1:1/mcp".into(), pass, known: None };
        let skills = Skills { has_http: true, ..Skills::default() };
        let place = Place { directory: "/".into(), bridge: "/bin/answerable".into() };
        let (_, http) = V1.begin(&place, &door, skills).unwrap().into_parts();
        assert_eq!(http["mcpServers"][0]["headers"][0]["value"], format!("Bearer {secret}"));
        let (_, stdio) = V1.begin(&place, &door, Skills::default()).unwrap().into_parts();
        assert_eq!(stdio["mcpServers"][0]["env"][1], json!({"name": "ANSWERABLE_TOKEN", "value": secret}));
        assert!(!format!("{door:?}").contains(&secret));
    }
}
