//! The one door for durable changes of a session (architecture section 5).
//! May import: store, lifecycle, ids, crash.

use std::sync::Arc;

use tokio::time::Instant;

use crate::ids::{Position, SessionId};
use crate::lifecycle::{Command, Decision, Refusal, Stamp, decide};

use super::{Authority, Error, points};

/// What passed the door.
pub(super) struct Passed {
    pub(super) decision: Decision,
    /// The place of its last event, if it has any.
    pub(super) last_position: Option<Position>,
}

impl Authority {
    pub(super) fn stamp(&self) -> Stamp {
        let parts = &self.0.parts;
        Stamp { now: parts.clock.now(), epoch: parts.epoch, base: parts.ids.fresh() }
    }

    /// Decides a command over its session and makes the changes, in one transaction, in a task of its own: a
    /// caller that goes away cannot cut it in half.
    pub(super) async fn transact(&self, session: &SessionId, command: Command) -> Result<Passed, Error> {
        let (own, id) = (self.clone(), session.clone());
        let task = self.0.parts.tasks.spawn("transact", async move { own.pass(&id, command).await });
        task.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    async fn pass(&self, session: &SessionId, command: Command) -> Result<Passed, Error> {
        let (stamp, focus, command) = (self.stamp(), command.focus(), Arc::new(command));
        let own = Arc::clone(&command);
        let job = self.0.parts.store.transact(session, focus, stamp.epoch, move |view| {
            let decision = decide(view, &own, &stamp)?;
            points::open(&own, &decision);
            Ok(decision)
        });
        points::lost(&command, "before")?;
        let passed = tokio::time::timeout(self.limits().persistence, job).await;
        points::lost(&command, "after")?;
        let decided = passed.map_err(|_elapsed| Error::timeout("the door did not answer in time"))???;
        points::committed(&command, &decided.decision);
        if !decided.decision.changes.is_empty() {
            self.0.hints.wake(session);
            self.0.parts.relay.wake();
        }
        Ok(Passed { decision: decided.decision, last_position: decided.last_position })
    }

    /// The same, waiting a bounded time for an unresolved dispatch of the session (decisions 13).
    pub(super) async fn transact_resolved(&self, session: &SessionId, command: Command) -> Result<Passed, Error> {
        let deadline = Instant::now() + self.limits().ready;
        let mut hint = self.0.hints.subscribe(session);
        loop {
            hint.borrow_and_update();
            match self.transact(session, command.clone()).await {
                Err(Error::Refused(Refusal::DispatchUnresolved)) if Instant::now() < deadline => {}
                other => return other,
            }
            let poll = tokio::time::sleep(self.limits().poll);
            tokio::select! {
                _ = hint.changed() => {}
                () = poll => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
    }
}
