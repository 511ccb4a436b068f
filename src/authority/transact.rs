//! The one door for durable changes of a session (architecture section 5).
//! May import: store, lifecycle, ids, crash.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use tracing::Instrument;

use crate::ids::{Position, SessionId};
use crate::lifecycle::{Command, Decision, Effect, Refusal, Stamp, decide};
use crate::store::{self, Decided};

use super::{Authority, Error, points, trace};

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
        let span = tracing::info_span!("transact", %session);
        let task =
            self.0.parts.tasks.spawn("transact", async move { own.pass(&id, command).instrument(span).await });
        task.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    async fn pass(&self, session: &SessionId, command: Command) -> Result<Passed, Error> {
        let (stamp, focus, command) = (self.stamp(), command.focus(), Arc::new(command));
        let effect = Arc::new(Mutex::new(None));
        let (own, told) = (Arc::clone(&command), Arc::clone(&effect));
        let store = self.store().with_deadline(self.limits().persistence);
        let job = store.transact(session, focus, stamp.epoch, move |view| {
            let decision = decide(view, &own, &stamp)?;
            points::open(&own, &decision);
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision.effect.clone());
            Ok(decision)
        });
        points::lost(&command, "before")?;
        let passed = match job.await {
            Ok(decided) => {
                let Decided { decision, last_position } = decided?;
                Passed { decision, last_position }
            }
            Err(store::Error::UnknownCommit) => {
                let effect = effect.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.read_back(session, &command, effect.ok_or(store::Error::UnknownCommit)?).await?
            }
            Err(error) => return Err(error.into()),
        };
        points::lost(&command, "after")?;
        points::committed(&command, &passed.decision);
        if !passed.decision.changes.is_empty() {
            self.0.fallbacks.hear(session, &passed.decision, command.is_agent_activity());
            self.wake(session);
        }
        Ok(passed)
    }

    fn wake(&self, session: &SessionId) {
        self.0.hints.wake(session);
        self.0.parts.relay.wake();
    }

    /// A commit in doubt is read back by what it would have left, so that a claim, turn or waiter that is there has
    /// its owner (decisions 23, INV-34). What leaves nothing of its own stays in doubt, and so does what a store that
    /// is away does not tell.
    async fn read_back(&self, session: &SessionId, command: &Command, effect: Effect) -> Result<Passed, Error> {
        let found = self.find_left(session, command, &effect).await;
        if !matches!(found, Ok(true)) {
            self.disown(session, command, &effect);
            // What the next start finds is not known yet.
            let is_known = |error: &store::Error| !matches!(error, store::Error::Closed);
            return Err(found.err().filter(is_known).unwrap_or(store::Error::UnknownCommit).into());
        }
        self.wake(session);
        Ok(Passed { decision: Decision { effect, ..Decision::default() }, last_position: None })
    }

    async fn find_left(
        &self,
        session: &SessionId,
        command: &Command,
        effect: &Effect,
    ) -> Result<bool, store::Error> {
        let is_left = async || {
            let view = self.store().view(session, trace::focus(effect)).await?;
            Ok(trace::is_left(&view, command, effect))
        };
        if is_left().await? {
            return Ok(true);
        }
        tokio::time::sleep(self.limits().poll).await;
        is_left().await
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
