//! A detached answer that workers come for, over real sockets: taken, refused, taken back, lost with its worker, claimed
//! by one of several, and acknowledged twice or too late. May import: the crate, the app, the scene.

use std::process::Stdio;
use std::time::Duration;

use answerable::access::Role;
use answerable::config::Executor;
use answerable::serve::Options;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::api::scene::{answers, ask, clarification, questions, respond, scene};
use crate::api::socket::Socket;
use crate::app::{App, Caller};

const NAME: &str = "workers";
const OFFERS: &str = "subscription($e: String!) { dispatchAvailable(executor: $e) { dispatchId sessionId } }";
const CLAIM: &str = "mutation($input: ClaimDispatchInput!) { claimDispatch(input: $input) { __typename
  ... on ClaimDispatchPayload { dispatchId leaseToken leaseUntil sessionId prompt generation pendingId sourceTurnId
    answers { questionId selected text } isInterrupt }
  ... on InvalidInput { errors { path limit } } ... on Refused { refusal } ... on NotFound { message } } }";
const ACK: &str = "mutation($input: LeaseInput!) { ackDispatch(input: $input) { __typename
  ... on AckDispatchPayload { replayed } ... on Refused { refusal } } }";
const REJECT: &str = "mutation($input: LeaseInput!, $reason: String!) {
  rejectDispatch(input: $input, reason: $reason) { __typename ... on Refused { refusal } } }";
const EXTEND: &str = "mutation($input: LeaseInput!, $s: Int!) { extendLease(input: $input, leaseSeconds: $s) {
  __typename ... on ExtendLeasePayload { leaseUntil } ... on InvalidInput { errors { path limit } }
  ... on Refused { refusal } } }";
const OUTCOMES: &str =
    "query($id: ID!) { session(id: $id) { turns(first: 50) { edges { node { id dispatchOutcome } } } } }";

struct Stage {
    app: App,
    local: Caller,
    session: String,
    pending: String,
}

fn workers(options: &mut Options) {
    options.endpoints.insert(NAME.into(), Executor::Pull);
    options.limits.dispatch = Duration::from_secs(20);
}

/// A detached bundle whose answer is offered to workers.
async fn stage(change: impl FnOnce(&mut Options)) -> Stage {
    let app = App::start_with(|options| {
        workers(options);
        change(options);
    })
    .await;
    let local = app.local();
    let session = scene(&local, Some(NAME)).await.session;
    let pending = ask(&local, &session, questions()).await;
    Stage { app, local, session, pending }
}

/// A worker that heard of the offers and has yet to do something about them.
async fn listening(app: &App) -> Socket {
    let mut socket = Socket::greeted(app, json!({})).await;
    socket.subscribe("offers", OFFERS, json!({ "e": NAME })).await;
    socket
}

async fn offer(socket: &mut Socket) -> String {
    let told = socket.hear().await;
    let id = &told["payload"]["data"]["dispatchAvailable"]["dispatchId"];
    id.as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
}

async fn claim(caller: &Caller, id: &str, seconds: Option<i32>) -> Value {
    let input = json!({ "executor": NAME, "dispatchId": id, "leaseSeconds": seconds });
    caller.ask_for(CLAIM, json!({ "input": input })).await
}

fn lease(claimed: &Value) -> Value {
    json!({ "dispatchId": claimed["dispatchId"], "leaseToken": claimed["leaseToken"] })
}

async fn ack(caller: &Caller, claimed: &Value) -> Value {
    caller.ask_for(ACK, json!({ "input": lease(claimed) })).await
}

impl Stage {
    /// Answers in the background.
    fn responding(&self, key: &str) -> JoinHandle<Value> {
        let (local, pending, key) = (self.local.clone(), self.pending.clone(), key.to_owned());
        tokio::spawn(async move { respond(&local, &pending, &key, answers()).await })
    }

    async fn state(&self) -> Value {
        clarification(&self.local, &self.pending).await["state"].clone()
    }

    /// What is known of the dispatches that became turns, in their order.
    async fn outcomes(&self) -> Vec<Value> {
        let read = self.local.ask_for(OUTCOMES, json!({ "id": self.session })).await;
        let turns = read["turns"]["edges"].as_array().unwrap().clone();
        turns
            .iter()
            .map(|turn| turn["node"]["dispatchOutcome"].clone())
            .filter(|outcome| !outcome.is_null())
            .collect()
    }
}

