//! The agent of one session: a task that owns its process, its connection and the turn it works on, from the first
//! prompt until it is idle, let go, or the server stops. May import: dispatch, access, ids, tasks.

use std::sync::Arc;

use agent_client_protocol::Responder;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::access::Pass;
use crate::dispatch::{Outcome, Verdict};
use crate::ids::{AgentSessionId, Generation, PermissionId, SessionId, TurnId};

use super::Shared;
use super::attempt::Ticket;
use super::dialect::{Request, Update};
use super::process::Process;
use super::transcript::Transcript;
use super::wire::{Heard, Trouble, Wire};

/// A prompt to give to the agent.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) turn_id: TurnId,
    pub(super) generation: Generation,
    pub(super) text: String,
    pub(super) ticket: Ticket,
}

/// What the agent's task is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Give it a prompt.
    Prompt(Prompt),
    /// Stop its work on that turn.
    Interrupt(TurnId, oneshot::Sender<()>),
}

/// A process with its conversation.
struct Live {
    wire: Wire,
    heard: mpsc::Receiver<Heard>,
    conversation: AgentSessionId,
    process: Process,
    _pass: Pass,
}

/// The turn that the agent works on.
struct Work {
    turn_id: TurnId,
    generation: Generation,
    number: u64,
    ticket: Ticket,
    transcript: Transcript,
    write_at: Option<Instant>,
    is_answered: bool,
    has_begun: bool,
    has_rested: bool,
    permits: CancellationToken,
    permissions: u64,
}

pub(super) struct AgentTask {
    shared: Arc<Shared>,
    session_id: SessionId,
    orders: mpsc::Receiver<Order>,
    let_go: CancellationToken,
    live: Option<Live>,
    work: Option<Work>,
    prompts: u64,
    idle_since: Instant,
}

/// How the work on a turn ended.
enum Ending {
    /// The agent is done with it.
    Done,
    /// The agent is gone.
    Gone,
    /// It provably never began; its dispatch says so.
    Undone,
}

enum Event {
    Order(Order),
    Heard(Heard),
    Write,
    Idle,
    End,
}

impl AgentTask {
    pub(super) fn new(
        shared: Arc<Shared>,
        session_id: SessionId,
        orders: mpsc::Receiver<Order>,
        let_go: CancellationToken,
    ) -> Self {
        let idle_since = Instant::now();
        Self { shared, session_id, orders, let_go, live: None, work: None, prompts: 0, idle_since }
    }

    /// Runs until the agent is idle for long, let go, or the server stops.
    pub(super) async fn run(mut self) {
        loop {
            match self.next().await {
                Event::Order(Order::Prompt(prompt)) => self.prompt(prompt).await,
                Event::Order(Order::Interrupt(turn, done)) => {
                    if self.work.as_ref().is_some_and(|work| work.turn_id == turn) {
                        self.stop_work().await;
                    }
                    let _gone = done.send(());
                }
                Event::Heard(heard) => self.hear(heard).await,
                Event::Write => self.write().await,
                Event::Idle if self.shared.forget_idle(&self.session_id, &self.orders) => break,
                Event::Idle => {}
                Event::End => break,
            }
            self.shared.is_busy(&self.session_id, self.work.is_some());
        }
        self.end().await;
    }

    async fn next(&mut self) -> Event {
        let stop = self.shared.tasks.stop();
        let write_at = self.work.as_ref().and_then(|work| work.write_at);
        let idle_at = self.work.is_none().then(|| self.idle_since + self.shared.bounds.idle);
        tokio::select! {
            biased;
            () = stop.cancelled() => Event::End,
            () = self.let_go.cancelled() => Event::End,
            heard = next_heard(&mut self.live) => Event::Heard(heard),
            order = self.orders.recv() => order.map_or(Event::End, Event::Order),
            () = at(write_at) => Event::Write,
            () = at(idle_at) => Event::Idle,
        }
    }

    async fn prompt(&mut self, mut prompt: Prompt) {
        if self.work.is_some() {
            self.stop_work().await;
        }
        let (let_go, stop, bound) = (self.let_go.clone(), self.shared.tasks.stop(), self.shared.bounds.open);
        let opened = tokio::select! {
            opened = timeout(bound, self.open()) => opened.unwrap_or(Err("the agent did not get ready in time".into())),
            () = let_go.cancelled() => Err("the session is over".into()),
            () = stop.cancelled() => Err("the server stops".into()),
        };
        match (opened, self.live.as_ref()) {
            (Ok(()), Some(_)) => self.send(prompt).await,
            (Err(reason), _) => drop(prompt.ticket.tell(Outcome::Rejected { reason })),
            (Ok(()), None) => {}
        }
        self.idle_since = Instant::now();
    }

