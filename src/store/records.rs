//! Rows as they are stored, and their translation. Shared by both engines. May import: ids, lifecycle.

use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::ids::{
    AgentSessionId, EventId, Generation, MessageId, Micros, Ordinal, PendingId, PermissionId, Position,
    PrincipalId, Sequence, SessionId, TaskId, TokenId, TurnId, WorkspaceId,
};
use crate::lifecycle::OutboxRow;
use crate::lifecycle::{
    Event, KeyRecord, KeyResult, KeyScope, Permission, Question, QuestionColumns, Session, SessionState, Turn,
    TurnEnd, TurnKind, public_metadata, question_metadata, read_question, read_turn, turn_metadata,
};

use super::error::Error;
use super::rows::{MessageRowOut, TaskRow, TokenRow, Workspace};
use super::schema::{
    access_tokens, client_keys, outbox_events, task_session_messages, task_session_turns, task_sessions, tasks,
    workspaces,
};

fn corrupt(what: &str, id: &str) -> Error {
    Error::Corrupt(format!("{what} of {id}"))
}

/// A JSON object of a text column. The column's check keeps it one.
pub(super) fn object(text: &str, id: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(text).map_err(|error| Error::Corrupt(format!("metadata of {id}: {error}")))
}

pub(super) fn json(map: Map<String, Value>) -> String {
    Value::Object(map).to_string()
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = task_sessions, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct SessionRecord {
    pub(super) id: String,
    pub(super) task_id: String,
    pub(super) workspace_id: String,
    pub(super) state: String,
    pub(super) is_primary: bool,
    pub(super) executor: Option<String>,
    pub(super) agent_session: Option<String>,
    pub(super) is_watchdog_on: bool,
    pub(super) generation: i64,
    pub(super) sequence: i64,
    pub(super) created_us: i64,
    pub(super) updated_us: i64,
    pub(super) completed_us: Option<i64>,
}

impl SessionRecord {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            id: session.id.as_str().to_owned(),
            task_id: session.task_id.as_str().to_owned(),
            workspace_id: session.workspace_id.as_str().to_owned(),
            state: session.state.as_str().to_owned(),
            is_primary: session.is_primary,
            executor: session.executor.clone(),
            agent_session: session.agent_session.as_ref().map(|id| id.as_str().to_owned()),
            is_watchdog_on: session.is_watchdog_on,
            generation: session.generation.0,
            sequence: session.sequence.0,
            created_us: session.created_at.0,
            updated_us: session.updated_at.0,
            completed_us: session.completed_at.map(|at| at.0),
        }
    }

    pub(super) fn read(self) -> Result<Session, Error> {
        let state = SessionState::parse(&self.state).ok_or_else(|| corrupt("state", &self.id))?;
        Ok(Session {
            id: SessionId::new(self.id),
            task_id: TaskId::new(self.task_id),
            workspace_id: WorkspaceId::new(self.workspace_id),
            state,
            is_primary: self.is_primary,
            executor: self.executor,
            agent_session: self.agent_session.map(AgentSessionId::new),
            is_watchdog_on: self.is_watchdog_on,
            generation: Generation(self.generation),
            sequence: Sequence(self.sequence),
            created_at: Micros(self.created_us),
            updated_at: Micros(self.updated_us),
            completed_at: self.completed_us.map(Micros),
        })
    }
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = task_session_turns, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct TurnRecord {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) ordinal: i64,
    pub(super) kind: String,
    pub(super) generation: i64,
    pub(super) started_us: i64,
    pub(super) wall_us: i64,
    pub(super) ended_us: Option<i64>,
    pub(super) end_kind: Option<String>,
    pub(super) has_evidence: bool,
    pub(super) metadata: String,
}

const ENDS: [(TurnEnd, &str); 4] = [
    (TurnEnd::Completed, "completed"),
    (TurnEnd::Superseded, "superseded"),
    (TurnEnd::Cancelled, "cancelled"),
    (TurnEnd::SessionEnded, "session_ended"),
];

