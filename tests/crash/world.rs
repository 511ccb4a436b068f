//! A whole server in this process whose calls can be broken, and the paths that the fault loops walk on it.
//! May import: peers, the crate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use answerable::access::Viewer;
use answerable::authority::{
    AnswerInput, AskInput, Authority, CreateSession, CreateTask, Error, Prompted, RespondInput, Responded,
    SendPrompt, SkipInput, StartTurn,
};
use answerable::config::{Flags, Settings};
use answerable::ids::{ClientKey, MessageId, PendingId, PermissionId, QuestionId, SessionId, TaskId, TurnId};
use answerable::lifecycle::{BundleState, ExpectedTurn, NewMessage, QuestionInput, SessionState, TurnKind};
use answerable::serve::{Options, Running, start};
use answerable::store::StoreOptions;
use tempfile::TempDir;

use super::peers::{Agent, Peers};

/// What each loop walks, from a session whose turn has asked one bundle.
pub const PATHS: &[&str] = &[
    "ask",
    "wait",
    "answer a waiter",
    "skip a waiter",
    "answer",
    "skip",
    "prompt",
    "newer turn",
    "complete",
    "detach",
    "cancel the turn",
    "cancel",
    "end the session",
    "answer and fall back",
    "ready",
    "say",
    "want a permission",
    "set the state",
    "begin a session",
    "delete the question",
    "delete the session",
];

/// A server and its file.
pub struct World {
    running: Running,
    options: Options,
    task: TaskId,
    agent: Agent,
    peers: Peers,
    _dir: TempDir,
}

/// One bundle to walk about.
#[derive(Clone)]
pub struct Stand {
    pub authority: Authority,
    pub session: SessionId,
    pub turn: TurnId,
    pub bundle: PendingId,
    /// The bundle's one row.
    pub row: MessageId,
    /// What the agent is told to do, in the words of the answer or prompt.
    pub says: &'static str,
    pub task: TaskId,
    /// What the agent of the house wrote.
    pub lines: PathBuf,
}

/// What the caller was told.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// It is done.
    Done,
    /// It was given back.
    Retryable,
    /// It stands, and was not delivered for all one knows.
    Final,
    /// No, or an error.
    No,
}

/// The database file.
pub fn file(options: &Options) -> &Path {
    match &options.store {
        StoreOptions::Sqlite(options) => &options.path,
        StoreOptions::Postgres(_) => panic!("it has no file"),
    }
}

fn options(database: PathBuf) -> Options {
    let database = Some(format!("sqlite:{}", database.display()));
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let settings = Settings::load(Flags { listen, database, ..Flags::default() }).unwrap();
    let mut options = Options::new(&settings, None);
    options.limits.persistence = Duration::from_secs(2);
    options.limits.hand_over = Duration::from_millis(150);
    options.limits.dispatch = Duration::from_millis(100);
    options.limits.publish = Duration::from_millis(100);
    options.limits.ready = Duration::from_millis(150);
    options.limits.poll = Duration::from_millis(10);
    options.limits.watchdog = Duration::from_millis(10);
    options.limits.watchdog_period = Duration::from_millis(10);
    options.pace.period = Duration::from_millis(10);
    options
}

impl World {
    pub async fn new(agent: Agent) -> Self {
        let (dir, peers) = (TempDir::new().unwrap(), Peers::default());
        let mut options = options(dir.path().join("loop.db"));
        peers.settle(agent, &mut options).await;
        let running = start(options.clone()).await.unwrap();
        let create = CreateTask { workspace_id: None, title: "t".into(), description: String::new() };
        let task = running.authority.create_task(&Viewer::local(), create).await.unwrap();
        let world = Self { running, options, task, agent, peers, _dir: dir };
        world.begin_work();
        world
    }

    fn begin_work(&self) {
        if self.agent == Agent::Workers {
            tokio::spawn(self.peers.clone().work(self.authority()));
        }
    }

    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// A fresh session whose turn has asked one question that nobody waits for.
    pub async fn stand(&self, path: &str) -> Stand {
        let (authority, viewer) = (self.running.authority.clone(), Viewer::local());
        let create = CreateSession {
            task_id: self.task.clone(),
            executor: Some(self.agent.name().into()),
            is_watchdog_on: path == FALL_BACK,
        };
        let session = authority.create_session(&viewer, create).await.unwrap();
        let turn = authority.start_turn(&viewer, newer(&session)).await.unwrap();
        let asked = authority.ask(&viewer, &session, question("one?"), false).await.unwrap();
        let bundle = asked.outcome.pending_id;
        let rows = authority.store().bundles(std::slice::from_ref(&bundle)).await.unwrap();
        let row = rows[0].bundle.questions[0].id.clone();
        Stand { authority, session, turn, bundle, row, says: "", task: self.task.clone(), lines: self.lines() }
    }

