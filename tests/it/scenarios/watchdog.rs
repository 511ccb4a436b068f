//! The watchdog: an agent that took an answer and is silent is prompted with it, once, while its turn is the current
//! one. The clock stands in the tests' hands. May import: the crate, the app, its siblings.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use answerable::access::Viewer;
use answerable::dispatch::{Outcome, Revocation, Script};
use answerable::ids::{Micros, PendingId};
use answerable::lifecycle::OutcomeStatus;
use answerable::ports::{Clock, System};
use answerable::serve::Options;
use serde_json::{Value, json};

use super::stage::*;
use crate::api::scene::*;
use crate::app::{App, Caller, EXECUTOR};
use crate::home::Home;

const SESSION: &str = "mutation($input: CreateSessionInput!) { createSession(input: $input) { __typename
  ... on SessionPayload { sessionId } } }";

/// The machine's clock, and how far it is ahead.
#[derive(Debug, Default)]
struct Hands(AtomicI64);

impl Hands {
    fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Micros {
        Micros(System.now().0 + self.0.load(Ordering::SeqCst))
    }
}

fn by(hands: &Arc<Hands>) -> impl Fn(&mut Options) + use<> {
    let clock = hands.clone();
    move |options| {
        options.clock = clock.clone();
        options.limits.watchdog = Duration::from_secs(600);
        options.limits.watchdog_period = Duration::from_millis(20);
    }
}

async fn watched(local: &Caller, executor: Option<&str>, is_on: bool) -> Scene {
    let scene = scene(local, None).await;
    let input = json!({ "input": { "taskId": scene.task, "executor": executor, "watchdog": is_on } });
    let session = local.ask_for(SESSION, input).await["sessionId"].as_str().unwrap().to_owned();
    let turn = start_turn(local, &session).await;
    Scene { task: scene.task, session, turn }
}

/// Its agent took that answer, and nobody heard of it again.
async fn take(app: &App, id: &str, answers: Value) {
    let waiting = app.authority().await_answer(&Viewer::local(), &PendingId::new(id)).await.unwrap().waiting;
    let waiter = tokio::spawn(waiting.unwrap().outcome(Duration::from_secs(60)));
    assert_eq!(respond(&app.local(), id, "k", answers).await["__typename"], "ResponseAccepted");
    let (outcome, receipt) = waiter.await.unwrap().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Answered);
    drop(receipt);
}

async fn silent(app: &App, scene: &Scene) -> String {
    let id = ask(&app.local(), &scene.session, questions()).await;
    take(app, &id, answers()).await;
    id
}

fn count(home: &Home, which: &str) -> usize {
    home.lines(&format!("SELECT id AS line FROM task_session_turns WHERE {which}")).len()
}

/// Watchdogs that may still fire.
fn armed(app: &App) -> usize {
    count(app.home(), "has_watchdog")
}

/// Gives the session to an executor that this server does not have.
fn lose(app: &App, session: &str) {
    app.home().run(&format!("UPDATE task_sessions SET executor = 'elsewhere' WHERE id = '{session}'"));
}

