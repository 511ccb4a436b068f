//! Pauses, lost callers, ended sessions, and lists that fail rather than lie.
//! May import: the crate, the app, its siblings.

use std::time::Duration;

use serde_json::json;

use super::stage::*;
use crate::api::scene::*;
use crate::api::socket::Socket;
use crate::app::{App, EXECUTOR};

const CANCEL: &str =
    "mutation($s: ID!, $t: ID) { cancelTurn(input: { sessionId: $s, expectedTurnId: $t }) { __typename
  ... on CancelTurnPayload { turnId } ... on Refused { refusal } } }";

#[tokio::test]
async fn a_pause_that_saw_no_turn_stops_no_first_turn_that_came_meanwhile() {
    let app = App::start().await;
    let local = app.local();
    let made = local.ask_for(CREATE_TASK, json!({ "input": { "title": "A task" } })).await;
    let session = local.ask_for(CREATE_SESSION, json!({ "input": { "taskId": made["taskId"] } })).await;
    let session = session["sessionId"].as_str().unwrap().to_owned();
    let nothing = local.ask_for(CANCEL, json!({ "s": session })).await;
    assert_eq!(nothing, json!({ "__typename": "CancelTurnPayload", "turnId": null }), "nothing is there to stop");
    let first = start_turn(&local, &session).await;
    assert_eq!(local.ask_for(CANCEL, json!({ "s": session })).await["refusal"], "EXPECTED_TURN_CHANGED");
    let second = start_turn_after(&local, &session, &first).await;
    let stale = local.ask_for(CANCEL, json!({ "s": session, "t": first })).await;
    assert_eq!(stale["refusal"], "EXPECTED_TURN_CHANGED");
    let now = current(&local, &session).await;
    assert_eq!((&now["currentTurn"]["id"], &now["currentTurn"]["end"]), (&json!(second), &json!(null)), "{now}");
    app.finish().await;
}

async fn start_turn_after(local: &crate::app::Caller, session: &str, turn: &str) -> String {
    let complete = "mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename } }";
    local.call(complete, json!({ "s": session, "t": turn })).await;
    start_turn(local, session).await
}

/// The pause that a lost wait leads to names the turn that asked.
#[tokio::test]
async fn a_lost_agents_turn_is_paused_after_the_grace_and_no_other_one() {
    let app = App::start_with(|options| options.limits.reattach_grace = Duration::from_millis(400)).await;
    let local = app.local();
    let paused = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &paused.session, questions()).await;
    wait(&local, &id).await.abort();
    let overtaken = scene(&local, Some(EXECUTOR)).await;
    let other = ask(&local, &overtaken.session, questions()).await;
    wait(&local, &other).await.abort();
    until(&local, &other, "ACTIVE_DETACHED").await;
    let successor = start_turn(&local, &overtaken.session).await;
    let ended = async {
        while current(&local, &paused.session).await["currentTurn"]["end"] != "CANCELLED" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it was not paused");
    assert_eq!(pending(&local, &paused).await, only(&id), "a paused question stays answerable");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let now = current(&local, &overtaken.session).await;
    assert_eq!((&now["currentTurn"]["id"], &now["currentTurn"]["end"]), (&json!(successor), &json!(null)));
    app.finish().await;
}

#[tokio::test]
async fn a_caller_that_is_gone_does_not_keep_its_question_from_detaching_or_expiring() {
    let app = App::start_with(|options| crate::app::set_busy_timeout(options, 20_000)).await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let waiting = wait(&local, &id).await;
    let held = app.home().hold();
    waiting.abort();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(clarification(&local, &id).await["state"], "ACTIVE_LIVE", "nothing can be written yet");
    drop(held);
    until(&local, &id, "ACTIVE_DETACHED").await;

    let held = app.home().hold();
    let ending = tokio::spawn({
        let (local, id) = (local.clone(), scene.session.clone());
        async move { local.ask_for(SET_STATE, json!({ "id": id, "state": "FAILED" })).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    ending.abort();
    drop(held);
    until(&local, &id, "TERMINAL").await;
    assert_eq!(clarification(&local, &id).await["outcome"], "EXPIRED");
    app.finish().await;
}

#[tokio::test]
async fn an_ended_sessions_questions_are_expired_when_its_end_is_told() {
    let app = App::start().await;
    let local = app.local();
    let follow = "subscription($id: ID!) { sessionChanges(sessionId: $id) { __typename
        ... on SessionStateChanged { session { state activeClarification { pendingId } } projection { action } } } }";
    for state in ["COMPLETED", "FAILED", "CANCELLED"] {
        let scene = scene(&local, None).await;
        let id = ask(&local, &scene.session, questions()).await;
        let waiting = wait(&local, &id).await;
        let mut socket = Socket::greeted(&app, json!({})).await;
        socket.subscribe("s", follow, json!({ "id": scene.session })).await;
        socket.hear().await;
        local.ask_for(SET_STATE, json!({ "id": scene.session, "state": state })).await;
        let told = loop {
            let item = socket.hear().await["payload"]["data"]["sessionChanges"].clone();
            if item["session"]["state"] == state {
                break item;
            }
        };
        assert_eq!(told["session"]["activeClarification"], json!(null), "{state}");
        assert_eq!(told["projection"]["action"], json!(null), "{state}");
        assert_eq!(clarification(&local, &id).await["outcome"], "EXPIRED", "{state}");
        assert_eq!(waiting.await.unwrap()["status"], "EXPIRED", "its agent learns it");
        assert_eq!(pending(&local, &scene).await, nothing(), "{state}");
        assert_eq!(respond(&local, &id, "k", answers()).await["reason"], "SESSION_ENDED");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_list_that_cannot_be_projected_is_an_error_and_never_a_clean_list() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    ask(&local, &scene.session, questions()).await;
    let list = "query($id: ID!) { taskSessions(taskId: $id) { id projection { action } } }";
    app.home().set_projectable(false);
    let (_, body) = local.send(list, json!({ "id": scene.task })).await;
    assert!(body["data"].is_null() && body["errors"][0]["extensions"]["code"].is_string(), "{body}");
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("s", list, json!({ "id": scene.task })).await;
    let told = socket.hear().await;
    assert!(!told.to_string().contains("\"action\":null"), "{told}");
    let (_, guard) = local
        .send("query($id: ID!) { session(id: $id) { workflowMayAdvance } }", json!({ "id": scene.session }))
        .await;
    assert_ne!(guard["data"]["session"]["workflowMayAdvance"], true, "a read that fails says no");
    app.home().set_projectable(true);
    assert_eq!(local.ask_for(list, json!({ "id": scene.task })).await[0]["projection"]["action"], "CLARIFICATION");
    app.finish().await;
}