fn is_failed(responded: &Value, code: &str, retryable: bool) {
    assert_eq!((&responded["code"], &responded["retryable"]), (&json!(code), &json!(retryable)), "{responded}");
}

#[tokio::test]
async fn an_answer_goes_to_the_worker_that_claims_it_and_an_acknowledgement_said_twice_is_one() {
    let stage = stage(|_| {}).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("k");
    let id = offer(&mut socket).await;
    let claimed = claim(&stage.local, &id, None).await;
    assert_eq!((&claimed["dispatchId"], &claimed["pendingId"]), (&json!(id), &json!(stage.pending)), "{claimed}");
    assert_eq!(claimed["answers"][1], json!({ "questionId": "q2", "selected": ["a", "c"], "text": "and more" }));
    assert!(claimed["prompt"].as_str().unwrap().contains("because"));
    let told = [ack(&stage.local, &claimed).await, ack(&stage.local, &claimed).await];
    assert_eq!([&told[0]["replayed"], &told[1]["replayed"]], [false, true], "{told:?}");
    let responded = responding.await.unwrap();
    assert_eq!(responded["dispatchedTurn"]["id"], json!(id), "{responded}");
    assert_eq!(ack(&stage.local, &claimed).await["replayed"], true);
    assert_eq!(stage.outcomes().await, ["ACCEPTED"]);
    stage.app.finish().await;
}

#[tokio::test]
async fn of_several_workers_one_gets_a_dispatch() {
    let stage = stage(|_| {}).await;
    let mut sockets = [listening(&stage.app).await, listening(&stage.app).await];
    let responding = stage.responding("k");
    let id = offer(&mut sockets[0]).await;
    assert_eq!(offer(&mut sockets[1]).await, id);
    let racing = (0..8).map(|_| claim(&stage.local, &id, None));
    let all = futures_util::future::join_all(racing).await;
    let (won, lost): (Vec<_>, Vec<_>) = all.iter().partition(|told| told["__typename"] == "ClaimDispatchPayload");
    assert_eq!(won.len(), 1, "{all:?}");
    assert!(lost.iter().all(|told| told["refusal"] == "STALE"), "{lost:?}");
    ack(&stage.local, won[0]).await;
    assert_eq!(responding.await.unwrap()["__typename"], "ResponseAccepted");
    stage.app.finish().await;
}

#[tokio::test]
async fn a_refusal_gives_the_answer_back_with_its_reason_and_the_next_one_is_another_dispatch() {
    let stage = stage(|_| {}).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    let first = offer(&mut socket).await;
    let claimed = claim(&stage.local, &first, None).await;
    let rejected = stage.local.ask_for(REJECT, json!({ "input": lease(&claimed), "reason": "no room" })).await;
    assert_eq!(rejected["__typename"], "RejectDispatchPayload", "{rejected}");
    is_failed(&responding.await.unwrap(), "REJECTED", true);
    assert_eq!(stage.state().await, "ACTIVE_DETACHED");
    assert_eq!(ack(&stage.local, &claimed).await["__typename"], "NotFound");
    let responding = stage.responding("two");
    let second = offer(&mut socket).await;
    assert_ne!(first, second);
    ack(&stage.local, &claim(&stage.local, &second, None).await).await;
    assert_eq!(responding.await.unwrap()["__typename"], "ResponseAccepted");
    assert_eq!(stage.outcomes().await, ["ACCEPTED"]);
    stage.app.finish().await;
}

#[tokio::test]
async fn an_offer_that_workers_leave_past_the_deadline_is_taken_back_for_good() {
    let stage = stage(|options| options.limits.dispatch = Duration::from_millis(500)).await;
    let mut hung = listening(&stage.app).await;
    let responding = stage.responding("one");
    let id = offer(&mut hung).await;
    is_failed(&responding.await.unwrap(), "REJECTED", true);
    assert_eq!(stage.state().await, "ACTIVE_DETACHED");
    assert_eq!(claim(&stage.local, &id, None).await["__typename"], "NotFound");
    assert!(stage.outcomes().await.is_empty());
    stage.app.finish().await;
}

