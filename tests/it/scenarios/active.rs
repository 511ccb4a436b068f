//! What is pending and what is history: one rule, told everywhere. May import: the crate, the app, its siblings.

use answerable::dispatch::Outcome;
use serde_json::{Value, json};

use super::stage::*;
use crate::api::scene::*;
use crate::api::socket::Socket;
use crate::app::{App, Caller, EXECUTOR};

const COMPLETE: &str = "mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename
  ... on CompleteTurnPayload { workflowMayAdvance } } }";
const DETACH: &str = "mutation($id: ID!) { detachClarifications(sessionId: $id) {
  ... on DetachClarificationsPayload { detached } } }";
const FOLLOW: &str = "subscription($id: ID!) { sessionChanges(sessionId: $id) { __typename
  ... on SessionSnapshot { projection { action revision { epoch sequence } } }
  ... on MessageAdded { message { content } projection { action revision { epoch sequence } } }
  ... on MessageUpdated { projection { action revision { epoch sequence } } }
  ... on ProjectionChanged { projection { action revision { epoch sequence } } } } }";

async fn next(socket: &mut Socket) -> Value {
    socket.hear().await["payload"]["data"]["sessionChanges"].clone()
}

/// The items up to the first that `is_last` takes.
async fn up_to(socket: &mut Socket, is_last: impl Fn(&Value) -> bool) -> Value {
    loop {
        let item = next(socket).await;
        if is_last(&item) {
            return item;
        }
    }
}

async fn completes(caller: &Caller, scene: &Scene, turn: &str) -> Value {
    caller.ask_for(COMPLETE, json!({ "s": scene.session, "t": turn })).await["workflowMayAdvance"].clone()
}

#[tokio::test]
async fn a_question_whose_wait_is_lost_stays_visible_answerable_and_in_the_way_of_the_workflow() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let id = ask(&local, &scene.session, questions()).await;
    wait(&local, &id).await.abort();
    until(&local, &id, "ACTIVE_DETACHED").await;
    assert_eq!(completes(&local, &scene, &scene.turn).await, false);
    assert_eq!(pending(&local, &scene).await, only(&id));
    let app = app.restart(|_| {}).await;
    let local = app.local();
    assert_eq!(pending(&local, &scene).await, only(&id), "the same after a restart");
    let shown = clarification(&local, &id).await;
    assert_eq!((&shown["agentDisconnected"], &shown["canRespond"]), (&json!(true), &json!(true)));
    assert_eq!(respond(&local, &id, "k", answers()).await["__typename"], "ResponseAccepted");
    assert_eq!(pending(&local, &scene).await, nothing());
    app.finish().await;
}

#[tokio::test]
async fn a_newer_turn_leaves_an_older_question_in_history_and_nowhere_else() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let newer = start_turn(&local, &scene.session).await;
    assert_eq!(pending(&local, &scene).await, nothing());
    assert_eq!(clarification(&local, &id).await["state"], "SUPERSEDED_HISTORY");
    assert_eq!(clarification(&local, &id).await["questions"][0]["status"], "PENDING", "no row is rewritten");
    assert_eq!(local.ask_for(DETACH, json!({ "id": scene.session })).await["detached"], 0);
    assert_eq!(completes(&local, &scene, &newer).await, true);
    app.finish().await;
}

#[tokio::test]
async fn deleting_every_message_of_the_newer_turn_revives_nothing() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let newer = start_turn(&local, &scene.session).await;
    let query =
        "query($id: ID!) { session(id: $id) { messages(last: 50) { edges { node { id turn { id } } } } } }";
    let messages = local.ask_for(query, json!({ "id": scene.session })).await["messages"]["edges"].clone();
    let of_newer = messages.as_array().unwrap().iter().filter(|edge| edge["node"]["turn"]["id"] == newer.as_str());
    let mut count = 0;
    for edge in of_newer {
        let delete = "mutation($id: ID!) { deleteMessage(messageId: $id) { __typename } }";
        let deleted = local.ask_for(delete, json!({ "id": edge["node"]["id"] })).await;
        assert_eq!(deleted["__typename"], "DeleteMessagePayload");
        count += 1;
    }
    assert!(count > 0, "the prompt at least is a message: {messages}");
    assert_eq!(pending(&local, &scene).await, nothing());
    assert_eq!(current(&local, &scene.session).await["currentTurn"]["id"], newer.as_str());
    assert_eq!(clarification(&local, &id).await["state"], "SUPERSEDED_HISTORY");
    assert_eq!(skip(&local, &id, "k", "").await["reason"], "SUPERSEDED");
    app.finish().await;
}