impl TurnRecord {
    pub(super) fn new(session: &str, turn: &Turn) -> Self {
        let name = |end: TurnEnd| ENDS.iter().find(|(known, _)| *known == end).map(|(_, name)| (*name).to_owned());
        Self {
            id: turn.id.as_str().to_owned(),
            session_id: session.to_owned(),
            ordinal: turn.ordinal.0,
            kind: match turn.kind {
                TurnKind::Work => "work".to_owned(),
                TurnKind::Bookkeeping => "bookkeeping".to_owned(),
            },
            generation: turn.generation.0,
            started_us: turn.started_at.0,
            wall_us: turn.wall_at.0,
            ended_us: turn.end.map(|(at, _)| at.0),
            end_kind: turn.end.and_then(|(_, end)| name(end)),
            has_evidence: turn.has_evidence,
            metadata: json(turn_metadata(turn)),
        }
    }

    pub(super) fn read(self) -> Result<Turn, Error> {
        let end = |name: &str| ENDS.iter().find(|(_, known)| *known == name).map(|(end, _)| *end);
        let ended = self.ended_us.map(Micros).zip(self.end_kind.as_deref().and_then(end));
        let metadata = object(&self.metadata, &self.id)?;
        let columns = Turn {
            ordinal: Ordinal(self.ordinal),
            kind: match self.kind.as_str() {
                "work" => TurnKind::Work,
                "bookkeeping" => TurnKind::Bookkeeping,
                _ => return Err(corrupt("kind", &self.id)),
            },
            generation: Generation(self.generation),
            started_at: Micros(self.started_us),
            wall_at: Micros(self.wall_us),
            end: ended,
            has_evidence: self.has_evidence,
            id: TurnId::new(self.id),
            reservation: None,
            dispatch_outcome: None,
            lease: None,
            watchdog: None,
            malformed: None,
            rest: Map::new(),
        };
        Ok(read_turn(columns, metadata))
    }
}

#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = task_session_messages)]
pub(super) struct MessageRecord {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) turn_id: String,
    pub(super) author: String,
    pub(super) kind: String,
    pub(super) content: String,
    pub(super) metadata: String,
    pub(super) created_us: i64,
    pub(super) updated_us: i64,
    pub(super) is_question: bool,
    pub(super) permission_id: Option<String>,
    pub(super) is_permission_open: bool,
}

impl MessageRecord {
    /// The question, of a row that is one. None: another kind, or inert.
    pub(super) fn question(&self) -> Result<Option<Question>, Error> {
        if !self.is_question {
            return Ok(None);
        }
        let columns = QuestionColumns {
            id: MessageId::new(self.id.as_str()),
            turn_id: TurnId::new(self.turn_id.as_str()),
            created_at: Micros(self.created_us),
            updated_at: Micros(self.updated_us),
        };
        Ok(read_question(columns, object(&self.metadata, &self.id)?).ok())
    }

    /// The permission request, of a row that is an open one.
    pub(super) fn permission(&self) -> Option<Permission> {
        let id = self.permission_id.as_ref().filter(|_| self.is_permission_open)?;
        Some(Permission {
            message_id: MessageId::new(self.id.as_str()),
            id: PermissionId::new(id.as_str()),
            turn_id: TurnId::new(self.turn_id.as_str()),
        })
    }

    pub(super) fn read(self) -> Result<MessageRowOut, Error> {
        let question = self.question()?;
        Ok(MessageRowOut {
            metadata: public_metadata(&object(&self.metadata, &self.id)?),
            id: MessageId::new(self.id),
            session_id: SessionId::new(self.session_id),
            turn_id: TurnId::new(self.turn_id),
            author: self.author,
            kind: self.kind,
            content: self.content,
            created_at: Micros(self.created_us),
            updated_at: Micros(self.updated_us),
            question,
        })
    }
}

/// A message as it is written.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = task_session_messages)]
pub(super) struct NewMessageRecord {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) turn_id: String,
    pub(super) author: String,
    pub(super) kind: String,
    pub(super) content: String,
    pub(super) metadata: String,
    pub(super) created_us: i64,
    pub(super) updated_us: i64,
}

