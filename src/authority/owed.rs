//! What a fault of the store left undone goes on until it is done: no claim, reservation or wait of this server is
//! without an owner while it lives (INV-34). May import: lifecycle, ids.

use crate::ids::{PendingId, SessionId, WaiterId};
use crate::lifecycle::{ClaimTicket, Command, Effect};

use super::transact::Passed;
use super::{Authority, Error};

impl Authority {
    /// Tries until the store takes or refuses it, or the server stops; then it is left to the next start.
    pub(super) async fn insist(&self, session: &SessionId, command: Command) -> Option<Passed> {
        loop {
            match self.transact(session, command.clone()).await {
                Ok(passed) => return Some(passed),
                Err(Error::Refused(_)) => return None,
                Err(error) => tracing::warn!(%error, session.id = %session, "a write is owed, and is tried again"),
            }
            if !self.may_try_again().await {
                return None;
            }
        }
    }

    /// What lies between two tries; false: the server stops.
    pub(super) async fn may_try_again(&self) -> bool {
        let stop = self.0.parts.tasks.stop();
        stop.run_until_cancelled(tokio::time::sleep(self.limits().poll)).await.is_some()
    }

    /// The same in a task of its own.
    pub(super) fn insist_later(&self, session: &SessionId, command: Command) {
        let (own, session) = (self.clone(), session.clone());
        self.0.parts.tasks.spawn("insist", async move { own.insist(&session, command).await });
    }

    /// Nobody goes on with what this decision would have left: if it was committed after all, it is taken back. The
    /// door lets nobody in before the commit in doubt has ended, so what is not there then never comes.
    pub(super) fn disown(&self, session: &SessionId, command: &Command, effect: &Effect) {
        if let Some(undo) = undo(command, effect) {
            self.insist_later(session, undo);
        }
    }
}

/// What takes back that which has to have an owner.
fn undo(command: &Command, effect: &Effect) -> Option<Command> {
    match (command, effect) {
        (_, Effect::HandOver(ticket)) => Some(given_back(ticket)),
        (Command::AcceptTurn(_) | Command::FireWatchdog(_), Effect::Turn(turn))
        | (_, Effect::Dispatch(_, turn)) => Some(Command::RejectDispatch(turn.clone())),
        (Command::RegisterWaiter(pending_id, waiter), _) => Some(dropped(pending_id, waiter)),
        (Command::Ask(ask), Effect::Asked { outcome, .. }) => {
            ask.waiter.as_ref().map(|waiter| dropped(&outcome.pending_id, waiter))
        }
        _ => None,
    }
}

/// Gives a claim back that nobody took.
pub(super) fn given_back(ticket: &ClaimTicket) -> Command {
    Command::RestoreClaim(ticket.pending_id.clone(), ticket.id.clone())
}

/// Ends a wait whose agent heard nothing.
pub(super) fn dropped(pending_id: &PendingId, waiter: &WaiterId) -> Command {
    Command::DropWaiter { pending_id: pending_id.clone(), waiter: waiter.clone(), is_received: false }
}
