//! The door: a decision over a session that is locked first, so that whoever decides next sees what this one did.
//! May import: the store's shared parts, lifecycle, ids.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{Decision, Focus, Refusal, SessionView};
use crate::store::error::Error;
use crate::store::job::Ticket;
use crate::store::rows::Decided;

use super::statements::{tasks, transact, view};
use super::transaction::{Ground, Kind, begin, end, is_race, within};
use super::{Conn, RETRIES, seam};

type Passed = Result<Decided, Refusal>;

/// Decides and writes, again from the start when another transaction came first.
pub(super) async fn pass<F>(
    ground: Ground,
    ticket: Ticket<Passed>,
    session: SessionId,
    focus: Focus,
    epoch: Epoch,
    decide: F,
) where
    F: Fn(&SessionView) -> Result<Decision, Refusal> + Send + 'static,
{
    let mut tries = 0;
    loop {
        let mut conn = match begin(&ground, Kind::Decide).await {
            Ok(conn) => conn,
            Err(error) => return ticket.answer(Err(error)),
        };
        if tries == 0 && !ticket.begin() {
            return drop(end(&ground, conn, Ok(()), false).await);
        }
        tries += 1;
        let loaded = within(ground.transaction, load(&mut conn, &session, &focus, epoch)).await;
        let decided = loaded.and_then(|view| Ok((caught(&decide, &view)?, view)));
        let written = match decided {
            Ok((Ok(decision), view)) => {
                within(ground.transaction, write(&mut conn, &session, &view, decision)).await.map(Ok)
            }
            Ok((Err(refusal), _)) => Ok(Err(refusal)),
            Err(error) => Err(error),
        };
        let is_kept = matches!(written, Ok(Ok(_)));
        match end(&ground, conn, written, is_kept).await {
            Err(error) if is_race(&error) && tries <= RETRIES => {}
            result => return ticket.answer(result),
        }
    }
}

/// The view, once nobody else can change what it holds.
async fn load(conn: &mut Conn, session: &SessionId, focus: &Focus, epoch: Epoch) -> Result<SessionView, Error> {
    seam::lock_session(conn, session).await?;
    if let Some(task) = &focus.task_id {
        seam::lock_task(conn, task).await?;
    }
    view::load(conn, session, focus, Some(epoch)).await
}

fn caught(
    decide: &impl Fn(&SessionView) -> Result<Decision, Refusal>,
    view: &SessionView,
) -> Result<Result<Decision, Refusal>, Error> {
    catch_unwind(AssertUnwindSafe(|| decide(view))).map_err(|_panic| Error::Panicked)
}

/// The task goes first: its lock stands before that of the log.
async fn write(
    conn: &mut Conn,
    session: &SessionId,
    view: &SessionView,
    decision: Decision,
) -> Result<Decided, Error> {
    if let Some((task, at)) = transact::touched(view, &decision) {
        tasks::touch(conn, &task, at).await?;
    }
    transact::write(conn, session, view, decision).await
}