#[tokio::test]
async fn beside_an_attempted_successor_that_is_hidden_a_question_of_the_visible_turn_stays_inert() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let other = ask(&local, &scene.session, json!([{ "prompt": "another?" }])).await;
    let id = ask(&local, &scene.session, questions()).await;
    let responding = tokio::spawn({
        let (local, id) = (local.clone(), id.clone());
        async move { respond(&local, &id, "k", answers()).await }
    });
    gate.called(1).await;
    assert_eq!(turns(&local, &scene.session).await, [scene.turn.as_str()], "the successor is hidden");
    assert!(current(&local, &scene.session).await["currentTurn"].is_null(), "and so is who is current");
    assert_eq!(pending(&local, &scene).await, nothing());
    let shown = clarification(&local, &other).await;
    assert_eq!((&shown["state"], &shown["canRespond"]), (&json!("SUPERSEDED_HISTORY"), &json!(false)));
    assert!(shown["supersededBy"].is_null());
    gate.refuses();
    assert_eq!(responding.await.unwrap()["retryable"], true);
    assert_eq!(
        clarification(&local, &other).await["state"],
        "ACTIVE_DETACHED",
        "the refused attempt took nothing"
    );
    app.finish().await;
}

#[tokio::test]
async fn the_event_that_brings_a_question_brings_the_projection_that_shows_it() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("s", FOLLOW, json!({ "id": scene.session })).await;
    assert!(next(&mut socket).await["projection"]["action"].is_null(), "it begins clean");
    ask(&local, &scene.session, json!([{ "prompt": "Really?" }])).await;
    let added = up_to(&mut socket, |item| item["__typename"] == "MessageAdded").await;
    assert_eq!(added["message"]["content"], "Really?");
    assert_eq!(added["projection"]["action"], "CLARIFICATION");
    app.finish().await;
}

fn revision(of: &Value) -> (u128, u128) {
    let part = |name: &str| of["revision"][name].as_str().unwrap().parse().unwrap();
    (part("epoch"), part("sequence"))
}

#[tokio::test]
async fn a_list_and_an_event_are_ordered_by_their_revisions_whichever_arrives_first() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let list =
        "query($id: ID!) { taskSessions(taskId: $id) { projection { action revision { epoch sequence } } } }";
    let read = async || local.ask_for(list, json!({ "id": scene.task })).await[0]["projection"].clone();
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("s", FOLLOW, json!({ "id": scene.session })).await;
    next(&mut socket).await;
    let before = read().await;
    let id = ask(&local, &scene.session, questions()).await;
    let event = up_to(&mut socket, |item| item["__typename"] == "MessageAdded").await["projection"].clone();
    assert!(revision(&event) > revision(&before), "the older list cannot replace the event: {before} {event}");
    skip(&local, &id, "k", "").await;
    let after = read().await;
    assert!(revision(&after) > revision(&event), "nor the older event the list: {event} {after}");
    let app = app.restart(|_| {}).await;
    let later = app.local().ask_for(list, json!({ "id": scene.task })).await[0]["projection"].clone();
    assert!(revision(&later) > revision(&after), "and a restart goes on: {after} {later}");
    app.finish().await;
}

