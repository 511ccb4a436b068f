//! The agent's side: asking over MCP (streamable HTTP, both protocol eras on one URL). No type of `rmcp` leaves here.
//!
//! A question is live only while somebody can receive its answer. [`blocking`] holds the three signals that end a
//! call early, [`watch`] the one that `rmcp` does not give in every mode. May import: authority, access, store,
//! lifecycle, ids.

mod blocking;
mod bridge;
mod catalog;
mod client;
mod door;
mod input;
mod output;
mod people;
mod service;
mod watch;

use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::authority::Authority;

pub use bridge::{BridgeError, bridge};
pub use client::{Client, ClientError};

use door::Door;
use service::Tools;

/// Cap of the log: below this level `rmcp` writes whole requests and results, and a secret answer is one of them. Its
/// service complains of every response that a lost client did not take.
pub const LOG_CAP: &str = "rmcp=warn,rmcp::service=off";

/// Bounds and names of the endpoint; `config` documents each.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A blocked call ends with `pending` after this, where its client hears progress.
    pub soft_deadline: Duration,
    /// The same, for clients without a progress token or known to ignore progress.
    pub soft_deadline_silent: Duration,
    /// Between two reports of progress.
    pub progress_period: Duration,
    /// Between two SSE comments, which turn a vanished peer into a dead body.
    pub ping_period: Duration,
    /// How long a lost call of the older protocol can be resumed to learn that its question is still open.
    pub resume_grace: Duration,
    /// Host names that requests may carry, `host` or `host:port`; the loopback names by default.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call, `scheme://host` with `:port` or `:*`; the loopback ones by default. What comes
    /// without an origin is no browser and passes.
    pub allowed_origins: Vec<String>,
    /// A request's body, at most.
    pub body_bytes_max: usize,
    /// Ends streams that carry no call. Cancel it after `Authority::drain`, which ends the calls.
    pub closing: CancellationToken,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            soft_deadline: Duration::from_secs(input::WAIT_MAX_S),
            soft_deadline_silent: Duration::from_secs(50),
            progress_period: Duration::from_secs(15),
            ping_period: Duration::from_secs(15),
            resume_grace: Duration::from_secs(10),
            allowed_hosts: vec!["localhost".into(), "127.0.0.1".into(), "::1".into()],
            allowed_origins: ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(Into::into).into(),
            body_bytes_max: 1024 * 1024,
            closing: CancellationToken::new(),
        }
    }
}

/// The endpoint, to be merged into the server's router: `/mcp`.
pub fn router(authority: Authority, settings: Settings) -> Router {
    let door = Door { authority: authority.clone(), closing: settings.closing.clone(), seal: RandomState::new() };
    let sessions = Arc::new(session_manager(&settings));
    let config = StreamableHttpServerConfig::default()
        .with_sse_keep_alive(Some(settings.ping_period))
        .with_allowed_hosts(settings.allowed_hosts.clone())
        .with_allowed_origins(settings.allowed_origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(settings.body_bytes_max);
    let tools = Tools { authority, settings: Arc::new(settings) };
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    Router::new().route_service("/mcp", service).layer(from_fn_with_state(door, door::enter))
}

/// An MCP session outlives the longest wait in it; `rmcp` counts no SSE comment as activity.
fn session_manager(settings: &Settings) -> LocalSessionManager {
    let mut manager = LocalSessionManager::default();
    let keep_alive = settings.soft_deadline.saturating_add(Duration::from_secs(300));
    manager.session_config.keep_alive = Some(keep_alive);
    manager
}