impl NewMessageRecord {
    pub(super) fn question(session: &str, question: &Question) -> Self {
        Self {
            id: question.id.as_str().to_owned(),
            session_id: session.to_owned(),
            turn_id: question.turn_id.as_str().to_owned(),
            author: "agent".to_owned(),
            kind: crate::lifecycle::QUESTION_KIND.to_owned(),
            content: question.spec.prompt.clone(),
            metadata: json(question_metadata(question)),
            created_us: question.created_at.0,
            updated_us: question.updated_at.0,
        }
    }
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = client_keys)]
pub(super) struct KeyRow {
    pub(super) session_id: String,
    pub(super) scope_kind: String,
    pub(super) scope_id: String,
    pub(super) principal: String,
    pub(super) key: String,
    pub(super) body_hash: String,
    pub(super) result_kind: String,
    pub(super) result_id: String,
    pub(super) result_claim: String,
}

/// A key's scope as columns: kind, id, principal.
pub(super) fn scope_columns(scope: &KeyScope) -> (&'static str, &str, &str) {
    match scope {
        KeyScope::Turn(turn) => ("turn", turn.as_str(), ""),
        KeyScope::Bundle(pending, principal) => ("bundle", pending.as_str(), principal.as_str()),
        KeyScope::Session(principal) => ("session", "", principal.as_str()),
    }
}

/// A key's result as columns: kind, id, claim.
pub(super) fn result_columns(result: &KeyResult) -> (&'static str, &str, &str) {
    match result {
        KeyResult::Asked(pending) => ("asked", pending.as_str(), ""),
        KeyResult::Responded(pending, claim) => ("responded", pending.as_str(), claim.as_str()),
        KeyResult::Prompted(turn) => ("prompted", turn.as_str(), ""),
    }
}

impl KeyRow {
    pub(super) fn new(session: &str, record: &KeyRecord) -> Self {
        let (scope_kind, scope_id, principal) = scope_columns(&record.scope);
        let (result_kind, result_id, result_claim) = result_columns(&record.result);
        Self {
            session_id: session.to_owned(),
            scope_kind: scope_kind.to_owned(),
            scope_id: scope_id.to_owned(),
            principal: principal.to_owned(),
            key: record.key.as_str().to_owned(),
            body_hash: record.body_hash.clone(),
            result_kind: result_kind.to_owned(),
            result_id: result_id.to_owned(),
            result_claim: result_claim.to_owned(),
        }
    }

    pub(super) fn read(self) -> Result<KeyRecord, Error> {
        let principal = PrincipalId::new(self.principal);
        let scope = match self.scope_kind.as_str() {
            "turn" => KeyScope::Turn(TurnId::new(self.scope_id)),
            "bundle" => KeyScope::Bundle(PendingId::new(self.scope_id), principal),
            _ => KeyScope::Session(principal),
        };
        let result = match self.result_kind.as_str() {
            "asked" => KeyResult::Asked(PendingId::new(self.result_id)),
            "responded" => {
                KeyResult::Responded(PendingId::new(self.result_id), crate::ids::ClaimId::new(self.result_claim))
            }
            "prompted" => KeyResult::Prompted(TurnId::new(self.result_id)),
            _ => return Err(corrupt("result_kind", &self.key)),
        };
        Ok(KeyRecord { scope, key: crate::ids::ClientKey::new(self.key), body_hash: self.body_hash, result })
    }
}

#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = outbox_events)]
pub(super) struct OutboxRecord {
    position: i64,
    event_id: String,
    body: String,
    workspace_id: String,
    task_id: String,
    session_id: Option<String>,
    created_us: i64,
    is_accepted: bool,
}

