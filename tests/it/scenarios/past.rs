//! What an earlier server had written when it was killed: the same commands through the same door, up to that point.
//! May import: the crate, the app.

use std::sync::Arc;
use std::time::Duration;

use answerable::ids::{ClientKey, EventId, Micros, PendingId, PrincipalId, SessionId, TaskId, TurnId, WaiterId};
use answerable::ids::{Epoch, WorkspaceId};
use answerable::lifecycle::{
    AcceptTurn, Admission, Answer, Ask, Command, Decision, Effect, Keyed, QuestionInput, Refusal, Respond, Stamp,
    TurnKind, canonical_questions, decide,
};
use answerable::ports::{Clock, IdSource, System};
use answerable::serve::{Error, Options};
use answerable::store::{Store, TaskRow, Workspace};
use serde_json::Value;

use crate::app::{App, EXECUTOR, SERVER};
use crate::home::Home;

/// A server at work, seen from its store.
pub struct Past {
    home: Arc<Home>,
    store: Store,
    epoch: Epoch,
    pub session: SessionId,
    pub turn: TurnId,
}

/// What is left of it.
pub struct Dead {
    home: Arc<Home>,
    pub session: String,
    pub turn: String,
}

fn key() -> Keyed {
    Keyed { key: ClientKey::new(System.fresh().to_string()), body_hash: "a body".into() }
}

impl Past {
    /// A task whose one session works on its first turn.
    pub async fn begin() -> Self {
        let home = Home::new();
        let store = Store::open(&home.options()).await.unwrap();
        let epoch = store.epoch_allocate(SERVER, Duration::ZERO, System.now()).await.unwrap();
        let (workspace_id, task_id, now) = (WorkspaceId::new("w"), TaskId::new("task"), System.now());
        let workspace = Workspace { id: workspace_id.clone(), name: "w".into(), created_at: now };
        store.workspace_insert(workspace).await.unwrap();
        let task = TaskRow {
            id: task_id.clone(),
            workspace_id,
            title: "A task".into(),
            description: String::new(),
            state: "TODO".into(),
            created_at: now,
            updated_at: now,
            last_activity_at: now,
        };
        store.task_insert(task, EventId::from(System.fresh())).await.unwrap();
        let (session, turn) = (SessionId::new(""), TurnId::new(""));
        let mut past = Self { home, store, epoch, session, turn };
        let create = Command::CreateSession { task_id, executor: Some(EXECUTOR.into()), is_watchdog_on: true };
        let Effect::Session(id) = past.does(create).await.effect else { panic!("no session") };
        past.session = id;
        past.turn = past.begins_a_turn().await;
        past
    }

    /// A later server on what another one left.
    pub async fn again(dead: Dead) -> Self {
        let Dead { home, session, turn } = dead;
        let store = Store::open(&home.options()).await.unwrap();
        let epoch = store.epoch_allocate(SERVER, Duration::ZERO, System.now()).await.unwrap();
        Self { home, store, epoch, session: SessionId::new(session), turn: TurnId::new(turn) }
    }

    /// Passes the door.
    pub async fn does(&self, command: Command) -> Decision {
        let stamp = Stamp { now: self.now(), epoch: self.epoch, base: System.fresh() };
        let focus = command.focus();
        let job = self.store.transact(&self.session, focus, self.epoch, move |view| {
            let decided: Result<Decision, Refusal> = decide(view, &command, &stamp);
            decided
        });
        job.await.unwrap().unwrap().decision
    }

    pub fn now(&self) -> Micros {
        System.now()
    }

    pub async fn begins_a_turn(&self) -> TurnId {
        let accept = AcceptTurn {
            prompt: "go on".into(),
            kind: TurnKind::Work,
            admission: Admission::Immediate,
            expected: None,
            principal: PrincipalId::new("runtime"),
            key: None,
        };
        let Effect::Turn(turn) = self.does(Command::AcceptTurn(accept)).await.effect else { panic!("no turn") };
        turn
    }

    /// Asks questions for a free text.
    pub async fn asks(&self, count: usize, waiter: Option<&str>) -> PendingId {
        let question = |n: usize| QuestionInput {
            id: None,
            title: String::new(),
            prompt: format!("question {n}"),
            options: Vec::new(),
            multi_select: false,
            allow_custom_text: true,
            secret: false,
        };
        let inputs: Vec<_> = (1..=count).map(question).collect();
        let ask = Ask {
            expected: None,
            questions: canonical_questions(&inputs, "").unwrap(),
            context: String::new(),
            key: key(),
            is_key_explicit: true,
            waiter: waiter.map(WaiterId::new),
        };
        match self.does(Command::Ask(ask)).await.effect {
            Effect::Asked { outcome, .. } => outcome.pending_id,
            other => panic!("{other:?}"),
        }
    }

    /// Claims it with answers; a detached one reserves the successor that comes back.
    pub async fn answers(&self, pending_id: &PendingId, questions: &[&str]) -> Option<TurnId> {
        let answer = |id: &&str| {
            let text = Answer { option_ids: Vec::new(), custom_text: Some("yes".into()) };
            (answerable::ids::QuestionId::new(*id), text)
        };
        let respond = Respond {
            pending_id: pending_id.clone(),
            answers: questions.iter().map(answer).collect(),
            expected_turn: None,
            principal: PrincipalId::new("person"),
            key: key(),
        };
        match self.does(Command::Respond(respond)).await.effect {
            Effect::Dispatch(_, turn) => Some(turn),
            Effect::HandOver(_) => None,
            other => panic!("{other:?}"),
        }
    }

    /// It is gone; what was committed stays.
    pub async fn dies(self) -> Dead {
        self.store.close().await.unwrap();
        Dead { home: self.home, session: self.session.as_str().into(), turn: self.turn.as_str().into() }
    }
}

impl Dead {
    /// Its database.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Changes the record of a turn by hand.
    pub fn set_turn(&self, turn: &TurnId, keys: &Value) {
        self.home.set("task_session_turns", "metadata", &format!("id = '{turn}'"), keys);
    }

    /// The next server.
    pub async fn starts(self) -> App {
        self.starts_with(|_| {}).await.unwrap()
    }

    pub async fn starts_with(self, change: impl FnOnce(&mut Options)) -> Result<App, Error> {
        App::start_on(self.home, change).await
    }

    /// A next server that does not come up.
    pub async fn refuses(&self, change: impl FnOnce(&mut Options)) -> Error {
        App::start_on(self.home.clone(), change).await.err().expect("it started")
    }
}