/// Until that current turn is shown so.
async fn shown(local: &Caller, session: &str, turn: &str, outcome: Value) -> Value {
    let look = async {
        loop {
            let now = current(local, session).await;
            if now["currentTurn"]["id"] == turn && now["currentTurn"]["dispatchOutcome"] == outcome {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look).await.expect("never so")
}

/// One may be read at a time, and the first is of a session that this server cannot prompt.
#[tokio::test]
async fn a_watchdog_of_an_agent_that_is_out_of_reach_holds_no_other_up() {
    let hands = Arc::new(Hands::default());
    let settle = by(&hands);
    let (app, gate) = gated_with(|options| {
        settle(options);
        options.limits.watchdog_batch = 1;
    })
    .await;
    let local = app.local();
    let scenes = [watched(&local, Some(GATE), true).await, watched(&local, Some(GATE), true).await];
    silent(&app, &scenes[0]).await;
    hands.forward(1);
    let id = silent(&app, &scenes[1]).await;
    lose(&app, &scenes[0].session);
    hands.forward(700);
    let call = gate.called(1).await;
    assert_eq!(call.pending_id, Some(PendingId::new(&id)));
    gate.answers(Outcome::Accepted);
    shown(&local, &scenes[1].session, call.turn_id.as_str(), json!("ACCEPTED")).await;
    assert_eq!((armed(&app), gate.count()), (1, 1));
    app.finish().await;
}

#[tokio::test]
async fn a_silent_agent_is_prompted_once_with_the_answer_that_it_took() {
    let hands = Arc::new(Hands::default());
    let (app, gate) = gated_with(by(&hands)).await;
    let local = app.local();
    let scene = watched(&local, Some(GATE), true).await;
    let id = silent(&app, &scene).await;
    assert_eq!((armed(&app), gate.count()), (1, 0), "a live answer dispatches nothing by itself");
    hands.forward(601);
    let call = gate.called(1).await;
    assert_eq!(call.pending_id, Some(PendingId::new(&id)));
    assert_eq!(call.source_turn_id.unwrap().to_string(), scene.turn);
    assert!(call.prompt.contains("because") && call.answers.len() == 3, "{}", call.prompt);
    assert!(call.is_interrupt, "the silent turn is stopped first");
    gate.answers(Outcome::Accepted);
    let now = shown(&local, &scene.session, call.turn_id.as_str(), json!("ACCEPTED")).await;
    assert_eq!(now["state"], "RUNNING");
    assert_eq!(turns(&local, &scene.session).await, [scene.turn.clone(), call.turn_id.to_string()]);
    hands.forward(6_000);
    assert_eq!((armed(&app), gate.count()), (0, 1), "once");
    app.finish().await;
}

#[tokio::test]
async fn a_refused_fallback_is_not_repeated() {
    let hands = Arc::new(Hands::default());
    let (app, gate) = gated_with(by(&hands)).await;
    let local = app.local();
    let scene = watched(&local, Some(GATE), true).await;
    let id = silent(&app, &scene).await;
    hands.forward(601);
    gate.called(1).await;
    gate.refuses();
    let now = shown(&local, &scene.session, &scene.turn, Value::Null).await;
    assert!(now["currentTurn"]["end"].is_null(), "its agent may still work: {now}");
    assert_eq!(clarification(&local, &id).await["state"], "TERMINAL", "the answer was delivered once");
    hands.forward(6_000);
    assert_eq!((armed(&app), gate.count()), (0, 1));
    app.finish().await;
}

#[tokio::test]
async fn two_answers_taken_in_one_turn_make_one_fallback_that_tells_both() {
    let hands = Arc::new(Hands::default());
    let (app, gate) = gated_with(by(&hands)).await;
    let local = app.local();
    let scene = watched(&local, Some(GATE), true).await;
    let first = ask(&local, &scene.session, questions()).await;
    let second = ask(&local, &scene.session, json!([{ "prompt": "Where?" }])).await;
    // Both are waited for before either is answered: to wait again would be a sign of life.
    let waits = [&first, &second].map(PendingId::new);
    let mut waiters = Vec::new();
    for id in &waits {
        let waiting = app.authority().await_answer(&Viewer::local(), id).await.unwrap().waiting;
        waiters.push(tokio::spawn(waiting.unwrap().outcome(Duration::from_secs(60))));
    }
    respond(&local, &first, "k", answers()).await;
    hands.forward(400);
    respond(&local, &second, "k", json!([{ "questionId": "q1", "customText": "over there" }])).await;
    for waiter in waiters {
        drop(waiter.await.unwrap().unwrap());
    }
    hands.forward(400);
    assert_eq!((armed(&app), gate.count()), (1, 0), "the second answer gives the agent the whole time again");
    hands.forward(201);
    let call = gate.called(1).await;
    assert!(call.prompt.contains("because") && call.prompt.contains("over there"), "{}", call.prompt);
    assert_eq!(call.pending_id, Some(PendingId::new(&second)));
    gate.answers(Outcome::Accepted);
    shown(&local, &scene.session, call.turn_id.as_str(), json!("ACCEPTED")).await;
    assert_eq!((armed(&app), gate.count()), (0, 1), "one for both");
    app.finish().await;
}

#[tokio::test]
async fn whatever_an_agent_does_quiets_its_watchdog_and_so_does_the_end_of_its_turn() {
    let hands = Arc::new(Hands::default());
    let (app, gate) = gated_with(by(&hands)).await;
    let local = app.local();
    let signs = [
        "mutation($s: ID!) { appendMessage(input: { sessionId: $s, content: \"x\" }) { __typename } }",
        "mutation($s: ID!) { recordPermissionRequest(sessionId: $s, permissionId: \"p\", content: \"x\") {
            __typename } }",
        "mutation($s: ID!) { askClarification(input: { sessionId: $s, questions: [{ prompt: \"?\" }] }) {
            __typename } }",
        "mutation($i: ID!) { awaitClarification(pendingId: $i, waitSeconds: 1) { __typename } }",
        "mutation($m: ID!) { updateMessage(messageId: $m, content: \"y\") { __typename } }",
        "mutation($s: ID!) { reportAgentReady(sessionId: $s) { __typename } }",
        "mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename } }",
        "mutation($s: ID!) { startTurn(input: { sessionId: $s, prompt: \"go on\" }) { __typename } }",
        "mutation($s: ID!) { setSessionState(sessionId: $s, state: FAILED) { __typename } }",
    ];
    for sign in signs {
        let scene = watched(&local, Some(GATE), true).await;
        let append = "mutation($s: ID!) { appendMessage(input: { sessionId: $s, content: \"x\" }) {
            ... on MessagePayload { messageId } } }";
        let message = local.ask_for(append, json!({ "s": scene.session })).await["messageId"].clone();
        // Something is still asked, so that a newer turn may supersede.
        ask(&local, &scene.session, json!([{ "prompt": "Beside?" }])).await;
        let id = silent(&app, &scene).await;
        assert_eq!(armed(&app), 1, "{sign}");
        let all = json!({ "s": scene.session, "t": scene.turn, "i": id, "m": message });
        let told = local.ask_for(sign, all).await;
        assert_ne!(told["__typename"], "Refused", "{sign}: {told}");
        assert_eq!(armed(&app), 0, "{sign}");
    }
    hands.forward(6_000);
    assert_eq!(gate.count(), 0);
    app.finish().await;
}

