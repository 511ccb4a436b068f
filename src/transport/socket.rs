//! GraphQL over WebSocket, `graphql-transport-ws` only. One task reads and writes a socket; each operation has its
//! own and sends through a bounded queue. May import: graphql, authority, access.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::access::Viewer;

use super::State as Server;
use super::http::bearer;
use super::message::{self, Close, FromClient};
use super::operation::{self, Sent};

const PROTOCOL: &str = "graphql-transport-ws";
/// Small buffers: tens of thousands of sockets are mostly idle.
const BUFFER_BYTES: usize = 4_096;

/// Upgrades a request that speaks the protocol.
pub(super) async fn upgrade(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let token = bearer(&headers).map(str::to_owned);
    let max = server.settings.message_bytes_max;
    let socket = socket
        .protocols([PROTOCOL])
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        // Beyond our own limit, so that what passes that is answered with a code and not by a broken socket.
        .max_message_size(max.saturating_mul(2))
        .max_frame_size(max.saturating_mul(2));
    if socket.selected_protocol().is_none() {
        return (StatusCode::BAD_REQUEST, format!("the subprotocol is {PROTOCOL}\n")).into_response();
    }
    socket.on_upgrade(move |socket| async move {
        let (out, sent) = mpsc::channel(server.settings.queue_max.max(1));
        let mut session =
            Session { server, socket, token, viewer: None, operations: HashMap::new(), runs: 0, out };
        session.run(sent).await;
    })
}

struct Session {
    server: Arc<Server>,
    socket: WebSocket,
    token: Option<String>,
    viewer: Option<Viewer>,
    operations: HashMap<String, (u64, AbortHandle)>,
    runs: u64,
    out: mpsc::Sender<Sent>,
}

/// Why the session ends.
enum End {
    Close(Close),
    /// The peer is gone, or too slow.
    Gone,
}

impl Session {
    async fn run(&mut self, mut sent: mpsc::Receiver<Sent>) {
        let end = self.talk(&mut sent).await;
        for (_, (_, task)) in self.operations.drain() {
            task.abort();
        }
        if let Err(End::Close(close)) = end {
            let (code, reason) = close.frame();
            let frame = CloseFrame { code, reason: reason.into() };
            // Either the peer hears it, or it is gone already.
            let _gone =
                tokio::time::timeout(self.server.settings.write, self.socket.send(Message::Close(Some(frame))))
                    .await;
        }
    }

    async fn talk(&mut self, sent: &mut mpsc::Receiver<Sent>) -> Result<(), End> {
        let settings = self.server.settings.clone();
        let closing = self.server.closing.clone();
        let start = Instant::now();
        let mut ping = interval_at(start + settings.ping, settings.ping);
        let mut recheck = interval_at(start + settings.recheck, settings.recheck);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard_at = start;
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => return Err(End::Close(Close::GoingAway)),
                () = tokio::time::sleep_until(start + settings.init), if self.viewer.is_none() => {
                    return Err(End::Close(Close::InitTimeout));
                }
                message = self.socket.recv() => {
                    heard_at = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) if text.len() <= settings.message_bytes_max => {
                            self.hear(text.as_str()).await?;
                        }
                        Some(Ok(Message::Text(_) | Message::Binary(_))) => return Err(End::Close(Close::Invalid)),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(End::Gone),
                    }
                }
                Some(sent) = sent.recv() => self.pass(sent).await?,
                _ = ping.tick() => {
                    if heard_at + settings.ping * 2 < Instant::now() {
                        return Err(End::Gone);
                    }
                    self.write(Message::Ping(Default::default())).await?;
                }
                _ = recheck.tick(), if self.viewer.is_some() => self.look_again().await?,
            }
        }
    }

    async fn hear(&mut self, text: &str) -> Result<(), End> {
        match message::read(text).map_err(End::Close)? {
            FromClient::Init(payload) => self.init(payload.as_ref()).await,
            FromClient::Ping(payload) => self.say(message::pong(payload)).await,
            FromClient::Pong => Ok(()),
            FromClient::Complete(id) => {
                if let Some((_, task)) = self.operations.remove(&id) {
                    task.abort();
                }
                Ok(())
            }
            FromClient::Subscribe(id, incoming) => self.subscribe(id, incoming).await,
        }
    }

    /// The token of the payload goes before the one of the upgrade; browsers can only send the former.
    async fn init(&mut self, payload: Option<&Map<String, Value>>) -> Result<(), End> {
        if self.viewer.is_some() {
            return Err(End::Close(Close::SecondInit));
        }
        let named =
            payload.and_then(|payload| payload.get("authorization").or_else(|| payload.get("Authorization")));
        if let Some(text) = named.and_then(Value::as_str) {
            self.token = Some(text.strip_prefix("Bearer ").unwrap_or(text).trim().to_owned());
        }
        let viewer = self.server.authority.authenticate(self.token.as_deref()).await;
        self.viewer = Some(viewer.map_err(|_refused| End::Close(Close::Forbidden))?);
        self.say(message::ack()).await
    }

    async fn subscribe(
        &mut self,
        id: String,
        incoming: Result<crate::graphql::Incoming, String>,
    ) -> Result<(), End> {
        let Some(viewer) = self.viewer.clone() else { return Err(End::Close(Close::Unauthorized)) };
        if self.operations.contains_key(&id) {
            return Err(End::Close(Close::DuplicateId));
        }
        if self.operations.len() >= self.server.settings.operations_max {
            return Err(End::Close(Close::TooMany));
        }
        let incoming = match incoming {
            Ok(incoming) => incoming,
            Err(message) => {
                let error = crate::graphql::server_error(crate::graphql::Code::BadRequest, message);
                return self.say(message::error(&id, &[error])).await;
            }
        };
        self.runs = self.runs.wrapping_add(1);
        let operation =
            operation::run(self.server.clone(), viewer, self.runs, id.clone(), incoming, self.out.clone());
        let task = self.server.tasks.spawn("operation", operation);
        self.operations.insert(id, (self.runs, task.abort_handle()));
        Ok(())
    }

    /// Writes what an operation sent, unless its client completed it meanwhile.
    async fn pass(&mut self, sent: Sent) -> Result<(), End> {
        let run = match &sent {
            Sent::Frame(run, ..) | Sent::Over(run, _) => *run,
        };
        let Some(id) = self.operations.iter().find(|(_, (own, _))| *own == run).map(|(id, _)| id.clone()) else {
            return Ok(());
        };
        match sent {
            Sent::Frame(_, frame, receipts) => {
                self.say(frame).await?;
                if let Some(receipts) = receipts {
                    receipts.received();
                }
                Ok(())
            }
            Sent::Over(_, frame) => {
                self.operations.remove(&id);
                self.say(frame).await
            }
        }
    }

    /// Withdrawn access ends the socket.
    async fn look_again(&mut self) -> Result<(), End> {
        match self.server.authority.authenticate(self.token.as_deref()).await {
            Err(crate::authority::Error::Unauthenticated) => Err(End::Close(Close::Forbidden)),
            // A store that cannot be asked takes nothing away; the next look is soon.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn say(&mut self, text: String) -> Result<(), End> {
        self.write(Message::Text(text.into())).await
    }

    async fn write(&mut self, message: Message) -> Result<(), End> {
        match tokio::time::timeout(self.server.settings.write, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}
