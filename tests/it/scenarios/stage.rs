//! What the scenarios need beside a server: an executor that answers when it is told to, a bus that refuses, a store
//! that is held up, and a look at everything that derives from "is something pending?". May import: the crate, the app.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use answerable::bus::{Engine, Refused};
use answerable::dispatch::{Dispatch, Executor, Outcome, Revocation};
use answerable::ids::TurnId;
use answerable::lifecycle::{EventKind, OutboxRow};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::api::scene::Scene;
use crate::app::Caller;

/// The gate's name as an executor.
pub const GATE: &str = "gate";

const BOUND: Duration = Duration::from_secs(20);

/// An executor whose calls stay open until they are answered.
#[derive(Debug, Default)]
pub struct Gate {
    calls: Mutex<Vec<Dispatch>>,
    answers: Mutex<VecDeque<Outcome>>,
    moved: Notify,
}

impl Gate {
    /// The next answer.
    pub fn answers(&self, outcome: Outcome) {
        self.answers.lock().unwrap().push_back(outcome);
        self.moved.notify_waiters();
    }

    pub fn refuses(&self) {
        self.answers(Outcome::Rejected { reason: "no".into() });
    }

    /// Until it was called that often; the last call.
    pub async fn called(&self, times: usize) -> Dispatch {
        let wait = async {
            loop {
                let moved = self.moved.notified();
                let last = self.calls.lock().unwrap().get(times - 1).cloned();
                if let Some(dispatch) = last {
                    return dispatch;
                }
                moved.await;
            }
        };
        tokio::time::timeout(BOUND, wait).await.expect("the executor was not called")
    }

    pub fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

impl Executor for Gate {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(dispatch);
            self.moved.notify_waiters();
            loop {
                let moved = self.moved.notified();
                let answer = self.answers.lock().unwrap().pop_front();
                if let Some(outcome) = answer {
                    return outcome;
                }
                moved.await;
            }
        })
    }

    fn revoke(&self, _turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        Box::pin(async { Revocation::Unknown })
    }
}

/// A bus that takes what it is told to, and remembers in which order.
#[derive(Debug, Default)]
pub struct Picky {
    refused: Mutex<Vec<&'static str>>,
    taken: Mutex<Vec<EventKind>>,
}

fn name(kind: &EventKind) -> String {
    serde_json::to_value(kind).unwrap()["kind"].as_str().unwrap().to_owned()
}

impl Picky {
    /// From now on it refuses events of these kinds.
    pub fn refuses(&self, kinds: &[&'static str]) {
        *self.refused.lock().unwrap() = kinds.to_vec();
    }

    /// The turn events that it took, in order.
    pub fn turns(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        let turn = |kind: &EventKind| match kind {
            EventKind::TurnStarted { turn_id } => Some(format!("{turn_id} started")),
            EventKind::TurnCompleted { turn_id } => Some(format!("{turn_id} completed")),
            _ => None,
        };
        taken.iter().filter_map(turn).collect()
    }
}

impl Engine for Picky {
    fn accept(&self, row: &OutboxRow) -> Result<(), Refused> {
        if self.refused.lock().unwrap().contains(&name(&row.event.kind).as_str()) {
            return Err(Refused);
        }
        self.taken.lock().unwrap().push(row.event.kind.clone());
        Ok(())
    }
}

const EVERYTHING: &str = "query($task: ID!, $session: ID!) {
  task(id: $task) { pendingAction pendingActionSession { id } }
  taskSessions(taskId: $task) { id projection { action } }
  session(id: $session) { state workflowMayAdvance projection { action revision { epoch sequence } }
    activeClarification { pendingId } currentTurn { id end } turns(first: 50) { edges { node { id } } } }
  pendingClarifications(first: 50, filter: { sessionId: $session }) { edges { node { pendingId } } } }";

/// Everything that tells whether something is pending, as one set of values.
pub async fn pending(caller: &Caller, scene: &Scene) -> Value {
    let data = caller.call(EVERYTHING, json!({ "task": scene.task, "session": scene.session })).await;
    let session = &data["session"];
    let listed = data["taskSessions"].as_array().unwrap().iter().find(|row| row["id"] == scene.session.as_str());
    let inbox = data["pendingClarifications"]["edges"].as_array().unwrap();
    json!({
        "task": data["task"]["pendingAction"],
        "listed": listed.unwrap()["projection"]["action"],
        "session": session["projection"]["action"],
        "overlay": session["activeClarification"]["pendingId"],
        "inbox": inbox.iter().map(|edge| edge["node"]["pendingId"].clone()).collect::<Vec<_>>(),
        "mayAdvance": session["workflowMayAdvance"],
    })
}

/// What [`pending`] shows when that bundle is pending and nothing else.
pub fn only(id: &str) -> Value {
    let action = "CLARIFICATION";
    json!({ "task": action, "listed": action, "session": action, "overlay": id, "inbox": [id], "mayAdvance": false })
}

/// What it shows when nothing is.
pub fn nothing() -> Value {
    json!({ "task": null, "listed": null, "session": null, "overlay": null, "inbox": [], "mayAdvance": true })
}

/// The session's turns as clients see them, oldest first.
pub async fn turns(caller: &Caller, session: &str) -> Vec<String> {
    let query = "query($id: ID!) { session(id: $id) { turns(first: 50) { edges { node { id } } } } }";
    let found = caller.ask_for(query, json!({ "id": session })).await;
    let edges = found["turns"]["edges"].as_array().unwrap().clone();
    edges.iter().map(|edge| edge["node"]["id"].as_str().unwrap().to_owned()).collect()
}

/// The session's current turn as clients see it.
pub async fn current(caller: &Caller, session: &str) -> Value {
    let query = "query($id: ID!) { session(id: $id) { state currentTurn { id end dispatchOutcome generation } } }";
    caller.ask_for(query, json!({ "id": session })).await
}

/// A server whose bus is picky, and that bus.
pub async fn picky_with(change: impl FnOnce(&mut answerable::serve::Options)) -> (crate::app::App, Arc<Picky>) {
    let picky = Arc::new(Picky::default());
    let bus = picky.clone();
    let app = crate::app::App::start_with(move |options| {
        options.bus = bus;
        change(options);
    });
    (app.await, picky)
}

/// A server with a gate, and the gate.
pub async fn gated() -> (crate::app::App, Arc<Gate>) {
    gated_with(|_| {}).await
}

pub async fn gated_with(change: impl FnOnce(&mut answerable::serve::Options)) -> (crate::app::App, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let own = gate.clone();
    let app = crate::app::App::start_with(move |options| {
        options.limits.dispatch = BOUND;
        options.executors = options.executors.clone().with(GATE, own);
        change(options);
    });
    (app.await, gate)
}
