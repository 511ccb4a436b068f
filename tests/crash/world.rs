//! A whole server in this process whose calls can be broken, and the paths that the fault loops walk on it.
//! May import: the crate.

use std::path::PathBuf;
use std::time::Duration;

use answerable::access::Viewer;
use answerable::authority::{
    AnswerInput, AskInput, Authority, CreateSession, CreateTask, Error, Prompted, RespondInput, Responded,
    SendPrompt, SkipInput, StartTurn,
};
use answerable::config::{Flags, Settings};
use answerable::dispatch::Recording;
use answerable::ids::{ClientKey, PendingId, QuestionId, SessionId, TaskId, TurnId};
use answerable::lifecycle::{BundleState, ExpectedTurn, QuestionInput, SessionState, TurnKind};
use answerable::serve::{Options, Running, start};
use tempfile::TempDir;

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
];

/// A server and its file.
pub struct World {
    running: Running,
    options: Options,
    task: TaskId,
    _dir: TempDir,
}

/// One bundle to walk about.
#[derive(Clone)]
pub struct Stand {
    pub authority: Authority,
    pub session: SessionId,
    pub turn: TurnId,
    pub bundle: PendingId,
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
    options.pace.period = Duration::from_millis(10);
    options
}

impl World {
    pub async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let options = options(dir.path().join("loop.db"));
        let running = start(options.clone()).await.unwrap();
        let create = CreateTask { workspace_id: None, title: "t".into(), description: String::new() };
        let task = running.authority.create_task(&Viewer::local(), create).await.unwrap();
        Self { running, options, task, _dir: dir }
    }

    /// A fresh session whose turn has asked one question that nobody waits for.
    pub async fn stand(&self) -> Stand {
        let (authority, viewer) = (self.running.authority.clone(), Viewer::local());
        let create = CreateSession {
            task_id: self.task.clone(),
            executor: Some(Recording::NAME.into()),
            is_watchdog_on: false,
        };
        let session = authority.create_session(&viewer, create).await.unwrap();
        let turn = authority.start_turn(&viewer, newer(&session)).await.unwrap();
        let asked = authority.ask(&viewer, &session, question("one?"), false).await.unwrap();
        Stand { authority, session, turn, bundle: asked.outcome.pending_id }
    }

    /// Stops, starts again, and says what a check of everything finds.
    pub async fn restart(self) -> (Self, Vec<String>) {
        let Self { running, options, task, _dir } = self;
        running.stop().await.unwrap();
        let running = start(options.clone()).await.unwrap();
        let found = running.authority.store().check().await.unwrap();
        let found = found.into_iter().map(|v| format!("{} {}: {}", v.invariant, v.rows, v.says)).collect();
        (Self { running, options, task, _dir }, found)
    }

    pub async fn stop(self) {
        self.running.stop().await.unwrap();
    }

    pub fn authority(&self) -> Authority {
        self.running.authority.clone()
    }

    /// Prompts about that bundle that reached the agent, without those it refused.
    pub fn dispatches(&self, bundle: &PendingId) -> usize {
        let file = self.options.store.path.with_extension("dispatches");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().filter(|line| line.ends_with(bundle.as_str()) && !line.starts_with("reject")).count()
    }
}

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
        ["answer a waiter", "skip a waiter", "cancel", "detach"].contains(&path)
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
            "answer a waiter" | "answer" => told_response(self.respond().await),
            "skip a waiter" | "skip" => {
                let (pending_id, client_key) = (self.bundle.clone(), ClientKey::new("s"));
                let skip = SkipInput { pending_id, reason: String::new(), expected_turn_id: None, client_key };
                told_response(own.skip(&viewer, skip).await)
            }
            "prompt" => {
                let (session_id, client_key) = (self.session.clone(), ClientKey::new("p"));
                let prompt = SendPrompt { session_id, text: "more".into(), expected_turn_id: None, client_key };
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
            _ => told(own.set_session_state(&viewer, &self.session, SessionState::Failed).await),
        }
    }

    async fn respond(&self) -> Result<Responded, Error> {
        let answer = AnswerInput {
            question_id: QuestionId::new("q1"),
            option_ids: vec![],
            custom_text: Some("yes".into()),
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
        let row = store.bundles(std::slice::from_ref(&self.bundle)).await.unwrap().pop().unwrap();
        let view = store.view(&self.session, Default::default()).await.unwrap();
        (row.state(), view.reservation().is_some())
    }
}
