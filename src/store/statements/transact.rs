//! The door: load, decide, apply, announce; all on one transaction that its engine opened.
//! May import: the store's shared parts.

use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{Change, Decision, Focus, Refusal, SessionView};
use crate::store::error::Error;
use crate::store::rows::Decided;

use super::outbox::{Place, append};
use super::{Conn, apply, view};

/// Runs one decision. A refusal has written nothing.
pub(in crate::store) async fn transact<F>(
    conn: &mut Conn,
    session: &SessionId,
    focus: &Focus,
    epoch: Epoch,
    decide: F,
) -> Result<Result<Decided, Refusal>, Error>
where
    F: Fn(&SessionView) -> Result<Decision, Refusal> + Send,
{
    let view = view::load(conn, session, focus, Some(epoch)).await?;
    let decision = match decide(&view) {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal)),
    };
    apply::apply(conn, session, &view, &decision.changes).await?;
    let last_position = match place(&view, &decision) {
        Some(place) => append(conn, &place, &decision.events).await?,
        None => None,
    };
    Ok(Ok(Decided { decision, last_position }))
}

/// Where the decision's events belong.
fn place(view: &SessionView, decision: &Decision) -> Option<Place> {
    let made = decision.changes.iter().find_map(|change| match change {
        Change::InsertSession(session) => Some(session),
        _ => None,
    });
    let session = made.or(view.session.as_ref())?;
    let touched = decision.changes.iter().find_map(|change| match change {
        Change::TouchTask(at) => Some(*at),
        _ => None,
    });
    Some(Place {
        workspace_id: session.workspace_id.clone(),
        task_id: session.task_id.clone(),
        session_id: Some(session.id.clone()),
        at: touched.unwrap_or(session.updated_at),
    })
}
