//! An executor that does as it is told, for tests and trials; it keeps what it was given.
//! May import: lifecycle, ids.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::ids::{SessionId, TurnId};

use super::{Dispatch, Executor, Outcome, Revocation};

/// Dispatches remembered, at most; older ones are forgotten first.
const SEEN_MAX: usize = 10_000;

/// What to do with one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Take it.
    Accept,
    /// Refuse it, provably.
    Reject,
    /// Leave its fate unknown.
    Unknown,
    /// Never answer; then say this when the call is taken back.
    Hang(Revocation),
}

/// Follows its script, then accepts everything.
#[derive(Debug, Default)]
pub struct Scripted {
    script: Mutex<VecDeque<Script>>,
    seen: Mutex<VecDeque<Dispatch>>,
    revocation: Mutex<Option<Revocation>>,
    interrupted: Mutex<VecDeque<TurnId>>,
}

impl Scripted {
    /// Adds steps to the script.
    pub fn follow(&self, steps: impl IntoIterator<Item = Script>) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).extend(steps);
    }

    /// What was dispatched so far, oldest first.
    pub fn seen(&self) -> Vec<Dispatch> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The turns that were interrupted so far, oldest first.
    pub fn interrupted(&self) -> Vec<TurnId> {
        self.interrupted.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn take(&self, dispatch: Dispatch) -> Script {
        keep(&self.seen, dispatch);
        let step = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        step.unwrap_or(Script::Accept)
    }
}

impl Executor for Scripted {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            match self.take(dispatch) {
                Script::Accept => Outcome::Accepted,
                Script::Reject => Outcome::Rejected { reason: "the script says so".into() },
                Script::Unknown => Outcome::Unknown { reason: "the script says so".into() },
                Script::Hang(revocation) => {
                    *self.revocation.lock().unwrap_or_else(PoisonError::into_inner) = Some(revocation);
                    std::future::pending().await
                }
            }
        })
    }

    fn revoke(&self, _turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        let revocation = self.revocation.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { revocation.unwrap_or(Revocation::Unknown) })
    }

    fn interrupt(&self, _session_id: SessionId, turn_id: TurnId) -> BoxFuture<'_, ()> {
        keep(&self.interrupted, turn_id);
        Box::pin(std::future::ready(()))
    }
}

fn keep<T>(list: &Mutex<VecDeque<T>>, item: T) {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if list.len() >= SEEN_MAX {
        list.pop_front();
    }
    list.push_back(item);
}
