//! While a successor is reserved: hidden, in nobody's way but a prompt's, and never completed by its predecessor.
//! May import: the crate, the app, its siblings.

use std::time::Duration;

use answerable::dispatch::Outcome;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::stage::*;
use crate::api::scene::*;
use crate::app::Caller;

const READY: &str =
    "mutation($id: ID!, $g: String) { reportAgentReady(sessionId: $id, generation: $g) { __typename
  ... on AgentReadyPayload { completed { turnId workflowMayAdvance } } ... on Refused { refusal } } }";

fn responding(caller: &Caller, id: &str) -> JoinHandle<Value> {
    let (caller, id) = (caller.clone(), id.to_owned());
    tokio::spawn(async move { respond(&caller, &id, "k", answers()).await })
}

fn ready(caller: &Caller, session: &str, generation: Option<&Value>) -> JoinHandle<Value> {
    let (caller, variables) = (caller.clone(), json!({ "id": session, "g": generation }));
    tokio::spawn(async move { caller.ask_for(READY, variables).await })
}

async fn generation(caller: &Caller, session: &str) -> Value {
    current(caller, session).await["currentTurn"]["generation"].clone()
}

#[tokio::test]
async fn an_attempted_successor_is_in_no_history_until_it_is_announced_or_a_message_proves_it() {
    let (app, gate) = gated().await;
    let local = app.local();
    for has_evidence in [false, true] {
        let scene = scene(&local, Some(GATE)).await;
        let id = ask(&local, &scene.session, questions()).await;
        let responder = responding(&local, &id);
        let calls = if has_evidence { 2 } else { 1 };
        let successor = gate.called(calls).await.turn_id.to_string();
        assert_eq!(turns(&local, &scene.session).await, [scene.turn.as_str()]);
        let by_id = "query($id: ID!) { node(id: $id) { id } }";
        assert!(local.ask_for(by_id, json!({ "id": successor })).await.is_null(), "not by its id either");
        if has_evidence {
            let append = "mutation($s: ID!, $t: ID!) { appendMessage(input: { sessionId: $s, turnId: $t, content: \"x\" }) {
                __typename } }";
            local.call(append, json!({ "s": scene.session, "t": successor })).await;
            gate.refuses();
        } else {
            gate.answers(Outcome::Accepted);
        }
        let told = responder.await.unwrap();
        assert_eq!(told["__typename"] == "ResponseAccepted", !has_evidence, "{told}");
        assert_eq!(turns(&local, &scene.session).await, [scene.turn.clone(), successor]);
        assert_eq!(clarification(&local, &id).await["state"], "TERMINAL", "what was seen at work is not undone");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_predecessors_ready_event_waits_for_the_dispatch_and_completes_only_its_own_turn() {
    let (app, gate) = gated().await;
    let local = app.local();
    for is_accepted in [true, false] {
        let scene = scene(&local, Some(GATE)).await;
        let own = generation(&local, &scene.session).await;
        let id = ask(&local, &scene.session, questions()).await;
        let responder = responding(&local, &id);
        let successor = gate.called(if is_accepted { 1 } else { 2 }).await.turn_id.to_string();
        let ready = ready(&local, &scene.session, Some(&own));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!ready.is_finished(), "it waits");
        if is_accepted {
            gate.answers(Outcome::Accepted);
            assert!(ready.await.unwrap()["completed"].is_null(), "its prompt is not the current one any more");
            let now = current(&local, &scene.session).await;
            assert_eq!(now["currentTurn"]["id"], successor.as_str());
            assert!(now["currentTurn"]["end"].is_null(), "the successor works on: {now}");
        } else {
            gate.refuses();
            let done = ready.await.unwrap();
            assert_eq!(done["completed"], json!({ "turnId": scene.turn, "workflowMayAdvance": false }), "{done}");
            assert_eq!(current(&local, &scene.session).await["currentTurn"]["end"], "COMPLETED");
            assert_eq!(pending(&local, &scene).await, only(&id));
        }
        responder.await.unwrap();
    }
    app.finish().await;
}

#[tokio::test]
async fn a_ready_event_without_a_generation_that_met_a_dispatch_is_dropped_when_that_is_rolled_back() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let before = current(&local, &scene.session).await;
    let responder = responding(&local, &id);
    gate.called(1).await;
    let ready = ready(&local, &scene.session, None);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!ready.is_finished(), "it waits");
    gate.refuses();
    assert!(ready.await.unwrap()["completed"].is_null());
    assert_eq!(responder.await.unwrap()["retryable"], true);
    assert_eq!(current(&local, &scene.session).await, before, "neither turn nor session moved");
    app.finish().await;
}

#[tokio::test]
async fn a_rollback_that_cannot_be_written_lets_nothing_into_its_session_until_the_next_start() {
    let (app, gate) = gated_with(|options| {
        crate::app::set_busy_timeout(options, 200);
        options.limits.persistence = Duration::from_millis(1_500);
        options.limits.ready = Duration::from_millis(300);
    })
    .await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    let responder = responding(&local, &id);
    gate.called(1).await;
    let held = app.home().hold();
    gate.refuses();
    let failed = responder.await.unwrap();
    drop(held);
    assert_eq!((&failed["retryable"], &failed["code"]), (&json!(false), &json!("PERSISTENCE")), "{failed}");
    let prompt = json!({ "input": { "sessionId": scene.session, "text": "go", "clientKey": "p" } });
    assert_eq!(local.ask_for(SEND_PROMPT, prompt).await["refusal"], "DISPATCH_UNRESOLVED");
    let start = json!({ "input": { "sessionId": scene.session } });
    assert_eq!(local.ask_for(START_TURN, start).await["refusal"], "DISPATCH_UNRESOLVED");
    let own = json!("1");
    assert_eq!(ready(&local, &scene.session, Some(&own)).await.unwrap()["refusal"], "DISPATCH_UNRESOLVED");
    assert_eq!(gate.count(), 1);

    let app = app.restart(|_| {}).await;
    let local = app.local();
    assert_eq!(
        clarification(&local, &id).await["state"],
        "TERMINAL",
        "the attempt is on disk, the refusal is not"
    );
    assert_eq!(current(&local, &scene.session).await["currentTurn"]["dispatchOutcome"], "UNKNOWN");
    let asked = ask(&local, &scene.session, json!([{ "prompt": "on?" }])).await;
    assert_eq!(skip(&local, &asked, "k", "").await["__typename"], "ResponseAccepted", "the session goes on");
    app.finish().await;
}
