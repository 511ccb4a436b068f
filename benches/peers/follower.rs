//! One socket of the client: it connects, follows, checks every frame, answers pings. May import: frame, sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::frame::{self, FOLLOW, Said};
use super::sockets::{News, Shared};

/// For one socket, from its first packet until it follows.
const BEGIN: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 4_096;
/// Sockets of one local address, which has some 28,000 ports.
const EACH: usize = 5_000;

type Socket = WebSocketStream<TcpStream>;

/// Follows until the process ends. Whatever should not be is news, and the end of it.
pub async fn run(shared: Arc<Shared>, index: usize) {
    let fault = match begin(&shared, index).await {
        Ok(socket) => follow(&shared, socket).await,
        Err(fault) => fault,
    };
    shared.tell(News::Fault(format!("socket {index}: {fault}")));
}

async fn begin(shared: &Shared, index: usize) -> Result<Socket, String> {
    // Held until the socket follows, so that so many begin at a time.
    let _turn = shared.turns.acquire().await.map_err(|error| error.to_string())?;
    let begun = tokio::time::timeout(BEGIN, async {
        let mut socket = connect(shared, index).await?;
        if !shared.plan.is_raw {
            introduce(shared, &mut socket).await?;
        }
        Ok(socket)
    });
    begun.await.map_err(|elapsed| elapsed.to_string())?
}

async fn connect(shared: &Shared, index: usize) -> Result<Socket, String> {
    let address = shared.plan.address;
    let connected = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((own(address.port(), index), 0)))?;
        socket.connect(address).await
    };
    let stream = connected.await.map_err(|error| error.to_string())?;
    let mut request =
        format!("ws://{address}/graphql/ws").into_client_request().map_err(|error| error.to_string())?;
    if !shared.plan.is_raw {
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
    }
    let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(0);
    let upgraded = client_async_with_config(request, stream, Some(config)).await;
    upgraded.map(|(socket, _)| socket).map_err(|error| error.to_string())
}

/// The ports of earlier rounds are not free again yet, and looking for others would be measured: each server's sockets
/// come from addresses of their own.
fn own(port: u16, index: usize) -> Ipv4Addr {
    let [high, low] = port.to_be_bytes();
    Ipv4Addr::new(127, high, low, u8::try_from(1 + index / EACH).unwrap_or(u8::MAX))
}

/// Until the snapshot is there: from then on every change has to come.
async fn introduce(shared: &Shared, socket: &mut Socket) -> Result<(), String> {
    let subscribe = json!({ "type": "subscribe", "id": "1", "payload": { "query": FOLLOW } }).to_string();
    for (said, expected) in
        [(json!({ "type": "connection_init" }).to_string(), "connection_ack"), (subscribe, "TaskSnapshot")]
    {
        socket.send(Message::Text(said.into())).await.map_err(|error| error.to_string())?;
        let told = next(shared, socket).await?;
        if !told.contains(expected) {
            return Err(format!("{told} is no {expected}"));
        }
    }
    Ok(())
}

/// The next text that is not about being there.
async fn next(shared: &Shared, socket: &mut Socket) -> Result<Utf8Bytes, String> {
    loop {
        let answer = match socket.next().await {
            Some(Ok(Message::Text(text))) if text.contains(r#""type":"ping""#) => {
                Message::text(r#"{"type":"pong"}"#)
            }
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Ping(payload))) => Message::Pong(payload),
            Some(Ok(other)) => return Err(format!("{other}")),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("it was closed".to_owned()),
        };
        shared.pings.fetch_add(1, Ordering::Relaxed);
        socket.send(answer).await.map_err(|error| error.to_string())?;
    }
}

/// Until something is wrong, which it returns.
async fn follow(shared: &Shared, mut socket: Socket) -> String {
    shared.tell(News::Follows);
    let mut last = Said::default();
    loop {
        let text = match next(shared, &mut socket).await {
            Ok(text) => text,
            Err(fault) => return fault,
        };
        let Some(said) = frame::read(&text) else { return format!("{text} is no change") };
        let is_next = said.number == last.number + 1 && said.number == shared.number.load(Ordering::Acquire);
        if !is_next || said.revision <= last.revision {
            return format!("{said:?} after {last:?}");
        }
        last = said;
        if shared.heard.fetch_add(1, Ordering::AcqRel) + 1 == shared.plan.sockets {
            shared.tell(News::AllHeard(Instant::now(), text));
        }
    }
}
