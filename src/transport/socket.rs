//! GraphQL over WebSocket, `graphql-transport-ws` only. One task reads and writes a socket and follows what it
//! subscribed to, one item at a time; queries and mutations have tasks of their own.
//! May import: graphql, authority, access, metrics.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{BoxStream, SelectAll, abortable};
use futures_util::{SinkExt, StreamExt, stream};
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, Sleep, interval_at, sleep_until};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::graphql::{Code, Incoming, Kind, prepare, server_error};
use crate::metrics::{Counted, Outcome, Transport};

use super::State as Server;
use super::credentials::Held;
use super::feed::Item;
use super::message::{self, Close, FromClient};
use super::metering;
use super::operation::{self, Sent};
use super::slots::{OwnSlot, Slot};
use super::upgrade::Socket;

/// Pings without any word from the client; then it is gone.
const PINGS_MISSED_MAX: usize = 2;

/// Serves a socket to its end.
pub(super) async fn serve(server: Arc<Server>, socket: Socket, token: Option<String>, slot: Slot) {
    let (answer, answers) = mpsc::channel(server.settings.answers_max);
    let counted = server.authority.metrics().connection(Transport::Socket);
    let session = Session {
        server,
        socket,
        token,
        known: None,
        operations: HashMap::new(),
        followed: SelectAll::new(),
        runs: 0,
        answer,
        pings: Pings { second: Instant::now(), count: 0 },
        is_broken: false,
        _slot: slot,
        _counted: counted,
    };
    Box::pin(session.run(answers)).await;
}

/// What is followed, with the run and the id of its operation; none: it is over.
type Followed = BoxStream<'static, (u64, Arc<str>, Option<Item>)>;

struct Session {
    server: Arc<Server>,
    socket: Socket,
    token: Option<String>,
    known: Option<(Arc<Held>, OwnSlot)>,
    operations: HashMap<Arc<str>, (u64, End)>,
    followed: SelectAll<Followed>,
    runs: u64,
    answer: mpsc::Sender<Sent>,
    pings: Pings,
    /// No message can be read any more.
    is_broken: bool,
    _slot: Slot,
    _counted: Counted,
}

/// How an operation is ended before its time.
enum End {
    /// It is followed here.
    Stop(stream::AbortHandle),
    /// It runs to its end, whoever listens.
    Forget,
}

struct Pings {
    second: Instant,
    count: usize,
}

/// Why the session ends.
enum Over {
    Close(Close),
    /// What came is no WebSocket, or a message longer than is ever read. A peer that went without a word looks the
    /// same, so it is not counted.
    Broken,
    /// The peer is gone.
    Gone,
}

impl Session {
    async fn run(mut self, mut answers: mpsc::Receiver<Sent>) {
        match self.talk(&mut answers).await {
            Err(Over::Close(close)) => {
                self.server.authority.metrics().closed(close.label());
                self.close(close).await;
            }
            Err(Over::Broken) => {
                self.is_broken = true;
                self.close(Close::Invalid).await;
            }
            Ok(()) | Err(Over::Gone) => {}
        }
    }

    async fn close(&mut self, close: Close) {
        let (code, reason) = close.frame();
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        let close = async {
            self.socket.send(Message::Close(Some(frame))).await?;
            // What the peer still says is heard, or its reason would be lost with a broken connection.
            let mut last = Ok(());
            while let Some(heard) = self.socket.next().await {
                last = heard.map(drop);
            }
            if last.is_err() || self.is_broken {
                let stream = self.socket.get_mut();
                stream.shutdown().await?;
                tokio::io::copy(stream, &mut tokio::io::sink()).await?;
            }
            Ok::<_, Error>(())
        };
        // Either the peer hears it in time, or it is gone already.
        let _gone = tokio::time::timeout(self.server.settings.close, close).await;
    }

