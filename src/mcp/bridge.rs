//! `answerable mcp`: stdio on one side, the HTTP endpoint on the other. It passes messages on and understands none of
//! them but the ids of requests, so both protocol eras, progress and cancellation go through as they are.
//! May import: nothing of this crate.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{RoleClient, RoleServer};

/// Messages on their way to the server at once; more wait in the pipe.
const IN_FLIGHT_MAX: usize = 256;
/// How long the end of the bridge may take.
const CLOSE_WITHIN: Duration = Duration::from_millis(300);

/// The bridge ended badly.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The agent's side cannot be written.
    #[error("stdout: {0}")]
    Stdout(#[from] std::io::Error),
    /// The server's side ended: unreachable, or the token is refused.
    #[error("the connection to the server ended; is the address right, and the token valid?")]
    Server,
}

/// Serves MCP over stdin and stdout until stdin ends, through the endpoint at `url`.
///
/// # Errors
/// Either side broke.
pub async fn bridge(url: &str, token: Option<&str>) -> Result<(), BridgeError> {
    let (stdin, stdout) = stdio_pipes();
    let agent = AsyncRwTransport::<RoleServer, _, _>::new_server(stdin, stdout);
    let server = StreamableHttpClientTransport::from_config(config(url, token));
    relay(agent, server).await
}

pub(super) fn config(url: &str, token: Option<&str>) -> StreamableHttpClientTransportConfig {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    match token {
        Some(token) => config.auth_header(token),
        None => config,
    }
}

async fn relay<A, S>(mut agent: A, mut server: S) -> Result<(), BridgeError>
where
    A: Transport<RoleServer, Error = std::io::Error>,
    S: Transport<RoleClient>,
{
    let mut sending = FuturesUnordered::new();
    let ended = loop {
        tokio::select! {
            message = agent.receive(), if sending.len() < IN_FLIGHT_MAX => {
                let Some(message) = message else { break Ok(()) };
                let id = request_id(&message);
                let sent = server.send(message);
                sending.push(async move { (id, sent.await.map_err(|error| error.to_string())) });
            }
            message = server.receive() => {
                let Some(message) = message else { break Err(BridgeError::Server) };
                agent.send(message).await?;
            }
            Some((id, sent)) = sending.next(), if !sending.is_empty() => {
                if let (Some(id), Err(reason)) = (id, sent) {
                    agent.send(failed(id, reason)).await?;
                }
            }
        }
    };
    // Closing deletes the MCP session, which is a courtesy; the end of the process closes the sockets anyway.
    let _late = tokio::time::timeout(CLOSE_WITHIN, server.close()).await;
    ended
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// A request that did not reach the server; the agent may ask again, which asks nothing twice.
fn failed(id: RequestId, reason: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::internal_error(reason, None), Some(id))
}
