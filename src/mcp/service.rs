//! The tools as `rmcp` calls them. Which tools there are depends on who calls; a tool that is not the caller's is
//! answered like one that does not exist. May import: authority, access.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};

use crate::authority::{Authority, Error};
use crate::lifecycle::Refusal;

use super::blocking::Call;
use super::catalog::{self, ANSWER, ASK, AWAIT, LIST, LIST_OWN, SKIP, Tool};
use super::door::Caller;
use super::watch::Watch;
use super::{Settings, output, people};

const INSTRUCTIONS: &str = "Answerable takes questions of agents to people. Ask with ask_user_question when a decision \
    is the person's; a call waits until there is an answer, and a question outlives a lost call.";

/// Serves every caller; what it knows of one comes with each request.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) authority: Authority,
    pub(super) settings: Arc<Settings>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("answerable", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (caller, _) = surroundings(&context)?;
        let tools = catalog::tools_of(&caller.viewer).into_iter().map(listed).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        catalog::tool(name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (caller, watch) = surroundings(&context)?;
        let is_own = catalog::tools_of(&caller.viewer).iter().any(|tool| tool.name == request.name);
        if !is_own {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let call = Call {
            authority: &self.authority,
            settings: &self.settings,
            viewer: &caller.viewer,
            watch: &watch,
            context: &context,
        };
        let result = run(&call, &request.name, &arguments).await;
        Ok(told(result).into())
    }
}

async fn run(call: &Call<'_>, name: &str, arguments: &Map<String, Value>) -> Result<Value, Error> {
    let viewer = call.viewer;
    match (name, &viewer.session) {
        (ASK, Some(session)) => call.ask(session, arguments).await,
        (AWAIT, Some(_)) => call.wait_again(arguments).await,
        (LIST_OWN, Some(session)) => people::list_own(call.authority, session).await,
        (LIST, None) => people::list(call.authority, viewer, arguments).await,
        (ANSWER, None) => people::answer(call.authority, viewer, arguments).await,
        (SKIP, None) => people::skip(call.authority, viewer, arguments).await,
        _ => Err(Refusal::NotFound.into()),
    }
}

/// Structured content and the same JSON as text; an error is text only, because it is not of the output's schema.
fn told(result: Result<Value, Error>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::structured(value),
        Err(error) => {
            if let Error::Fault(fault) = &error {
                tracing::error!(%fault, "a tool call failed");
            }
            CallToolResult::error(vec![ContentBlock::text(output::error(&error).to_string())])
        }
    }
}

fn listed(tool: Tool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(tool.is_read_only)
        .destructive(false)
        .idempotent(true)
        .open_world(!tool.is_read_only);
    rmcp::model::Tool::new(tool.name, tool.description, Arc::new(tool.input))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output))
        .with_annotations(annotations)
}

/// What the door put into the request.
fn surroundings(context: &RequestContext<RoleServer>) -> Result<(Caller, Watch), ErrorData> {
    let parts = context.extensions.get::<http::request::Parts>();
    let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
    let watch = parts.and_then(|parts| parts.extensions.get::<Watch>());
    match (caller, watch) {
        (Some(caller), Some(watch)) => Ok((caller.clone(), watch.clone())),
        _ => Err(ErrorData::internal_error("the request did not come through the door", None)),
    }
}
