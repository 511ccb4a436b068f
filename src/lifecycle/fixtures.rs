//! Small views for unit tests of the core. May import: ids and the rest of lifecycle.

use serde_json::Map;
use uuid::Uuid;

use crate::ids::{
    ClientKey, Epoch, Generation, Micros, Ordinal, QuestionId, Sequence, SessionId, TaskId, TurnId, WaiterId,
    WorkspaceId,
};

use super::{
    Ask, Bundle, Command, Decision, Keyed, OptionInput, QuestionInput, QuestionSpec, Refusal, Session,
    SessionState, SessionView, Stamp, Turn, TurnKind, canonical_questions, decide,
};

pub(crate) fn session() -> Session {
    Session {
        id: SessionId::new("session"),
        task_id: TaskId::new("task"),
        workspace_id: WorkspaceId::new("workspace"),
        state: SessionState::Running,
        is_primary: true,
        executor: Some("scripted".into()),
        agent_session: None,
        is_watchdog_on: false,
        generation: Generation(1),
        sequence: Sequence(1),
        created_at: Micros(1),
        updated_at: Micros(1),
        completed_at: None,
    }
}

pub(crate) fn turn(id: &str, ordinal: i64) -> Turn {
    Turn {
        id: TurnId::new(id),
        ordinal: Ordinal(ordinal),
        kind: TurnKind::Work,
        generation: Generation(ordinal),
        started_at: Micros(ordinal),
        wall_at: Micros(ordinal),
        end: None,
        has_evidence: false,
        reservation: None,
        dispatch_outcome: None,
        lease: None,
        watchdog: None,
        malformed: None,
        rest: Map::new(),
    }
}

/// A live session that works on its first turn.
pub(crate) fn view() -> SessionView {
    SessionView {
        session: Some(session()),
        turns: vec![turn("turn-1", 1)],
        last_ordinal: Ordinal(1),
        last_started_at: Micros(1),
        ..SessionView::default()
    }
}

pub(crate) fn question_input() -> QuestionInput {
    let option = |label: &str| OptionInput { id: None, label: label.into(), description: String::new() };
    QuestionInput {
        id: None,
        title: String::new(),
        prompt: "Which colour?".into(),
        options: vec![option("Red"), option("Blue")],
        multi_select: false,
        allow_custom_text: true,
        secret: false,
    }
}

pub(crate) fn specs(count: usize) -> Vec<QuestionSpec> {
    canonical_questions(&vec![question_input(); count], "").unwrap()
}

pub(crate) fn key(text: &str) -> Keyed {
    Keyed { key: ClientKey::new(text), body_hash: format!("hash of {text}") }
}

pub(crate) fn question_id(n: usize) -> QuestionId {
    QuestionId::new(format!("q{n}"))
}

/// A session in memory, driven command by command.
pub(crate) struct Trial {
    pub(crate) view: SessionView,
    pub(crate) clock: i64,
}

impl Trial {
    pub(crate) fn new() -> Self {
        Self { view: view(), clock: 1_000 }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            now: Micros(self.clock),
            epoch: Epoch(1),
            base: Uuid::from_u128(u128::try_from(self.clock).unwrap() << 64),
        }
    }

    pub(crate) fn run(&mut self, command: &Command) -> Result<Decision, Refusal> {
        self.clock += 1_000;
        let decision = decide(&self.view, command, &self.stamp())?;
        decision.changes.iter().for_each(|change| self.view.apply(change));
        Ok(decision)
    }

    /// Asks `count` questions, waited for by `waiter`.
    pub(crate) fn ask(&mut self, count: usize, waiter: Option<&str>) -> Bundle {
        let ask = Ask {
            expected: None,
            questions: specs(count),
            context: String::new(),
            key: key(&format!("ask {}", self.clock)),
            is_key_explicit: true,
            waiter: waiter.map(WaiterId::new),
        };
        self.run(&Command::Ask(ask)).unwrap();
        self.view.bundles.last().unwrap().clone()
    }
}
