//! From a request to a WebSocket. May import: metrics.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::State as Server;
use super::frames::Framed;
use super::http::bearer;
use super::socket::serve;

const PROTOCOL: &str = "graphql-transport-ws";
/// Small buffers: tens of thousands of sockets are mostly idle.
const BUFFER_BYTES: usize = 4_096;

/// The socket of a client.
pub(super) type Socket = WebSocketStream<Framed<TokioIo<Upgraded>>>;

/// Upgrades a request that speaks the protocol.
pub(super) async fn upgrade(State(server): State<Arc<Server>>, mut request: Request) -> Response {
    let mut response = match create_response_with_body(&request, Body::empty) {
        Ok(response) => response,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    if !speaks(request.headers()) {
        return (StatusCode::BAD_REQUEST, format!("the subprotocol is {PROTOCOL}\n")).into_response();
    }
    let Some(slot) = server.slots.take() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many connections, try again later\n").into_response();
    };
    response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    let token = bearer(request.headers()).map(str::to_owned);
    let (upgraded, tasks) = (hyper::upgrade::on(&mut request), server.tasks.clone());
    drop(tasks.spawn("socket", async move {
        match upgraded.await {
            Ok(upgraded) => {
                let stream = Framed::new(TokioIo::new(upgraded));
                let config = config(server.settings.message_bytes_max);
                let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
                serve(server, socket, token, slot).await;
            }
            Err(error) => tracing::debug!(%error, "a request was not upgraded"),
        }
    }));
    response
}

fn speaks(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|name| name.trim() == PROTOCOL)
}

/// The largest message is beyond our own limit, so that what passes that is answered with a code.
fn config(message_bytes_max: usize) -> WebSocketConfig {
    let max = Some(message_bytes_max.saturating_mul(2));
    WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(max)
        .max_frame_size(max)
}