    /// Sends the prompt, unless it was taken back meanwhile. From here its outcome is the agent's.
    async fn send(&mut self, prompt: Prompt) {
        let Some(live) = self.live.as_ref().filter(|_| prompt.ticket.attempt.begin()) else { return };
        self.prompts = self.prompts.wrapping_add(1);
        let sent = live.wire.prompt(&live.conversation, prompt.text, self.prompts);
        let room = self.shared.bounds.room;
        let transcript = Transcript::new(self.session_id.clone(), prompt.turn_id.clone(), room);
        self.work = Some(Work {
            turn_id: prompt.turn_id,
            generation: prompt.generation,
            number: self.prompts,
            ticket: prompt.ticket,
            transcript,
            write_at: None,
            is_answered: false,
            has_begun: false,
            has_rested: false,
            permits: CancellationToken::new(),
            permissions: 0,
        });
        if let Err(Trouble::Lost(reason) | Trouble::Refused(reason)) = sent {
            self.lose(&reason).await;
        }
    }

    /// Starts the process and its conversation, or takes up the one that there was; where it runs, nothing.
    async fn open(&mut self) -> Result<(), String> {
        if self.live.is_some() {
            return Ok(());
        }
        let shared = self.shared.clone();
        let output = shared.output().ok_or("the server is not ready")?;
        let (dialect, place) = (shared.dialect(), shared.place());
        let door = output.admit(self.session_id.clone()).await.map_err(|error| error.to_string())?;
        let started = Process::start(&shared.settings, &shared.guard, &shared.tasks);
        let (process, stdin, stdout) =
            started.map_err(|error| format!("the agent cannot be started: {}", error.kind()))?;
        let connected = Wire::connect(dialect, (stdin, stdout), shared.bounds.line_bytes_max, &shared.tasks);
        let (wire, heard) = connected.await.map_err(said)?;
        let skills = dialect.skills(wire.ask(dialect.initialize()).await.map_err(said)?);
        let skills = skills.map_err(|error| unreadable(&error))?;
        let known = door.known.clone();
        let taken_up = known.and_then(|known| Some((dialect.take_up(&known, &place, &door, skills)?, known)));
        let conversation = match taken_up {
            Some((request, known)) => wire.ask(request).await.map(|_| known).map_err(said)?,
            None => {
                let begun = wire.ask(dialect.begin(&place, &door, skills)).await.map_err(said)?;
                let begun = dialect.begun(begun).map_err(|error| unreadable(&error))?;
                let kept = output.remember(self.session_id.clone(), begun.clone()).await;
                kept.map_err(|error| error.to_string())?;
                begun
            }
        };
        self.live = Some(Live { wire, heard, conversation, process, _pass: door.pass });
        Ok(())
    }

    async fn hear(&mut self, heard: Heard) {
        let is_end = self.shared.dialect().is_answer_the_end();
        match heard {
            Heard::Update(session, update) => self.update(&session, update).await,
            Heard::Permission(asked) => self.permission(*asked),
            Heard::Answer(number, answer) => {
                let Some(work) = self.work.as_mut().filter(|work| work.number == number) else { return };
                match answer {
                    Ok(()) => {
                        work.ticket.tell(Outcome::Accepted);
                        work.is_answered = true;
                        if is_end || work.has_rested {
                            self.finish(None, Ending::Done).await;
                        }
                    }
                    Err(Trouble::Refused(reason)) => {
                        let is_undone = work.ticket.is_open() && {
                            let reason = format!("the agent refused the prompt: {reason}");
                            work.ticket.tell(Outcome::Rejected { reason })
                        };
                        let note = format!("The agent ended its turn with an error: {reason}");
                        let ending = if is_undone { Ending::Undone } else { Ending::Done };
                        self.finish((!is_undone).then_some(note), ending).await;
                    }
                    Err(Trouble::Lost(reason)) => self.lose(&reason).await,
                }
            }
            Heard::Closed => self.lose("its process ended").await,
        }
    }

