//! What every door does with a decision: make its changes, append its events; on one transaction that its engine
//! opened. May import: the store's shared parts.

use crate::ids::{Micros, SessionId, TaskId};
use crate::lifecycle::{Change, Decision, Session, SessionView};
use crate::store::error::Error;
use crate::store::rows::Decided;

use super::outbox::{Place, append};
use super::{Conn, apply};

/// Writes a decision that was made upon this view. When its task was active, the engine writes that too.
pub(in crate::store) async fn write(
    conn: &mut Conn,
    session: &SessionId,
    view: &SessionView,
    decision: Decision,
) -> Result<Decided, Error> {
    apply::apply(conn, session, view, &decision.changes).await?;
    let last_position = match place(view, &decision) {
        Some(place) => append(conn, &place, &decision.events).await?,
        None => None,
    };
    Ok(Decided { decision, last_position })
}

/// The task that was active, and when.
pub(in crate::store) fn touched(view: &SessionView, decision: &Decision) -> Option<(TaskId, Micros)> {
    let at = touched_at(decision)?;
    Some((home(view, decision)?.task_id.clone(), at))
}

/// Where the decision's events belong.
fn place(view: &SessionView, decision: &Decision) -> Option<Place> {
    let session = home(view, decision)?;
    Some(Place {
        workspace_id: session.workspace_id.clone(),
        task_id: session.task_id.clone(),
        session_id: Some(session.id.clone()),
        at: touched_at(decision).unwrap_or(session.updated_at),
    })
}

fn home<'a>(view: &'a SessionView, decision: &'a Decision) -> Option<&'a Session> {
    let made = decision.changes.iter().find_map(|change| match change {
        Change::InsertSession(session) => Some(session),
        _ => None,
    });
    made.or(view.session.as_ref())
}

fn touched_at(decision: &Decision) -> Option<Micros> {
    decision.changes.iter().find_map(|change| match change {
        Change::TouchTask(at) => Some(*at),
        _ => None,
    })
}