    /// Stops, starts again, and says what a check of everything finds.
    pub async fn restart(self) -> (Self, Vec<String>) {
        let Self { running, options, task, agent, peers, _dir } = self;
        running.stop().await.unwrap();
        let running = start(options.clone()).await.unwrap();
        let found = running.authority.store().check().await.unwrap();
        let found = found.into_iter().map(|v| format!("{} {}: {}", v.invariant, v.rows, v.says)).collect();
        let world = Self { running, options, task, agent, peers, _dir };
        world.begin_work();
        (world, found)
    }

    pub async fn stop(self) {
        self.running.stop().await.unwrap();
    }

    pub fn authority(&self) -> Authority {
        self.running.authority.clone()
    }

    /// Prompts about that bundle that reached the agent, without those it refused.
    pub fn dispatches(&self, bundle: &PendingId) -> usize {
        let text = std::fs::read_to_string(self.lines()).unwrap_or_default();
        let recorded = text.lines().filter(|line| line.ends_with(bundle.as_str()) && !line.starts_with("reject"));
        recorded.count() + self.peers.count(bundle.as_str())
    }

    fn lines(&self) -> PathBuf {
        file(&self.options).with_extension("dispatches")
    }
}

/// An agent that takes an answer and is silent is prompted with it.
pub const FALL_BACK: &str = "answer and fall back";

fn question(prompt: &str) -> AskInput {
    let question = QuestionInput {
        id: None,
        title: String::new(),
        prompt: prompt.into(),
        options: Vec::new(),
        multi_select: false,
        allow_custom_text: true,
        secret: false,
    };
    AskInput { questions: vec![question], context: String::new(), client_key: None, expected_turn_id: None }
}

fn newer(session: &SessionId) -> StartTurn {
    let prompt = "go on".into();
    StartTurn { session_id: session.clone(), prompt, kind: TurnKind::Work, expected: None, client_key: None }
}

fn said() -> NewMessage {
    let (author, kind, content) = ("agent".into(), "message".into(), "at work".into());
    NewMessage { turn_id: None, author, kind, content, metadata: serde_json::Map::new() }
}

fn told<T>(result: Result<T, Error>) -> Told {
    if result.is_ok() { Told::Done } else { Told::No }
}

fn told_response(result: Result<Responded, Error>) -> Told {
    match result {
        Ok(Responded::Accepted { .. }) => Told::Done,
        Ok(Responded::Failed { failure, .. }) if failure.is_retryable => Told::Retryable,
        Ok(Responded::Failed { .. }) => Told::Final,
        Err(_) => Told::No,
    }
}

impl Stand {
    /// Whether somebody waits before the path begins.
    pub fn needs_waiter(path: &str) -> bool {
        ["answer a waiter", "skip a waiter", "cancel", "detach", FALL_BACK].contains(&path)
    }

    /// Waits for the bundle in a task of its own, as an agent does.
    pub async fn wait_beside(&self) {
        let awaited = self.authority.await_answer(&Viewer::local(), &self.bundle).await.unwrap();
        let waiting = awaited.waiting.unwrap();
        tokio::spawn(async move { drop(waiting.outcome(Duration::from_millis(150)).await) });
    }

