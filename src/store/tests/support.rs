//! A store in a directory of its own, with ids and a clock that count. May import: the store.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{
    ClientKey, Epoch, EventId, Micros, PendingId, PrincipalId, SessionId, TaskId, TurnId, WaiterId, WorkspaceId,
};
use crate::lifecycle::{
    AcceptTurn, Admission, Answer, Ask, Choice, Command, Decision, Effect, ExpectedTurn, Keyed, QuestionSpec,
    Refusal, Respond, Stamp, TurnKind, decide,
};
use crate::store::{Error, PostgresOptions, SqliteOptions, Store, StoreOptions, TaskRow, Workspace};

use super::postgres::Database;

pub(super) struct Home {
    pub(super) store: Store,
    pub(super) options: StoreOptions,
    pub(super) epoch: Epoch,
    _directory: Option<tempfile::TempDir>,
    _database: Option<Database>,
    clock: Cell<i64>,
}

pub(super) fn key(text: &str) -> Keyed {
    Keyed { key: ClientKey::new(text), body_hash: format!("hash of {text}") }
}

pub(super) fn question(number: usize) -> QuestionSpec {
    let choice = |n: usize| Choice {
        id: format!("q{number}_opt{n}").into_id(),
        label: format!("Label {n}"),
        description: String::new(),
    };
    QuestionSpec {
        id: crate::ids::QuestionId::new(format!("q{number}")),
        title: String::new(),
        prompt: format!("Question {number}?"),
        options: vec![choice(1), choice(2)],
        multi_select: false,
        allow_custom_text: true,
        secret: false,
    }
}

trait IntoId {
    fn into_id(self) -> crate::ids::OptionId;
}

impl IntoId for String {
    fn into_id(self) -> crate::ids::OptionId {
        crate::ids::OptionId::new(self)
    }
}

impl Home {
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// On a database of its own in PostgreSQL.
    pub(super) async fn on_postgres() -> Self {
        let database = Database::new();
        let mut home = Self::at(PostgresOptions::new(database.url())).await;
        home._database = Some(database);
        home
    }

    pub(super) async fn with(set: impl FnOnce(&mut SqliteOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // A path that a URL would read otherwise.
        let mut options = SqliteOptions::new(directory.path().join("a%41?b#c.db"));
        set(&mut options);
        let mut home = Self::at(options).await;
        home._directory = Some(directory);
        home
    }

    /// A store with a workspace and a task, in that database.
    pub(super) async fn at(options: impl Into<StoreOptions>) -> Self {
        let options = options.into();
        let store = Store::open(&options).await.unwrap();
        let epoch = store.epoch_allocate("", Duration::ZERO, Micros(1)).await.unwrap();
        let home = Self { store, options, epoch, _directory: None, _database: None, clock: Cell::new(1_000) };
        let workspace = Workspace { id: WorkspaceId::new("w"), name: "W".into(), created_at: Micros(1) };
        home.store.workspace_insert(workspace).await.unwrap();
        home.add_task("k").await;
        home
    }

    /// Its file.
    pub(super) fn file(&self) -> &Path {
        match &self.options {
            StoreOptions::Sqlite(options) => &options.path,
            StoreOptions::Postgres(_) => panic!("it has no file"),
        }
    }

    /// The URL of its database.
    pub(super) fn url(&self) -> &str {
        match &self.options {
            StoreOptions::Postgres(options) => &options.url,
            StoreOptions::Sqlite(_) => panic!("it has no server"),
        }
    }

    /// A job behind all that were sent before it.
    pub(super) async fn turn_marker(&self, session: &SessionId) {
        self.try_run(session, Command::Expire).await.unwrap().unwrap_err();
    }

    /// Closes and opens again, as a restarted server does.
    pub(super) async fn restart(&mut self) {
        self.store.close().await.unwrap();
        self.store = Store::open(&self.options).await.unwrap();
        self.epoch = self.store.epoch_allocate("", Duration::ZERO, self.now()).await.unwrap();
    }

    pub(super) async fn add_task(&self, id: &str) {
        let now = self.now();
        let task = TaskRow {
            id: TaskId::new(id),
            workspace_id: WorkspaceId::new("w"),
            title: format!("Task {id}"),
            description: String::new(),
            state: "TODO".into(),
            created_at: now,
            updated_at: now,
            last_activity_at: now,
        };
        self.store.task_insert(task, EventId::from(self.stamp().base)).await.unwrap();
    }

    /// The clock of another one.
    pub(super) fn set_clock(&self, other: &Self) {
        self.clock.set(other.clock.get());
    }

    pub(super) fn now(&self) -> Micros {
        self.clock.set(self.clock.get() + 1);
        Micros(self.clock.get())
    }

    pub(super) fn stamp(&self) -> Stamp {
        let now = self.now();
        Stamp { now, epoch: self.epoch, base: Uuid::from_u128(u128::try_from(now.0).unwrap() << 32) }
    }

    pub(super) async fn try_run(
        &self,
        session: &SessionId,
        command: Command,
    ) -> Result<Result<Decision, Refusal>, Error> {
        let (focus, stamp) = (command.focus(), self.stamp());
        let run = self.store.transact(session, focus, self.epoch, move |view| decide(view, &command, &stamp));
        Ok(run.await?.map(|decided| decided.decision))
    }

    pub(super) async fn run(&self, session: &SessionId, command: Command) -> Effect {
        self.try_run(session, command).await.unwrap().unwrap().effect
    }

    pub(super) async fn session(&self) -> SessionId {
        self.session_of("k").await
    }

    pub(super) async fn session_of(&self, task: &str) -> SessionId {
        let command = Command::CreateSession {
            task_id: TaskId::new(task),
            executor: Some("x".into()),
            is_watchdog_on: true,
        };
        match self.run(&SessionId::new(""), command).await {
            Effect::Session(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn turn(&self, session: &SessionId) -> TurnId {
        match self.run(session, accept(Admission::Immediate)).await {
            Effect::Turn(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn ask(
        &self,
        session: &SessionId,
        name: &str,
        count: usize,
        waiter: Option<&str>,
    ) -> PendingId {
        match self.run(session, ask(name, count, waiter)).await {
            Effect::Asked { outcome, .. } => outcome.pending_id,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn accept(admission: Admission) -> Command {
    Command::AcceptTurn(AcceptTurn {
        prompt: "Do it".into(),
        kind: TurnKind::Work,
        admission,
        expected: None::<ExpectedTurn>,
        principal: PrincipalId::new("p"),
        key: None,
    })
}

pub(super) fn ask(name: &str, count: usize, waiter: Option<&str>) -> Command {
    Command::Ask(Ask {
        expected: None,
        questions: (1..=count).map(question).collect(),
        context: "Background".into(),
        key: key(name),
        is_key_explicit: true,
        waiter: waiter.map(WaiterId::new),
    })
}

pub(super) fn respond(pending_id: &PendingId, count: usize, name: &str) -> Command {
    let answer = |n: usize| {
        let answer = Answer { option_ids: vec![format!("q{n}_opt1").into_id()], custom_text: None };
        (crate::ids::QuestionId::new(format!("q{n}")), answer)
    };
    Command::Respond(Respond {
        pending_id: pending_id.clone(),
        answers: (1..=count).map(answer).collect(),
        expected_turn: None,
        principal: PrincipalId::new("p"),
        key: key(name),
    })
}
