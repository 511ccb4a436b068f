//! What a task's row says, kept as one record with a revision of its own. It is a cache: what is pending in it follows
//! from the sessions by the one rule and is put right wherever it is not, and all else is left alone (architecture
//! section 9). May import: ids and its siblings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{Micros, Sequence, SessionId};

use super::refusal::{FieldCode, FieldError};
use super::session::SessionState;
use super::validate::Faults;
use super::view::PendingAction;

/// Unicode code points of an error's preview, at most.
pub const ERROR_PREVIEW_CHARS_MAX: usize = 512;
/// Unicode code points of an error's category and of each recovery action, at most.
pub const ERROR_LABEL_CHARS_MAX: usize = 64;
/// Ways out of an error, at most.
pub const RECOVERY_ACTIONS_MAX: usize = 3;

const ACTION: &str = "pending_action";
const OWNER: &str = "pending_session_id";
const PRIMARY: &str = "primary_session";
const ACTIVITY: &str = "foreground_activity";
const SUBAGENTS: &str = "active_subagent_count";
const ERROR: &str = "active_error";

/// Across a task a permission comes before a clarification, over sessions that can take input (decisions 19). Which
/// session, by its place, and what it waits for; of several the first.
pub fn task_pending<S>(sessions: S) -> Option<(usize, PendingAction)>
where
    S: Iterator<Item = (SessionState, Option<PendingAction>)> + Clone,
{
    let of = |action| {
        let waits = |(state, pending): (SessionState, _)| state.is_input_capable() && pending == Some(action);
        sessions.clone().position(waits).map(|place| (place, action))
    };
    of(PendingAction::Permission).or_else(|| of(PendingAction::Clarification))
}

/// What the sessions of a task say now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// What somebody has to act on, and the newest session that waits for it.
    pub pending: Option<(PendingAction, SessionId)>,
    /// The task's first choice among its sessions.
    pub primary: Option<(SessionId, SessionState)>,
}

/// What an agent does in the foreground, as its runtime reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForegroundActivity {
    /// It writes or works.
    Generating,
    /// Its work goes on in the background.
    Background,
}

/// What went wrong in a session, as its runtime reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// Where.
    pub session_id: SessionId,
    /// When it was reported.
    pub occurred_us: i64,
    /// Its first words.
    pub preview: String,
    /// Its kind, in the runtime's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What a person can do about it, in the runtime's words.
    #[serde(default)]
    pub recovery_actions: Vec<String>,
}

impl TaskError {
    /// Everything in it that passes its bound.
    ///
    /// # Errors
    /// At least one; each names its field and limit.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut faults = Faults::default();
        faults.text("preview", &self.preview, ERROR_PREVIEW_CHARS_MAX);
        faults.text("category", self.category.as_deref().unwrap_or_default(), ERROR_LABEL_CHARS_MAX);
        for (place, action) in self.recovery_actions.iter().enumerate() {
            faults.text(&format!("recoveryActions[{place}]"), action, ERROR_LABEL_CHARS_MAX);
        }
        if self.recovery_actions.len() > RECOVERY_ACTIONS_MAX {
            let message = format!("recoveryActions has more than {RECOVERY_ACTIONS_MAX} items");
            faults.add("recoveryActions", FieldCode::TooMany, Some(RECOVERY_ACTIONS_MAX), &message);
        }
        faults.end(())
    }
}

/// What becomes of a field: left out, null and a value are three things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is emptied.
    Clear,
    /// It is replaced.
    Set(T),
}

/// Changes of what runtimes report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryPatch {
    /// What the agent does.
    pub activity: Patch<ForegroundActivity>,
    /// How many helpers it has at work.
    pub subagents: Patch<u32>,
    /// What went wrong.
    pub error: Patch<TaskError>,
}

/// A summary has no next revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the summary's revision is at its end")]
pub struct RevisionSpent;

/// A task's stored summary. Keys that we do not know stay in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Rises with every change of it.
    pub revision: Sequence,
    /// When it last changed; rises with the revision.
    pub updated_at: Micros,
    /// Everything else, as it is stored.
    pub fields: Map<String, Value>,
}

impl Summary {
    /// That of a new task, which has no session to say anything.
    pub fn first(now: Micros) -> Self {
        Self { revision: Sequence(1), updated_at: now, fields: Map::new() }
    }

    /// The summary after `held`, with what the sessions say and what is reported now; None: nothing would change.
    ///
    /// # Errors
    /// It has no next revision.
    pub fn next(
        held: Option<&Self>,
        facts: &TaskFacts,
        patch: &SummaryPatch,
        now: Micros,
    ) -> Result<Option<Self>, RevisionSpent> {
        let mut fields = held.map(|held| held.fields.clone()).unwrap_or_default();
        write_facts(&mut fields, facts);
        write(&mut fields, ACTIVITY, &patch.activity);
        write(&mut fields, SUBAGENTS, &patch.subagents);
        write(&mut fields, ERROR, &patch.error);
        let Some(held) = held else {
            return Ok(Some(Self { fields, ..Self::first(now) }));
        };
        if held.fields == fields {
            return Ok(None);
        }
        let revision = Sequence(held.revision.0.checked_add(1).ok_or(RevisionSpent)?);
        let updated_at = now.max(Micros(held.updated_at.0.saturating_add(1)));
        Ok(Some(Self { revision, updated_at, fields }))
    }

    /// It says what the sessions say.
    pub fn says(&self, facts: &TaskFacts) -> bool {
        let mut fields = self.fields.clone();
        write_facts(&mut fields, facts);
        fields == self.fields
    }

    /// What somebody has to act on.
    pub fn pending_action(&self) -> Option<PendingAction> {
        self.read(ACTION)
    }