impl OutboxRecord {
    pub(super) fn read(self) -> Result<OutboxRow, Error> {
        let kind = serde_json::from_str(&self.body)
            .map_err(|error| Error::Corrupt(format!("event {}: {error}", self.event_id)))?;
        Ok(OutboxRow {
            position: Position(self.position),
            event: Event { id: EventId::new(self.event_id), kind },
            workspace_id: WorkspaceId::new(self.workspace_id),
            task_id: TaskId::new(self.task_id),
            session_id: self.session_id.map(SessionId::new),
            created_at: Micros(self.created_us),
            is_accepted: self.is_accepted,
        })
    }
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = tasks)]
pub(super) struct TaskRecord {
    pub(super) id: String,
    pub(super) workspace_id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) state: String,
    pub(super) created_us: i64,
    pub(super) updated_us: i64,
    pub(super) last_activity_us: i64,
}

impl From<TaskRow> for TaskRecord {
    fn from(task: TaskRow) -> Self {
        Self {
            id: task.id.as_str().to_owned(),
            workspace_id: task.workspace_id.as_str().to_owned(),
            title: task.title,
            description: task.description,
            state: task.state,
            created_us: task.created_at.0,
            updated_us: task.updated_at.0,
            last_activity_us: task.last_activity_at.0,
        }
    }
}

impl From<TaskRecord> for TaskRow {
    fn from(task: TaskRecord) -> Self {
        Self {
            id: TaskId::new(task.id),
            workspace_id: WorkspaceId::new(task.workspace_id),
            title: task.title,
            description: task.description,
            state: task.state,
            created_at: Micros(task.created_us),
            updated_at: Micros(task.updated_us),
            last_activity_at: Micros(task.last_activity_us),
        }
    }
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = workspaces)]
pub(super) struct WorkspaceRecord {
    id: String,
    name: String,
    created_us: i64,
}

impl From<Workspace> for WorkspaceRecord {
    fn from(workspace: Workspace) -> Self {
        let Workspace { id, name, created_at } = workspace;
        Self { id: id.as_str().to_owned(), name, created_us: created_at.0 }
    }
}

impl From<WorkspaceRecord> for Workspace {
    fn from(record: WorkspaceRecord) -> Self {
        let WorkspaceRecord { id, name, created_us } = record;
        Self { id: WorkspaceId::new(id), name, created_at: Micros(created_us) }
    }
}

#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = access_tokens)]
pub(super) struct TokenRecord {
    id: String,
    hash: Vec<u8>,
    role: String,
    workspaces: Option<String>,
    pub(super) session_id: Option<String>,
    name: String,
    created_us: i64,
    expires_us: Option<i64>,
    revoked_us: Option<i64>,
}

impl From<TokenRow> for TokenRecord {
    fn from(token: TokenRow) -> Self {
        let list = |ids: Vec<WorkspaceId>| {
            Value::from(ids.iter().map(|id| Value::from(id.as_str())).collect::<Vec<_>>()).to_string()
        };
        Self {
            id: token.id.as_str().to_owned(),
            hash: token.hash.to_vec(),
            role: token.role,
            workspaces: token.workspaces.map(list),
            session_id: token.session_id.map(|id| id.as_str().to_owned()),
            name: token.name,
            created_us: token.created_at.0,
            expires_us: token.expires_at.map(|at| at.0),
            revoked_us: token.revoked_at.map(|at| at.0),
        }
    }
}

impl TokenRecord {
    pub(super) fn read(self) -> Result<TokenRow, Error> {
        let list = |text: String| serde_json::from_str::<Vec<WorkspaceId>>(&text);
        Ok(TokenRow {
            hash: <[u8; 32]>::try_from(self.hash.as_slice())
                .map_err(|error| Error::Corrupt(format!("hash of {}: {error}", self.id)))?,
            workspaces: self
                .workspaces
                .map(list)
                .transpose()
                .map_err(|error| Error::Corrupt(format!("workspaces of {}: {error}", self.id)))?,
            id: TokenId::new(self.id),
            role: self.role,
            session_id: self.session_id.map(SessionId::new),
            name: self.name,
            created_at: Micros(self.created_us),
            expires_at: self.expires_us.map(Micros),
            revoked_at: self.revoked_us.map(Micros),
        })
    }
}
