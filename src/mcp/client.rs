//! A small MCP client of this server, for the demo's agent. May import: nothing of this crate.

use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value};

use super::bridge::config;

/// A connection to the endpoint.
#[derive(Debug)]
pub struct Client(RunningService<RoleClient, ()>);

/// A call that gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The endpoint cannot be reached, or it broke off.
    #[error("the MCP endpoint: {0}")]
    Transport(String),
    /// The tool refused; its own words, which are JSON.
    #[error("the tool refused: {0}")]
    Refused(String),
}

impl Client {
    /// Connects to the endpoint at `url`.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the token.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let transport = StreamableHttpClientTransport::from_config(config(url, token));
        ().serve(transport).await.map(Self).map_err(|error| ClientError::Transport(error.to_string()))
    }

    /// Calls a tool and returns its structured result. Dropped, it cancels the call.
    ///
    /// # Errors
    /// The endpoint broke off; the tool refused.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Value, ClientError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.0.call_tool(params).await.map_err(|error| ClientError::Transport(error.to_string()))?;
        match (result.is_error, result.structured_content) {
            (Some(false) | None, Some(value)) => Ok(value),
            (_, _) => {
                let text = result.content.iter().find_map(|block| block.as_text()).map(|text| text.text.clone());
                Err(ClientError::Refused(text.unwrap_or_default()))
            }
        }
    }
}