    /// The session that waits for it.
    pub fn pending_session(&self) -> Option<SessionId> {
        self.read(OWNER)
    }

    /// The primary session and where it stands.
    pub fn primary_session(&self) -> Option<(SessionId, SessionState)> {
        self.read::<Primary>(PRIMARY).map(|primary| (primary.id, primary.state))
    }

    /// What the agent does.
    pub fn activity(&self) -> Option<ForegroundActivity> {
        self.read(ACTIVITY)
    }

    /// How many helpers it has at work.
    pub fn subagents(&self) -> Option<u32> {
        self.read(SUBAGENTS)
    }

    /// What went wrong.
    pub fn error(&self) -> Option<TaskError> {
        self.read(ERROR)
    }

    /// What cannot be read is as absent as what is not there.
    fn read<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        self.fields.get(key).and_then(|value| T::deserialize(value).ok())
    }
}

#[derive(Serialize, Deserialize)]
struct Primary {
    id: SessionId,
    state: SessionState,
}

fn write_facts(fields: &mut Map<String, Value>, facts: &TaskFacts) {
    let (action, owner) = facts.pending.clone().unzip();
    let primary = facts.primary.clone().map(|(id, state)| Primary { id, state });
    write(fields, ACTION, &action.into());
    write(fields, OWNER, &owner.into());
    write(fields, PRIMARY, &primary.into());
}

impl<T> From<Option<T>> for Patch<T> {
    /// Nothing is an empty field.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}

fn write<T: Serialize>(fields: &mut Map<String, Value>, key: &str, patch: &Patch<T>) {
    let value = match patch {
        Patch::Keep => return,
        Patch::Clear => None,
        Patch::Set(value) => serde_json::to_value(value).ok(),
    };
    match value {
        Some(value) => drop(fields.insert(key.to_owned(), value)),
        None => drop(fields.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEEP: SummaryPatch = SummaryPatch { activity: Patch::Keep, subagents: Patch::Keep, error: Patch::Keep };

    fn asking(id: &str) -> TaskFacts {
        TaskFacts { pending: Some((PendingAction::Clarification, SessionId::new(id))), primary: None }
    }

    fn next(held: Option<&Summary>, facts: &TaskFacts, patch: &SummaryPatch) -> Option<Summary> {
        Summary::next(held, facts, patch, Micros(5)).unwrap()
    }

    #[test]
    fn across_a_task_a_permission_comes_before_a_clarification() {
        use PendingAction::{Clarification, Permission};
        use SessionState::{Idle, Running, WaitingForInput};
        let clarification = (WaitingForInput, Some(Clarification));
        let permission = (Running, Some(Permission));
        let found = |rows: &[(SessionState, Option<PendingAction>)]| task_pending(rows.iter().copied());
        assert_eq!(found(&[clarification, permission]), Some((1, Permission)));
        assert_eq!(found(&[permission, clarification]), Some((0, Permission)));
        assert_eq!(found(&[(Idle, Some(Permission)), (Running, None)]), None);
        assert_eq!(found(&[clarification, clarification]), Some((0, Clarification)));
    }

    #[test]
    fn a_repair_moves_the_revision_and_nothing_but_what_the_sessions_say() {
        let report = SummaryPatch {
            activity: Patch::Set(ForegroundActivity::Generating),
            subagents: Patch::Set(2),
            error: Patch::Keep,
        };
        let mut held = next(None, &asking("s"), &report).unwrap();
        held.fields.insert("git".into(), json!({ "ahead": 1 }));
        let repaired = next(Some(&held), &TaskFacts::default(), &KEEP).unwrap();
        assert_eq!((repaired.revision, repaired.pending_action()), (Sequence(2), None));
        assert!(repaired.updated_at > held.updated_at, "also when the clock stands");
        let mut expected = held.fields;
        expected.remove(ACTION);
        expected.remove(OWNER);
        assert_eq!(repaired.fields, expected);
    }

    #[test]
    fn what_changes_nothing_makes_no_revision() {
        let held = next(None, &asking("s"), &KEEP).unwrap();
        assert_eq!(next(Some(&held), &asking("s"), &KEEP), None);
        assert!(held.says(&asking("s")) && !held.says(&asking("t")));
        assert!(next(Some(&held), &asking("t"), &KEEP).is_some(), "another owner is another summary");
    }

    #[test]
    fn left_out_null_and_a_value_are_three_things() {
        let set = SummaryPatch { subagents: Patch::Set(3), ..KEEP };
        let held = next(None, &TaskFacts::default(), &set).unwrap();
        assert_eq!(held.subagents(), Some(3));
        assert_eq!(next(Some(&held), &TaskFacts::default(), &KEEP), None);
        let clear = SummaryPatch { subagents: Patch::Clear, ..KEEP };
        assert_eq!(next(Some(&held), &TaskFacts::default(), &clear).unwrap().subagents(), None);
    }

    #[test]
    fn a_spent_revision_is_an_error_and_never_starts_again() {
        let held = Summary { revision: Sequence(i64::MAX), updated_at: Micros(1), fields: Map::new() };
        assert_eq!(Summary::next(Some(&held), &asking("s"), &KEEP, Micros(2)), Err(RevisionSpent));
    }

    #[test]
    fn an_error_past_its_bounds_is_refused_by_field_and_limit() {
        let error = TaskError {
            session_id: SessionId::new("s"),
            occurred_us: 1,
            preview: "é".repeat(513),
            category: Some("c".repeat(65)),
            recovery_actions: vec!["retry".into(); 4],
        };
        let found = error.check().unwrap_err();
        let told: Vec<_> = found.iter().map(|error| (error.path.as_str(), error.limit)).collect();
        assert_eq!(told, [("preview", Some(512)), ("category", Some(64)), ("recoveryActions", Some(3))]);
    }
}