    async fn update(&mut self, session: &AgentSessionId, update: Update) {
        let (Some(output), Some(live)) = (self.shared.output(), &self.live) else { return };
        let Some(work) = self.work.as_mut().filter(|_| &live.conversation == session) else { return };
        match update {
            Update::Aside => return,
            Update::Begins => work.has_begun = true,
            Update::Rests => work.has_rested = work.has_begun,
            Update::Piece { .. } | Update::Whole { .. } | Update::Works => {
                if self.shared.dialect().is_update_evidence() {
                    work.ticket.tell(Outcome::Accepted);
                }
            }
        }
        work.transcript.take(update, &*output).await;
        if work.transcript.is_behind() {
            work.write_at.get_or_insert(Instant::now() + self.shared.bounds.write);
        }
        if work.has_rested && work.is_answered {
            self.finish(None, Ending::Done).await;
        }
    }

    async fn write(&mut self) {
        let (Some(output), Some(work)) = (self.shared.output(), self.work.as_mut()) else { return };
        work.write_at = None;
        work.transcript.write(&*output).await;
    }

    /// Asks whoever decides, in a task of its own; the turn's end withdraws it.
    fn permission(&mut self, (request, responder): (Request, Responder<Value>)) {
        let (Some(output), Some(work)) = (self.shared.output(), self.work.as_mut()) else { return };
        let dialect = self.shared.dialect();
        let (session, over) = (self.session_id.clone(), work.permits.clone());
        work.permissions = work.permissions.wrapping_add(1);
        let id = PermissionId::new(format!("{}-{}", work.turn_id, work.permissions));
        self.shared.tasks.spawn("agent permission", async move {
            let verdict = match output.permit(session.clone(), id.clone(), request.text.clone()).await {
                Ok(asked) => tokio::select! {
                    verdict = output.verdict(session.clone(), asked) => verdict,
                    () = over.cancelled() => {
                        output.withdraw(session, id).await;
                        Verdict::Cancelled
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "a permission could not be asked for");
                    Verdict::Cancelled
                }
            };
            let answered = dialect.verdict(&request, verdict).and_then(|answer| responder.respond(answer));
            if let Err(error) = answered {
                tracing::debug!(%error, "an agent did not hear of its permission");
            }
        });
    }

    /// Cancels the work and waits, bounded, until the agent has stopped; one that does not is ended.
    async fn stop_work(&mut self) {
        if let (Some(live), Some(work)) = (&self.live, &self.work) {
            work.permits.cancel();
            live.wire.cancel(&live.conversation);
        }
        let deadline = Instant::now() + self.shared.bounds.cancel;
        while self.work.is_some() {
            match timeout_at(deadline, next_heard(&mut self.live)).await {
                Ok(heard) => self.hear(heard).await,
                Err(_elapsed) => self.lose("it did not stop when it was told to").await,
            }
        }
    }

    /// The process is of no use any more. A prompt without a sign of life has an unknown outcome.
    async fn lose(&mut self, reason: &str) {
        if let Some(live) = self.live.take() {
            drop(live.wire);
            live.process.end(self.shared.bounds.grace).await;
        }
        if let Some(work) = self.work.as_mut() {
            work.ticket.tell(Outcome::Unknown { reason: format!("nothing was heard of the prompt: {reason}") });
        }
        self.finish(Some(format!("The agent is gone: {reason}.")), Ending::Gone).await;
    }

    /// The turn's end, as far as the agent is concerned.
    async fn finish(&mut self, note: Option<String>, ending: Ending) {
        self.idle_since = Instant::now();
        if let Some(live) = &self.live {
            live.wire.rest();
        }
        let (Some(output), Some(mut work)) = (self.shared.output(), self.work.take()) else { return };
        work.permits.cancel();
        work.transcript.close(&*output).await;
        if let Some(note) = note {
            work.transcript.note(note, &*output).await;
        }
        match ending {
            Ending::Done => output.ready(self.session_id.clone(), work.generation),
            Ending::Gone => output.lost(self.session_id.clone(), work.turn_id),
            Ending::Undone => {}
        }
    }

    async fn end(mut self) {
        if self.live.is_some() || self.work.is_some() {
            self.lose("it was ended with its session or server").await;
        }
    }
}

async fn next_heard(live: &mut Option<Live>) -> Heard {
    match live {
        Some(live) => live.heard.recv().await.unwrap_or(Heard::Closed),
        None => std::future::pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn said(trouble: Trouble) -> String {
    match trouble {
        Trouble::Refused(reason) | Trouble::Lost(reason) => format!("the agent did not get ready: {reason}"),
    }
}

fn unreadable(error: &agent_client_protocol::Error) -> String {
    format!("the agent's answer cannot be read: {}", error.message)
}