#[tokio::test]
async fn what_was_claimed_and_not_acknowledged_in_time_is_unknown_whatever_is_said_later() {
    let stage = stage(|_| {}).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    let id = offer(&mut socket).await;
    let claimed = claim(&stage.local, &id, Some(1)).await;
    is_failed(&responding.await.unwrap(), "UNKNOWN", false);
    assert_eq!(stage.state().await, "TERMINAL");
    assert_eq!(ack(&stage.local, &claimed).await["refusal"], "STALE");
    let rejected = stage.local.ask_for(REJECT, json!({ "input": lease(&claimed), "reason": "" })).await;
    assert_eq!(rejected["refusal"], "STALE", "{rejected}");
    assert_eq!(claim(&stage.local, &id, None).await["refusal"], "STALE");
    assert_ne!(respond(&stage.local, &stage.pending, "two", answers()).await["__typename"], "ResponseAccepted");
    assert_eq!(stage.outcomes().await, ["UNKNOWN"]);
    stage.app.finish().await;
}

#[tokio::test]
async fn a_lease_is_extended_up_to_the_longest_one_and_then_acknowledged() {
    let stage = stage(|options| options.limits.lease_max = Duration::from_secs(40)).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    let id = offer(&mut socket).await;
    let refused = claim(&stage.local, &id, Some(41)).await;
    assert_eq!(refused["errors"], json!([{ "path": "leaseSeconds", "limit": 40 }]), "{refused}");
    let claimed = claim(&stage.local, &id, Some(10)).await;
    let extend = async |s: i32| stage.local.ask_for(EXTEND, json!({ "input": lease(&claimed), "s": s })).await;
    let until = [extend(30).await, extend(40).await, extend(40).await, extend(1).await]
        .map(|told| told["leaseUntil"].as_str().unwrap_or_default().to_owned());
    assert!(claimed["leaseUntil"].as_str().unwrap() < until[0].as_str() && until[0] < until[1], "{until:?}");
    assert_eq!(until[1], until[2], "it went beyond the longest lease");
    assert_eq!(until[2], until[3], "an extension took time away");
    assert_eq!(extend(-1).await["errors"][0]["path"], "leaseSeconds");
    ack(&stage.local, &claimed).await;
    assert_eq!(responding.await.unwrap()["__typename"], "ResponseAccepted");
    assert_eq!(extend(10).await["refusal"], "STALE");
    stage.app.finish().await;
}

#[tokio::test]
async fn a_worker_killed_with_the_prompt_in_its_hands_leaves_it_unknown_and_nobody_gets_it_again() {
    let stage = stage(|_| {}).await;
    let (mut one, mut other) = (listening(&stage.app).await, listening(&stage.app).await);
    let responding = stage.responding("one");
    let id = offer(&mut one).await;
    let body = json!({ "query": CLAIM, "variables": { "input":
        { "executor": NAME, "dispatchId": id, "leaseSeconds": 1 } } });
    let script = format!(
        "fetch({:?}, {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, body: {:?} }})
           .then((told) => told.text()).then((told) => console.log(told)); setInterval(() => {{}}, 1000);",
        stage.local.url,
        body.to_string()
    );
    let mut worker = node(&["-e", &script], &[]);
    let told = line(&mut worker).await;
    worker.kill().await.unwrap();
    assert!(told.contains("because"), "{told}");
    is_failed(&responding.await.unwrap(), "UNKNOWN", false);
    assert_eq!(offer(&mut other).await, id);
    assert_eq!(claim(&stage.local, &id, None).await["refusal"], "STALE");
    assert_eq!(stage.outcomes().await, ["UNKNOWN"]);
    stage.app.finish().await;
}

#[tokio::test]
async fn a_server_that_restarts_between_claim_and_acknowledgement_leaves_it_unknown() {
    let stage = stage(|options| options.shutdown = Duration::from_millis(200)).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    let claimed = claim(&stage.local, &offer(&mut socket).await, None).await;
    let app = stage.app.restart(workers).await;
    drop(responding);
    assert_eq!(app.recovery().kept, 1);
    let local = app.local();
    assert_eq!(clarification(&local, &stage.pending).await["state"], "TERMINAL");
    assert_eq!(ack(&local, &claimed).await["refusal"], "STALE");
    let after = Stage { app, local, session: stage.session, pending: stage.pending };
    assert_eq!(after.outcomes().await, ["UNKNOWN"]);
    after.app.finish().await;
}

#[tokio::test]
async fn a_server_that_stops_takes_back_what_nobody_claimed() {
    let stage = stage(|_| {}).await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    offer(&mut socket).await;
    let app = stage.app.restart(workers).await;
    is_failed(&responding.await.unwrap(), "REJECTED", true);
    assert_eq!(clarification(&app.local(), &stage.pending).await["state"], "ACTIVE_DETACHED");
    app.finish().await;
}