    pub async fn walk(self, path: &'static str) -> Told {
        let (own, viewer) = (&self.authority, Viewer::local());
        match path {
            "ask" => match own.ask(&viewer, &self.session, question("two?"), true).await {
                Ok(asked) => match asked.waiting {
                    Some(waiting) => told(waiting.outcome(Duration::from_millis(30)).await),
                    None => Told::No,
                },
                Err(_) => Told::No,
            },
            "wait" => match own.await_answer(&viewer, &self.bundle).await {
                Ok(awaited) => match awaited.waiting {
                    Some(waiting) => told(waiting.outcome(Duration::from_millis(30)).await),
                    None => Told::No,
                },
                Err(_) => Told::No,
            },
            FALL_BACK => {
                let told = told_response(self.respond().await);
                self.fallen_back().await;
                told
            }
            "answer a waiter" | "answer" => told_response(self.respond().await),
            "skip a waiter" | "skip" => {
                let (pending_id, client_key) = (self.bundle.clone(), ClientKey::new("s"));
                let skip = SkipInput { pending_id, reason: String::new(), expected_turn_id: None, client_key };
                told_response(own.skip(&viewer, skip).await)
            }
            "prompt" => {
                let (session_id, client_key) = (self.session.clone(), ClientKey::new("p"));
                let text = format!("{} {}", self.bundle, self.says);
                let prompt = SendPrompt { session_id, text, expected_turn_id: None, client_key };
                match own.send_prompt(&viewer, prompt).await {
                    Ok(Prompted::Accepted { .. }) => Told::Done,
                    Ok(Prompted::Failed(failure)) if failure.is_retryable => Told::Retryable,
                    Ok(Prompted::Failed(_)) => Told::Final,
                    Err(_) => Told::No,
                }
            }
            "newer turn" => told(own.start_turn(&viewer, newer(&self.session)).await),
            "complete" => told(own.complete_turn(&viewer, &self.session, &self.turn).await),
            "detach" => told(own.detach_clarifications(&viewer, &self.session, None).await),
            "cancel the turn" => {
                told(own.cancel_turn(&viewer, &self.session, ExpectedTurn::Turn(self.turn.clone())).await)
            }
            "cancel" => told(own.cancel_clarification(&viewer, &self.bundle).await),
            "end the session" => told(own.set_session_state(&viewer, &self.session, SessionState::Failed).await),
            _ => self.walk_aside(path).await,
        }
    }

    /// What people and runtimes do beside questions.
    async fn walk_aside(&self, path: &str) -> Told {
        let (own, viewer) = (&self.authority, Viewer::local());
        match path {
            "ready" => told(own.report_agent_ready(&viewer, &self.session, None).await),
            "say" => told(own.append_message(&viewer, &self.session, said()).await),
            "want a permission" => {
                let id = PermissionId::new("p");
                told(own.record_permission(&viewer, &self.session, id, "May I?".into()).await)
            }
            "set the state" => told(own.set_session_state(&viewer, &self.session, SessionState::Running).await),
            "begin a session" => {
                let task_id = self.task.clone();
                let create = CreateSession { task_id, executor: None, is_watchdog_on: false };
                told(own.create_session(&viewer, create).await)
            }
            "delete the question" => told(own.delete_message(&viewer, &self.row).await),
            "delete the session" => told(own.delete_session(&viewer, &self.session).await),
            _ => panic!("no path {path}"),
        }
    }

    /// Until the agent was prompted, or was not for so long that it will not be.
    async fn fallen_back(&self) {
        for _ in 0..60 {
            let lines = std::fs::read_to_string(&self.lines).unwrap_or_default();
            if lines.lines().any(|line| line.ends_with(self.bundle.as_str())) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    async fn respond(&self) -> Result<Responded, Error> {
        let answer = AnswerInput {
            question_id: QuestionId::new("q1"),
            option_ids: vec![],
            custom_text: Some(format!("{} {}", self.bundle, self.says)),
        };
        let (pending_id, client_key) = (self.bundle.clone(), ClientKey::new("a"));
        let input = RespondInput { pending_id, answers: vec![answer], expected_turn_id: None, client_key };
        self.authority.respond(&Viewer::local(), input).await
    }

    /// Where the bundle stands when nothing moves any more, and whether a dispatch of its session is unresolved.
    pub async fn rest(&self) -> (BundleState, bool) {
        let mut seen = self.look().await;
        for _ in 0..150 {
            if !matches!(seen.0, BundleState::DeliveryClaimed | BundleState::ActiveLive) && !seen.1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            seen = self.look().await;
        }
        seen
    }

    async fn look(&self) -> (BundleState, bool) {
        let store = self.authority.store();
        // One that was deleted is over.
        let Some(row) = store.bundles(std::slice::from_ref(&self.bundle)).await.unwrap().pop() else {
            return (BundleState::Terminal, false);
        };
        let view = store.view(&self.session, Default::default()).await.unwrap();
        (row.state(), view.reservation().is_some())
    }
}
