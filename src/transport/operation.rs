//! A query or mutation of a socket, in a task of its own, so that none holds up another.
//! May import: graphql, authority, access, metrics.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument;

use crate::access::Viewer;
use crate::graphql::{Kind, Prepared, Receipts, enter, finish, is_request_error};
use crate::metrics::Transport;

use super::State as Server;
use super::message;
use super::metering;

/// What an operation sends to its socket. The number tells a reused id from its predecessor.
pub(super) enum Sent {
    /// A frame; with it, what waits for proof of its receipt.
    Frame(u64, String, Option<Receipts>),
    /// The operation is over, with its last frame.
    Over(u64, String),
}

/// Runs an operation to its end. A mutation goes on when its socket is gone, and so does a query, for a bounded time.
pub(super) async fn run(
    server: Arc<Server>,
    viewer: Viewer,
    run: u64,
    id: String,
    prepared: Prepared,
    out: mpsc::Sender<Sent>,
) {
    let (kind, start) = (prepared.kind, Instant::now());
    let (request, receipts) = enter(prepared.request, &server.authority, viewer);
    let executed = server.schema.execute(request).instrument(metering::span(Transport::Socket, kind));
    let response = match kind {
        Kind::Mutation => executed.await,
        Kind::Query | Kind::Subscription => tokio::time::timeout(server.settings.query, executed)
            .await
            .unwrap_or_else(|_elapsed| super::http::too_slow()),
    };
    let response = finish(response);
    metering::answered(server.authority.metrics(), Transport::Socket, &response, start);
    let is_refused = is_request_error(&response);
    // A socket that went away leaves nobody to tell, and the receipts unredeemed.
    if is_refused {
        let _gone = out.send(Sent::Over(run, message::error(&id, &response.errors))).await;
    } else if out.send(Sent::Frame(run, message::next(&id, &response), Some(receipts))).await.is_ok() {
        let _gone = out.send(Sent::Over(run, message::complete(&id))).await;
    }
}