    async fn talk(&mut self, answers: &mut mpsc::Receiver<Sent>) -> Result<(), Over> {
        let (server, start) = (self.server.clone(), Instant::now());
        let settings = &server.settings;
        let mut ping = interval_at(start + settings.ping, settings.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unanswered = 0;
        loop {
            let known = self.known.as_ref().map(|(held, _)| held.clone());
            tokio::select! {
                biased;
                () = server.closing.cancelled() => return Err(Over::Close(Close::GoingAway)),
                () = withdrawn(known.as_deref()) => return Err(Over::Close(Close::Forbidden)),
                () = sleep_until(start + settings.init), if known.is_none() => {
                    return Err(Over::Close(Close::InitTimeout));
                }
                message = next(&mut self.socket, settings.message) => {
                    unanswered = 0;
                    match message? {
                        Some(Ok(Message::Text(text))) if text.len() <= settings.message_bytes_max => {
                            self.hear(text.as_str()).await?;
                        }
                        Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Frame(_))) => {
                            return Err(Over::Close(Close::Invalid));
                        }
                        Some(Ok(Message::Ping(_))) => self.count_ping()?,
                        Some(Ok(Message::Pong(_))) => {}
                        Some(Err(_)) => return Err(Over::Broken),
                        Some(Ok(Message::Close(_))) | None => return Err(Over::Gone),
                    }
                }
                Some(sent) = answers.recv() => self.pass(sent).await?,
                Some((run, id, item)) = self.followed.next(), if !self.followed.is_empty() => {
                    self.tell(run, &id, item).await?;
                }
                _ = ping.tick() => {
                    // Counted, not timed: a server that was suspended has not asked meanwhile.
                    if unanswered == PINGS_MISSED_MAX {
                        return Err(Over::Gone);
                    }
                    unanswered += 1;
                    self.write(Message::Ping(Default::default())).await?;
                }
            }
        }
    }

    async fn hear(&mut self, text: &str) -> Result<(), Over> {
        match message::read(text).map_err(Over::Close)? {
            FromClient::Init(payload) => self.init(payload.as_ref()).await,
            FromClient::Ping(payload) => {
                self.count_ping()?;
                self.say(message::pong(payload)).await
            }
            FromClient::Pong => Ok(()),
            FromClient::Complete(id) => {
                if let Some((_, End::Stop(stop))) = self.operations.remove(id.as_str()) {
                    stop.abort();
                }
                Ok(())
            }
            FromClient::Subscribe(id, incoming) => self.subscribe(&id, incoming).await,
        }
    }

    /// The token of the payload goes before the one of the upgrade; browsers can only send the former.
    async fn init(&mut self, payload: Option<&Map<String, Value>>) -> Result<(), Over> {
        if self.known.is_some() {
            return Err(Over::Close(Close::SecondInit));
        }
        let named =
            payload.and_then(|payload| payload.get("authorization").or_else(|| payload.get("Authorization")));
        if let Some(text) = named.and_then(Value::as_str) {
            self.token = Some(text.strip_prefix("Bearer ").unwrap_or(text).trim().to_owned());
        }
        let token = self.token.take();
        let viewer = self.server.authority.authenticate(token.as_deref()).await;
        let viewer = viewer.map_err(|_refused| Over::Close(Close::Forbidden))?;
        let own = self.server.slots.own(&viewer.principal).ok_or(Over::Close(Close::Crowded))?;
        let held = self.server.credentials.hold(token, viewer);
        self.known = Some((held, own));
        self.say(message::ack()).await
    }

    async fn subscribe(&mut self, id: &str, incoming: Result<Incoming, String>) -> Result<(), Over> {
        let Some((held, _)) = &self.known else { return Err(Over::Close(Close::Unauthorized)) };
        if self.operations.contains_key(id) {
            return Err(Over::Close(Close::DuplicateId));
        }
        if self.operations.len() >= self.server.settings.operations_max {
            return Err(Over::Close(Close::TooMany));
        }
        let viewer = held.viewer().clone();
        let incoming = incoming.map_err(|message| server_error(Code::BadRequest, message));
        let admitted = incoming.and_then(|incoming| self.server.documents.admit(incoming));
        let prepared = match admitted.and_then(|incoming| prepare(&self.server.limits, incoming)) {
            Ok(prepared) => prepared,
            Err(error) => {
                metering::rejected(self.server.authority.metrics(), Transport::Socket, &error);
                return self.say(message::error(id, &[error])).await;
            }
        };
        self.runs = self.runs.wrapping_add(1);
        let (run, id): (_, Arc<str>) = (self.runs, id.into());
        let end = if prepared.kind == Kind::Subscription {
            self.server.authority.metrics().requested(Transport::Socket, Outcome::Ok);
            let (items, stop) = abortable(self.server.feeds.follow(prepared.into(), viewer, None));
            let name = id.clone();
            let items = items.map(Some).chain(stream::iter([None]));
            self.followed.push(items.map(move |item| (run, name.clone(), item)).boxed());
            End::Stop(stop)
        } else {
            let (server, answer) = (self.server.clone(), self.answer.clone());
            let operation = operation::run(server, viewer, run, id.to_string(), prepared, answer);
            drop(self.server.tasks.spawn("operation", operation));
            End::Forget
        };
        self.operations.insert(id, (run, end));
        Ok(())
    }

    /// Writes an item, unless its operation was completed meanwhile.
    async fn tell(&mut self, run: u64, id: &Arc<str>, item: Option<Item>) -> Result<(), Over> {
        if self.operations.get(id).is_none_or(|(own, _)| *own != run) {
            return Ok(());
        }
        match item {
            Some(Item::Live) => Ok(()),
            Some(Item::Next(payload, _)) => self.say(message::spliced("next", id, &payload)).await,
            Some(Item::Error(payload)) => {
                self.operations.remove(id);
                self.say(message::spliced("error", id, &payload)).await
            }
            None => {
                self.operations.remove(id);
                self.say(message::complete(id)).await
            }
        }
    }

    /// Writes what an operation answered, unless its client completed it meanwhile.
    async fn pass(&mut self, sent: Sent) -> Result<(), Over> {
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

    fn count_ping(&mut self) -> Result<(), Over> {
        let now = Instant::now();
        if now.duration_since(self.pings.second).as_secs() >= 1 {
            self.pings = Pings { second: now, count: 0 };
        }
        self.pings.count = self.pings.count.saturating_add(1);
        let is_much = self.pings.count > self.server.settings.pings_max;
        if is_much { Err(Over::Close(Close::TooOften)) } else { Ok(()) }
    }

    async fn say(&mut self, text: String) -> Result<(), Over> {
        self.write(Message::Text(text.into())).await
    }

    async fn write(&mut self, message: Message) -> Result<(), Over> {
        match tokio::time::timeout(self.server.settings.write, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Over::Gone),
            Err(_elapsed) => Err(Over::Close(Close::TooSlow)),
        }
    }
}

/// Resolves when access was taken back; never for who has none yet.
async fn withdrawn(held: Option<&Held>) {
    match held {
        Some(held) => held.withdrawn().await,
        None => std::future::pending().await,
    }
}

/// The next message; an error where one that began is not there `within` its bound.
async fn next(socket: &mut Socket, within: Duration) -> Result<Option<Result<Message, Error>>, Over> {
    let mut late: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|context| {
        if let Poll::Ready(message) = socket.poll_next_unpin(context) {
            return Poll::Ready(Ok(message));
        }
        let Some(end) = socket.get_ref().began().map(|began| began + within) else { return Poll::Pending };
        let late = late.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if late.deadline() != end {
            late.as_mut().reset(end);
        }
        late.as_mut().poll(context).map(|()| Err(Over::Close(Close::MessageTimeout)))
    })
    .await
}
