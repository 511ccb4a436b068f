//! The watchdog: an answer that a live agent took, and then stayed silent over, falls back to a dispatch, once, while
//! its turn is the current one (decisions 3). Its deadline is a row; here is the loop that looks for what is due, and
//! what takes a fallback back when the agent shows itself or the server goes. May import: store, lifecycle, ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ids::{Micros, SessionId, TurnId};
use crate::lifecycle::{Command, Decision, Effect, Refusal};

use super::dispatching::Dispatched;
use super::{Authority, DeliveryFailure, Error, Failure};

type UnderWay = Arc<Mutex<HashMap<SessionId, (TurnId, CancellationToken)>>>;

/// The fallbacks that are under way, at most one in a session.
#[derive(Default)]
pub(super) struct Fallbacks {
    under_way: UnderWay,
    armed: Notify,
}

/// One of them; dropped, it is over.
struct Fallback {
    under_way: UnderWay,
    session: SessionId,
    cancel: CancellationToken,
}

impl Fallbacks {
    /// None: the session has one already.
    fn begin(&self, session: &SessionId, turn: &TurnId, cancel: CancellationToken) -> Option<Fallback> {
        let mut map = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if map.contains_key(session) {
            return None;
        }
        map.insert(session.clone(), (turn.clone(), cancel.clone()));
        Some(Fallback { under_way: self.under_way.clone(), session: session.clone(), cancel })
    }

    /// Hears of what passed the door: a deadline was armed, or the agent did something in a turn that is falling back.
    pub(super) fn hear(&self, session: &SessionId, decision: &Decision, is_activity: bool) {
        if decision.arms_watchdog() {
            self.armed.notify_one();
        }
        if !is_activity {
            return;
        }
        let map = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((turn, cancel)) = map.get(session)
            && decision.touches(turn)
        {
            cancel.cancel();
        }
    }
}

impl Drop for Fallback {
    fn drop(&mut self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.session);
    }
}

impl Authority {
    /// Fires what is due until the server drains. What fell due while no server ran waits the whole time again: its
    /// agent had nobody to show itself to.
    pub fn watch(self) -> impl Future<Output = ()> + Send {
        let not_before = self.watchdog_deadline();
        async move {
            while !self.0.drain.is_cancelled() {
                let rest = self.fire_due(not_before).await;
                tokio::select! {
                    () = tokio::time::sleep(rest) => {}
                    () = self.0.fallbacks.armed.notified() => {}
                    () = self.0.drain.cancelled() => {}
                }
            }
        }
    }

    /// When an agent that takes an answer now is given up.
    pub(super) fn watchdog_deadline(&self) -> Micros {
        self.0.parts.clock.now().plus(self.limits().watchdog)
    }

    /// Begins the fallbacks that are due; returns how long to wait for the next one.
    async fn fire_due(&self, not_before: Micros) -> Duration {
        let period = self.limits().watchdog_period;
        match self.fire_all(not_before).await {
            Ok(rest) => rest.map_or(period, |rest| rest.min(period)),
            Err(error) => {
                tracing::warn!(%error, "watchdogs could not be looked for");
                period
            }
        }
    }

    /// Goes through all that this server can reach, for one that cannot fall back now must not hold up those behind
    /// it. Returns how long the first that is not due yet has left.
    async fn fire_all(&self, not_before: Micros) -> Result<Option<Duration>, Error> {
        let names: Vec<_> = self.0.parts.executors.names().map(str::to_owned).collect();
        let (now, mut after) = (self.0.parts.clock.now(), None);
        loop {
            let armed = self.store().watchdogs(&names, after.take(), self.limits().watchdog_batch).await?;
            for (session, turn, deadline) in armed {
                let rest = deadline.max(not_before).since(now);
                if !rest.is_zero() {
                    return Ok(Some(rest));
                }
                self.fall_back_later(&session, turn.clone());
                after = Some((deadline, turn));
            }
            if after.is_none() {
                return Ok(None);
            }
        }
    }

    fn fall_back_later(&self, session: &SessionId, turn: TurnId) {
        let cancel = self.0.drain.child_token();
        let Some(fallback) = self.0.fallbacks.begin(session, &turn, cancel) else { return };
        let own = self.clone();
        self.0.parts.tasks.spawn("watchdog", async move {
            if let Err(error) = own.fall_back(&fallback, &turn).await {
                tracing::warn!(%error, session.id = %fallback.session, turn.id = %turn, "a fallback did not begin");
            }
        });
    }

    /// Looks, then goes the way of every prompt, whose admission and attempt look again.
    async fn fall_back(&self, fallback: &Fallback, turn: &TurnId) -> Result<(), Error> {
        let (session, cancel) = (&fallback.session, &fallback.cancel);
        let is_due = tokio::select! {
            is_due = self.is_fallback_due(session, turn) => is_due?,
            () = cancel.cancelled() => false,
        };
        if !is_due {
            return Ok(());
        }
        let successor = match self.transact(session, Command::FireWatchdog(turn.clone())).await {
            Ok(passed) => match passed.decision.effect {
                Effect::Turn(successor) => successor,
                _ => return Ok(()),
            },
            // Another dispatch of the session is under way, or the agent was quicker: the next look tells.
            Err(Error::Refused(Refusal::DispatchUnresolved | Refusal::Stale | Refusal::NotFound)) => return Ok(()),
            Err(error) => return Err(error),
        };
        tracing::info!(session.id = %session, turn.id = %successor, "a silent agent is prompted with its answer");
        match self.drive_unless(session, &successor, cancel).await {
            Dispatched::Accepted => {}
            // The agent was quicker than the attempt; or the session ended, and nothing is left to roll back.
            Dispatched::Overtaken => {
                self.roll_back(session, &successor, called_off()).await;
            }
            Dispatched::Failed(failure) => {
                tracing::warn!(session.id = %session, turn.id = %successor, ?failure, "a fallback was not taken");
            }
        }
        Ok(())
    }

    /// Its turn is still the current one.
    async fn is_fallback_due(&self, session: &SessionId, turn: &TurnId) -> Result<bool, Error> {
        let rows = self.store().sessions(std::slice::from_ref(session)).await?;
        let due = rows.first().filter(|row| !row.session.state.is_terminal());
        Ok(due.is_some_and(|row| row.current_turn.as_ref() == Some(turn)))
    }
}

/// The agent showed itself, or the server goes away.
pub(super) fn called_off() -> Failure {
    Failure::retryable(DeliveryFailure::Rejected, "The agent went on by itself; the call was not made.")
}
