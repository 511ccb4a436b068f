//! What the port answers: GraphQL over HTTP, WebSocket and SSE, health, and a page to answer on. MCP is merged in by
//! `serve`. May import: graphql, authority, access, tasks, metrics, config.

mod accept;
mod credentials;
mod events;
mod feed;
mod frames;
mod guard;
mod http;
mod media;
mod message;
mod metering;
mod operation;
mod page;
mod peer;
mod slots;
mod socket;
mod upgrade;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get};
use tokio_util::sync::CancellationToken;

use crate::authority::Authority;
use crate::config::MetricsReaders;
use crate::graphql::{self, Documents, Schema};
use crate::tasks::Tasks;

pub use accept::{Patience, serve};
pub use page::page_documents;
pub use peer::watch_peer;

use credentials::Credentials;
use feed::Feeds;
use slots::Slots;

/// Cap of the log: above this level whole frames of sockets are written, and answers are in them (H-20).
pub const LOG_CAP: &str = "tungstenite=debug,tokio_tungstenite=debug";

/// Bounds of the transports.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Host names beside the loopback ones by which clients come.
    pub public_hosts: Vec<String>,
    /// Only loopback names are accepted as `Host`: the server needs no token then (DNS rebinding).
    pub is_loopback_only: bool,
    /// Bytes of a body.
    pub body_bytes_max: usize,
    /// How long a query may run.
    pub query: Duration,
    /// How long a socket may take to introduce itself.
    pub init: Duration,
    /// Operations of one socket.
    pub operations_max: usize,
    /// Answers of one socket that wait to be written; its operations wait with them.
    pub answers_max: usize,
    /// Bytes of a message from a client.
    pub message_bytes_max: usize,
    /// How long a message may take from its first byte to its last.
    pub message: Duration,
    /// Pings that a client may send in a second.
    pub pings_max: usize,
    /// Sockets and streams in all.
    pub connections_max: usize,
    /// Sockets and streams of one caller.
    pub connections_each_max: usize,
    /// Items that a feed keeps for its slowest follower before that one reads the log again.
    pub feed_max: usize,
    /// Between two comments of a stream of events.
    pub heartbeat: Duration,
    /// Between two pings of a socket; one that misses two of them is gone.
    pub ping: Duration,
    /// How long one message of a socket may take to be written.
    pub write: Duration,
    /// How long a peer may take to hear why its socket is closed.
    pub close: Duration,
    /// How often a socket's access is looked at again.
    pub recheck: Duration,
    /// GET takes any document, and not only trusted ones.
    pub is_get_open: bool,
    /// There is a GraphiQL.
    pub is_graphiql_on: bool,
    /// Who may read the metrics.
    pub metrics: MetricsReaders,
}

struct State {
    authority: Authority,
    schema: Schema,
    limits: graphql::Limits,
    documents: Documents,
    settings: Settings,
    tasks: Tasks,
    closing: CancellationToken,
    feeds: Feeds,
    credentials: Credentials,
    slots: Slots,
}

type Shared = axum::extract::State<Arc<State>>;

/// Everything but MCP. `closing` ends sockets and stops admitting.
pub fn router(
    authority: Authority,
    schema: Schema,
    limits: graphql::Limits,
    documents: Documents,
    settings: Settings,
    tasks: Tasks,
    closing: CancellationToken,
) -> Router {
    let body_bytes_max = settings.body_bytes_max;
    let feeds = Feeds::new(authority.clone(), schema.clone(), limits, tasks.clone(), settings.feed_max);
    let credentials = Credentials::new(authority.clone(), tasks.clone(), settings.recheck);
    let slots = Slots::new(settings.connections_max, settings.connections_each_max);
    let state = Arc::new(State {
        authority,
        schema,
        limits,
        documents,
        settings,
        tasks,
        closing,
        feeds,
        credentials,
        slots,
    });
    let graphiql = match state.settings.is_graphiql_on {
        true => Router::new()
            .route("/graphiql", get(page::graphiql))
            .route("/graphiql/assets/{name}", get(page::graphiql)),
        false => Router::new(),
    };
    Router::new()
        .merge(graphiql)
        .route("/", get(page::page))
        .route("/icon.svg", get(page::page))
        .route("/assets/{name}", get(page::page))
        .route("/metrics", get(metering::metrics))
        .route("/graphql", any(http::graphql))
        .route("/graphql/ws", get(upgrade::upgrade))
        .layer(from_fn_with_state(state.clone(), guard::check))
        .route("/healthz", get(|| async { StatusCode::NO_CONTENT }))
        .route("/readyz", get(ready))
        .layer(DefaultBodyLimit::max(body_bytes_max))
        .with_state(state)
}

/// Ready: not going away, and the store answers.
async fn ready(axum::extract::State(state): Shared) -> StatusCode {
    let is_up = !state.closing.is_cancelled() && state.authority.store().outbox_tip().await.is_ok();
    if is_up { StatusCode::NO_CONTENT } else { StatusCode::SERVICE_UNAVAILABLE }
}
