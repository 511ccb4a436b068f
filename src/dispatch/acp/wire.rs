//! The connection to one agent: requests out; updates, permissions and answers in, in the order in which they came.
//! May import: dispatch, ids, tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::{
    Agent, Builder, Client, ConnectionTo, Dispatch, Error, Handled, Lines, Responder, UntypedMessage,
    is_connection_terminated, is_incoming_transport_closed, on_receive_dispatch,
};
use serde_json::Value;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::dispatch::Verdict;
use crate::ids::AgentSessionId;
use crate::tasks::Tasks;

use super::dialect::{Dialect, PERMISSION, Request, UPDATE, Update};
use super::pipe::{self, Gauge};

/// What waits to be taken, at most; then the agent waits.
const HEARD_MAX: usize = 64;
/// Characters of an agent's error that are shown.
const REASON_CHARS_MAX: usize = 500;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The agent says no.
    Refused(String),
    /// Nobody can tell what the agent did.
    Lost(String),
}

/// What came from the agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// It does something.
    Update(AgentSessionId, Update),
    /// It asks for a permission.
    Permission(Box<(Request, Responder<Value>)>),
    /// It answered the prompt of that number.
    Answer(u64, Result<(), Trouble>),
    /// The connection is over.
    Closed,
}

/// A connection; dropped, it closes.
pub(super) struct Wire {
    connection: ConnectionTo<Agent>,
    dialect: &'static dyn Dialect,
    heard: mpsc::Sender<Heard>,
    is_listening: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Wire {
    /// Connects to a process.
    ///
    /// # Errors
    /// The connection ended before it began.
    pub(super) async fn connect(
        dialect: &'static dyn Dialect,
        (stdin, stdout): (ChildStdin, ChildStdout),
        line_bytes_max: usize,
        tasks: &Tasks,
    ) -> Result<(Self, mpsc::Receiver<Heard>), Trouble> {
        let (heard, received) = mpsc::channel(HEARD_MAX);
        let (is_listening, stop) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let gauge = Gauge::default();
        let incoming = pipe::incoming(stdout, gauge.clone(), line_bytes_max);
        let lines = Lines::new(pipe::outgoing(stdin, gauge.clone()), incoming);
        let ear = Ear { dialect, heard: heard.clone(), is_listening: is_listening.clone(), gauge };
        let (give, connection) = oneshot::channel();
        let (closed, stopped) = (heard.clone(), stop.clone());
        tasks.spawn("agent connection", async move {
            if let Err(error) = drive(ear, lines, give, stopped).await {
                tracing::warn!(reason = reason(&error), "the connection to an agent broke");
            }
            // Nobody listens any more: the agent was let go.
            let _gone = closed.send(Heard::Closed).await;
        });
        let connection = connection.await.map_err(|_ended| Trouble::Lost("the agent's process ended".into()))?;
        Ok((Self { connection, dialect, heard, is_listening, stop }, received))
    }

    /// Asks for something that is no prompt.
    ///
    /// # Errors
    /// The agent refused, or is gone.
    pub(super) async fn ask(&self, request: Result<UntypedMessage, Error>) -> Result<Value, Trouble> {
        let request = request.map_err(|error| trouble(&error))?;
        self.connection.send_request(request).block_task().await.map_err(|error| trouble(&error))
    }

    /// Sends the prompt of that number; what comes of it is heard.
    ///
    /// # Errors
    /// It was not sent.
    pub(super) fn prompt(&self, session: &AgentSessionId, text: String, number: u64) -> Result<(), Trouble> {
        let request = self.dialect.prompt(session, text).map_err(|error| trouble(&error))?;
        let heard = self.heard.clone();
        self.is_listening.store(true, Ordering::Release);
        let answer = async move |answer: Result<Value, Error>| {
            let answer = answer.map(drop).map_err(|error| trouble(&error));
            let _gone = heard.send(Heard::Answer(number, answer)).await;
            Ok(())
        };
        self.connection.prepare_request(request).on_receiving_result(answer).map_err(|error| trouble(&error))
    }

    /// Tells the agent to stop; that it did comes as an answer or update.
    pub(super) fn cancel(&self, session: &AgentSessionId) {
        let sent = self.dialect.cancel(session).and_then(|cancel| self.connection.send_notification(cancel));
        if let Err(error) = sent {
            tracing::debug!(reason = reason(&error), "an agent could not be told to stop");
        }
    }

    /// What the agent says between two prompts belongs to no turn.
    pub(super) fn rest(&self) {
        self.is_listening.store(false, Ordering::Release);
    }
}

async fn drive<O, I>(
    ear: Ear,
    lines: Lines<O, I>,
    give: oneshot::Sender<ConnectionTo<Agent>>,
    stop: CancellationToken,
) -> Result<(), Error>
where
    O: futures_util::Sink<String, Error = std::io::Error> + Send + 'static,
    I: futures_util::Stream<Item = std::io::Result<String>> + Send + 'static,
{
    let hear = async move |message: Dispatch, _: ConnectionTo<Agent>| ear.hear(message).await;
    Builder::new(Client)
        .on_receive_dispatch(hear, on_receive_dispatch!())
        .connect_with(lines, async move |connection: ConnectionTo<Agent>| {
            let _gone = give.send(connection.clone());
            tokio::select! {
                () = stop.cancelled() => {}
                () = connection.incoming_closed() => {}
            }
            Ok(())
        })
        .await
}

/// Takes messages as they come, one after the other.
struct Ear {
    dialect: &'static dyn Dialect,
    heard: mpsc::Sender<Heard>,
    is_listening: Arc<AtomicBool>,
    gauge: Gauge,
}

impl Ear {
    async fn hear(&self, message: Dispatch) -> Result<Handled<Dispatch>, Error> {
        let handled = match message {
            Dispatch::Response(result, router) => {
                return Ok(Handled::No { message: Dispatch::Response(result, router), retry: false });
            }
            Dispatch::Notification(note) if note.method() == UPDATE => self.update(note.into_parts().1).await,
            Dispatch::Request(request, responder) if request.method() == PERMISSION => {
                self.permission(request.into_parts().1, responder).await
            }
            message => Ok(Handled::No { message, retry: false }),
        };
        self.gauge.handled();
        handled
    }

    async fn update(&self, params: Value) -> Result<Handled<Dispatch>, Error> {
        if self.is_listening.load(Ordering::Acquire) {
            let (session, update) = self.dialect.update(params)?;
            let _gone = self.heard.send(Heard::Update(session, update)).await;
        }
        Ok(Handled::Yes)
    }

    async fn permission(&self, params: Value, responder: Responder<Value>) -> Result<Handled<Dispatch>, Error> {
        let request = self.dialect.request(params)?;
        if self.is_listening.load(Ordering::Acquire) {
            let _gone = self.heard.send(Heard::Permission(Box::new((request, responder)))).await;
        } else {
            responder.respond(self.dialect.verdict(&request, Verdict::Cancelled)?)?;
        }
        Ok(Handled::Yes)
    }
}

/// Only what the agent itself said is a refusal: what broke on the way proves nothing.
fn trouble(error: &Error) -> Trouble {
    let text = reason(error);
    let is_ours = is_incoming_transport_closed(error) || is_connection_terminated(error);
    if is_ours { Trouble::Lost("its connection ended".into()) } else { Trouble::Refused(text) }
}

fn reason(error: &Error) -> String {
    let detail = error.data.as_ref().and_then(Value::as_str).map_or_else(String::new, |data| format!(": {data}"));
    format!("{}{detail}", error.message).chars().take(REASON_CHARS_MAX).collect()
}