#[tokio::test]
async fn only_runtimes_of_its_workspace_and_executor_learn_that_there_is_a_dispatch() {
    let stage = stage(|options| {
        options.endpoints.insert("others".into(), Executor::Pull);
    })
    .await;
    let mut socket = listening(&stage.app).await;
    let responding = stage.responding("one");
    let id = offer(&mut socket).await;
    let wrong = json!({ "input": { "executor": "others", "dispatchId": id } });
    assert_eq!(stage.local.ask_for(CLAIM, wrong).await["__typename"], "NotFound");
    let stranger = stage.app.caller(Role::Runtime, Some(&["elsewhere"]), None).await;
    assert_eq!(claim(&stranger, &id, None).await["__typename"], "NotFound");
    let person = stage.app.caller(Role::Person, None, None).await;
    let variables = json!({ "input": { "executor": NAME, "dispatchId": id } });
    assert_eq!(person.code(CLAIM, variables).await, "FORBIDDEN");
    let runtime = stage.app.caller(Role::Runtime, None, None).await;
    let claimed = claim(&runtime, &id, None).await;
    let other = json!({ "dispatchId": id, "leaseToken": "ans_guessed" });
    assert_eq!(runtime.ask_for(ACK, json!({ "input": other })).await["__typename"], "NotFound");
    assert_eq!(ack(&runtime, &claimed).await["replayed"], false);
    assert_eq!(responding.await.unwrap()["__typename"], "ResponseAccepted");
    stage.app.finish().await;
}

/// A Node process; flags that newer ones have on are no error to them.
fn node(args: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new("node");
    command.arg("--experimental-websocket").args(args).envs(environment.iter().copied());
    command.stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("node is needed for this test")
}

async fn line(worker: &mut Child) -> String {
    let mut lines = BufReader::new(worker.stdout.as_mut().unwrap()).lines();
    let next = tokio::time::timeout(Duration::from_secs(30), lines.next_line());
    next.await.unwrap().unwrap().expect("the worker ended")
}

/// The worker of `examples/`, which gives prompts to that command.
fn example(app: &App, command: &[&str]) -> Child {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pull-worker/worker.mjs");
    let url = format!("http://{}", app.address());
    node(&[&[script, NAME], command].concat(), &[("ANSWERABLE_URL", &url)])
}

#[tokio::test]
async fn the_example_gives_the_prompt_to_its_command_and_tells_what_that_said() {
    let stage = stage(|_| {}).await;
    let mut worker = example(&stage.app, &["grep", "because"]);
    let responded = stage.responding("one").await.unwrap();
    assert_eq!(responded["__typename"], "ResponseAccepted", "{responded}");
    let query = "query($id: ID!) { session(id: $id) { messages(last: 1) { edges { node { content turn { id end } } } } } }";
    let done = async {
        loop {
            let read = stage.local.ask_for(query, json!({ "id": stage.session })).await;
            let last = read["messages"]["edges"][0]["node"].clone();
            if last["turn"]["end"] == "COMPLETED" && last["turn"]["id"] == responded["dispatchedTurn"]["id"] {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let last = tokio::time::timeout(Duration::from_secs(30), done).await.expect("the turn never ends");
    assert!(last["content"].as_str().unwrap().contains("because"), "{last}");
    worker.kill().await.unwrap();
    stage.app.finish().await;
}

#[tokio::test]
async fn the_example_refuses_what_it_cannot_begin() {
    let stage = stage(|_| {}).await;
    let mut worker = example(&stage.app, &["/nonexistent/agent"]);
    let responded = stage.responding("one").await.unwrap();
    is_failed(&responded, "REJECTED", true);
    assert_eq!(stage.state().await, "ACTIVE_DETACHED");
    worker.kill().await.unwrap();
    stage.app.finish().await;
}

#[tokio::test]
async fn a_name_without_workers_is_not_found() {
    let app = App::start_with(workers).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    for name in ["nobody", crate::app::EXECUTOR] {
        socket.subscribe(name, OFFERS, json!({ "e": name })).await;
        let told = socket.hear().await;
        assert_eq!(told["payload"][0]["extensions"]["code"], "NOT_FOUND", "{told}");
    }
    app.finish().await;
}