#[tokio::test]
async fn a_session_without_a_watchdog_prompts_nobody() {
    let hands = Arc::new(Hands::default());
    let (app, _gate) = gated_with(by(&hands)).await;
    let local = app.local();
    for (executor, is_on) in [(Some(GATE), false), (None, true)] {
        let scene = watched(&local, executor, is_on).await;
        silent(&app, &scene).await;
        assert_eq!(armed(&app), 0, "{executor:?}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_deadline_that_passed_while_no_server_ran_fires_once_after_the_whole_time_again() {
    let hands = Arc::new(Hands::default());
    let app = App::start_with(by(&hands)).await;
    let scene = watched(&app.local(), Some(EXECUTOR), true).await;
    silent(&app, &scene).await;
    hands.forward(6_000);
    let app = app.restart(by(&hands)).await;
    hands.forward(300);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!((armed(&app), app.executor.seen().len()), (1, 0), "its agent has time to show itself first");
    hands.forward(301);
    until_seen(&app, 1).await;
    let successor = app.executor.seen()[0].turn_id.to_string();
    shown(&app.local(), &scene.session, &successor, json!("ACCEPTED")).await;
    let app = app.restart(by(&hands)).await;
    hands.forward(6_000);
    assert_eq!((armed(&app), app.executor.seen().len()), (0, 0), "and never again");
    app.finish().await;
}

async fn until_seen(app: &App, calls: usize) {
    let seen = async {
        while app.executor.seen().len() < calls {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.expect("nobody was called");
}

/// A server whose fallback is at work, and what its executor will say when the call is taken back.
async fn at_work(hands: &Arc<Hands>, revocation: Revocation) -> (App, Scene) {
    let with_clock = by(hands);
    let app = App::start_with(|options| {
        with_clock(options);
        options.limits.dispatch = Duration::from_secs(60);
    })
    .await;
    app.executor.follow([Script::Hang(revocation)]);
    let scene = watched(&app.local(), Some(EXECUTOR), true).await;
    silent(&app, &scene).await;
    hands.forward(601);
    until_seen(&app, 1).await;
    (app, scene)
}

#[tokio::test]
async fn an_agent_that_shows_itself_during_the_call_has_it_taken_back_where_that_is_proven() {
    for revocation in [Revocation::Revoked, Revocation::Unknown, Revocation::AlreadyAccepted] {
        let hands = Arc::new(Hands::default());
        let (app, scene) = at_work(&hands, revocation).await;
        let local = app.local();
        let append =
            "mutation($s: ID!, $t: ID!) { appendMessage(input: { sessionId: $s, turnId: $t, content: \"x\" }) {
            __typename } }";
        local.call(append, json!({ "s": scene.session, "t": scene.turn })).await;
        let successor = app.executor.seen()[0].turn_id.to_string();
        let (turn, outcome) = match revocation {
            Revocation::Revoked => (&scene.turn, Value::Null),
            Revocation::Unknown => (&successor, json!("UNKNOWN")),
            Revocation::AlreadyAccepted => (&successor, json!("ACCEPTED")),
        };
        shown(&local, &scene.session, turn, outcome).await;
        hands.forward(6_000);
        assert_eq!((armed(&app), app.executor.seen().len()), (0, 1), "{revocation:?}: once");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_shutdown_during_the_call_leaves_no_dispatch_without_an_end() {
    for revocation in [Revocation::Revoked, Revocation::Unknown] {
        let hands = Arc::new(Hands::default());
        let (app, scene) = at_work(&hands, revocation).await;
        let successor = app.executor.seen()[0].turn_id.to_string();
        let app = app.restart(by(&hands)).await;
        assert_eq!(app.recovery(), Default::default(), "{revocation:?}: the shutdown left something half done");
        let now = current(&app.local(), &scene.session).await;
        let expected = match revocation {
            Revocation::Revoked => json!({ "id": scene.turn, "dispatchOutcome": null }),
            _ => json!({ "id": successor, "dispatchOutcome": "UNKNOWN" }),
        };
        assert_eq!(now["currentTurn"]["id"], expected["id"], "{revocation:?}: {now}");
        assert_eq!(now["currentTurn"]["dispatchOutcome"], expected["dispatchOutcome"], "{revocation:?}: {now}");
        hands.forward(6_000);
        assert_eq!((armed(&app), app.executor.seen().len()), (0, 0), "{revocation:?}: never again");
        app.finish().await;
    }
}
