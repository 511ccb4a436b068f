//! One operation of a socket, in a task of its own, so that no hot stream starves another.
//! May import: graphql, authority, access.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio::sync::mpsc;

use crate::access::Viewer;
use crate::graphql::{Incoming, Kind, Receipts, enter, finish, is_request_error, prepare};

use super::State as Server;
use super::message;

/// What an operation sends to its socket.
pub(super) enum Sent {
    /// A frame; with it, what waits for proof of its receipt.
    Frame(u64, String, Option<Receipts>),
    /// The operation is over, with its last frame.
    Over(u64, String),
}

/// Runs an operation to its end, or until its task is aborted. `run` tells a reused id from its predecessor.
pub(super) async fn run(
    server: Arc<Server>,
    viewer: Viewer,
    run: u64,
    id: String,
    incoming: Incoming,
    out: mpsc::Sender<Sent>,
) {
    let prepared = match prepare(&server.limits, incoming) {
        Ok(prepared) => prepared,
        Err(error) => {
            // The socket went away: nobody is left to tell.
            let _gone = out.send(Sent::Over(run, message::error(&id, &[error]))).await;
            return;
        }
    };
    let (request, receipts) = enter(prepared.request, &server.authority, viewer);
    if prepared.kind == Kind::Subscription {
        let mut stream = std::pin::pin!(server.schema.execute_stream(request));
        let mut is_begun = false;
        while let Some(response) = stream.next().await {
            let response = finish(response);
            // What cannot be followed at all fails with a path, for its field was looked at.
            let is_refused = response.data == async_graphql::Value::Null && !response.errors.is_empty();
            if is_request_error(&response) || (is_refused && !is_begun) {
                let _gone = out.send(Sent::Over(run, message::error(&id, &response.errors))).await;
                return;
            }
            is_begun = true;
            if out.send(Sent::Frame(run, message::next(&id, &response), None)).await.is_err() {
                return;
            }
        }
    } else {
        let response = finish(server.schema.execute(request).await);
        let last = if is_request_error(&response) {
            Sent::Over(run, message::error(&id, &response.errors))
        } else {
            Sent::Frame(run, message::next(&id, &response), Some(receipts))
        };
        let is_over = matches!(last, Sent::Over(..));
        if out.send(last).await.is_err() || is_over {
            return;
        }
    }
    let _gone = out.send(Sent::Over(run, message::complete(&id))).await;
}
