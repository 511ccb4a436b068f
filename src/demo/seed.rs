//! What the demo puts into an empty store: a workspace, two tasks, a session with one turn. May import: authority,
//! store, access, lifecycle, ids, ports, scope.

use crate::access::{Role, Viewer};
use crate::authority::{Authority, CreateSession, CreateTask, NewToken, StartTurn};
use crate::ids::{SessionId, WorkspaceId};
use crate::lifecycle::TurnKind;
use crate::ports::{Clock, IdSource, System};
use crate::scope::Scope;
use crate::store::{TaskFilter, Workspace};

use super::{EXECUTOR, Error};

const WORKSPACE: &str = "Demo";
const PROMPT: &str = "Paint the fence. Ask me whatever you need to know.";
const TOKEN_LIFE_S: i64 = 7 * 24 * 3_600;

/// What the agent begins with.
pub(super) struct Seeded {
    pub(super) token: String,
    pub(super) prompt: String,
}

/// Makes the demo's rows, or finds them.
///
/// # Errors
/// The store holds other data; a fault.
pub(super) async fn seed(authority: &Authority) -> Result<Seeded, Error> {
    let viewer = Viewer::local();
    let workspaces = authority.store().workspaces().await?;
    let session = match workspaces.as_slice() {
        [] => make(authority, &viewer).await?,
        [only] if only.name == WORKSPACE => find(authority).await?,
        _ => return Err(Error::OtherData),
    };
    let new = NewToken {
        role: Role::Agent,
        workspaces: None,
        session_id: Some(session),
        name: "demo agent".into(),
        expires_in_s: Some(TOKEN_LIFE_S),
    };
    let (_, token) = authority.create_token(&viewer, new).await?;
    Ok(Seeded { token, prompt: PROMPT.into() })
}

async fn make(authority: &Authority, viewer: &Viewer) -> Result<SessionId, Error> {
    let id = WorkspaceId::from(System.fresh());
    let workspace = Workspace { id: id.clone(), name: WORKSPACE.into(), created_at: System.now() };
    authority.store().workspace_insert(workspace).await?;
    task(authority, viewer, &id, "Mow the lawn", "Nobody works on this one.").await?;
    let task_id =
        task(authority, viewer, &id, "Paint the fence", "The demo's agent works on it, and asks.").await?;
    let create = CreateSession { task_id, executor: Some(EXECUTOR.into()), is_watchdog_on: false };
    let session_id = authority.create_session(viewer, create).await?;
    let turn = StartTurn {
        session_id: session_id.clone(),
        prompt: PROMPT.into(),
        kind: TurnKind::Work,
        expected: None,
        client_key: None,
    };
    authority.start_turn(viewer, turn).await?;
    Ok(session_id)
}

async fn task(
    authority: &Authority,
    viewer: &Viewer,
    workspace: &WorkspaceId,
    title: &str,
    description: &str,
) -> Result<crate::ids::TaskId, Error> {
    let workspace_id = Some(workspace.clone());
    let create = CreateTask { workspace_id, title: title.into(), description: description.into() };
    Ok(authority.create_task(viewer, create).await?)
}

/// The session of an earlier run of the demo.
async fn find(authority: &Authority) -> Result<SessionId, Error> {
    let tasks = authority.store().tasks_page(&Scope::All, &TaskFilter::default(), None, 100).await?;
    let mut sessions = tasks.into_iter().flat_map(|row| row.sessions).map(|row| row.session);
    let own =
        sessions.find(|session| session.executor.as_deref() == Some(EXECUTOR) && !session.state.is_terminal());
    own.map(|session| session.id).ok_or(Error::OtherData)
}