#[tokio::test]
async fn skipping_the_newer_question_brings_no_older_one_back_and_no_later_turn_does() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let old = ask(&local, &scene.session, json!([{ "prompt": "old?" }])).await;
    let newer = start_turn(&local, &scene.session).await;
    let new = ask(&local, &scene.session, json!([{ "prompt": "new?" }])).await;
    assert_eq!(pending(&local, &scene).await, only(&new));
    assert_eq!(skip(&local, &new, "k", "").await["__typename"], "ResponseAccepted");
    assert_eq!(completes(&local, &scene, &newer).await, true);
    let app = app.restart(|_| {}).await;
    let local = app.local();
    assert_eq!(pending(&local, &scene).await, nothing());
    let last = start_turn(&local, &scene.session).await;
    assert_eq!(completes(&local, &scene, &last).await, true);
    let agent = clarification(&local, &old).await;
    assert_eq!((&agent["state"], &agent["canSkip"]), (&json!("SUPERSEDED_HISTORY"), &json!(false)));
    assert_eq!(pending(&local, &scene).await, nothing());
    app.finish().await;
}

#[tokio::test]
async fn a_task_whose_second_session_asks_names_that_session_as_the_owner() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let input = json!({ "input": { "taskId": scene.task } });
    let second = local.ask_for(CREATE_SESSION, input).await["sessionId"].as_str().unwrap().to_owned();
    start_turn(&local, &second).await;
    let id = ask(&local, &second, questions()).await;
    let query = "query($id: ID!) { task(id: $id) { pendingAction primarySessionPendingAction primarySession { id }
        pendingActionSession { id isInputCapable projection { action } activeClarification { pendingId } } } }";
    let task = local.ask_for(query, json!({ "id": scene.task })).await;
    assert_eq!(
        (&task["pendingAction"], &task["primarySessionPendingAction"]),
        (&json!("CLARIFICATION"), &json!(null))
    );
    assert_eq!(task["primarySession"]["id"], scene.session.as_str());
    let owner = json!({ "id": second, "isInputCapable": true, "projection": { "action": "CLARIFICATION" },
        "activeClarification": { "pendingId": id } });
    assert_eq!(task["pendingActionSession"], owner);
    let sessions = local.ask_for(
        "query($id: ID!) { taskSessions(taskId: $id) { id projection { action } } }",
        json!({ "id": scene.task }),
    );
    let sessions = sessions.await;
    assert_eq!(sessions[0], json!({ "id": second, "projection": { "action": "CLARIFICATION" } }), "newest first");
    assert_eq!(sessions[1], json!({ "id": scene.session, "projection": { "action": null } }));
    app.finish().await;
}

#[tokio::test]
async fn an_answer_to_a_superseded_question_is_a_conflict_and_prompts_nobody() {
    let (app, gate) = gated().await;
    let local = app.local();
    let scene = scene(&local, Some(GATE)).await;
    let id = ask(&local, &scene.session, questions()).await;
    start_turn(&local, &scene.session).await;
    let before = pending(&local, &scene).await;
    let told = respond(&local, &id, "k", answers()).await;
    assert_eq!((&told["__typename"], &told["reason"]), (&json!("ResponseConflict"), &json!("SUPERSEDED")));
    assert_eq!(gate.count(), 0);
    assert_eq!(pending(&local, &scene).await, before);
    gate.answers(Outcome::Accepted);
    app.finish().await;
}

#[tokio::test]
async fn what_is_told_last_is_what_the_store_holds_however_close_ends_and_beginnings_come() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("s", FOLLOW, json!({ "id": scene.session })).await;
    let mut last = ask(&local, &scene.session, json!([{ "prompt": "0?" }])).await;
    for n in 1..=10 {
        let question = json!([{ "prompt": format!("{n}?") }]);
        let (skipped, asked) = tokio::join!(skip(&local, &last, "k", ""), ask(&local, &scene.session, question));
        assert_eq!(skipped["__typename"], "ResponseAccepted");
        last = asked;
    }
    assert_eq!(pending(&local, &scene).await, only(&last));
    let query = "query($id: ID!) { session(id: $id) { projection { action revision { epoch sequence } } } }";
    let stored = local.ask_for(query, json!({ "id": scene.session })).await["projection"].clone();
    let told = up_to(&mut socket, |item| {
        item["projection"].is_object() && revision(&item["projection"]) >= revision(&stored)
    });
    assert_eq!(told.await["projection"], stored);
    app.finish().await;
}
