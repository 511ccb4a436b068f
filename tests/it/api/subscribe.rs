//! Following: nothing is missed, nothing is invented. May import: the crate, the app, its siblings.

use answerable::access::Role;
use serde_json::{Value, json};

use super::scene::*;
use super::socket::Socket;
use crate::app::App;

const SESSION: &str = "subscription($id: ID!, $after: Cursor) { sessionChanges(sessionId: $id, after: $after) {
  __typename cursor
  ... on SessionSnapshot { projection { action } session { id activeClarification { pendingId } } }
  ... on Gap { reason }
  ... on MessageAdded { message { content kind } projection { action revision { epoch sequence } } }
  ... on MessageUpdated { message { content } projection { action revision { epoch sequence } } }
  ... on TurnStarted { turn { id } }
  ... on ProjectionChanged { projection { action revision { epoch sequence } } }
  ... on SessionDeleted { sessionId } } }";
const TASKS: &str = "subscription($after: Cursor) { taskChanges(after: $after) { __typename cursor
  ... on TaskSnapshot { tasks { id } } ... on Gap { reason } ... on TaskChanged { task { id title pendingAction } }
  ... on TaskDeleted { taskId } } }";

/// The next item of that operation; others may have been on their way when they were completed.
async fn item(socket: &mut Socket, id: &str) -> Value {
    loop {
        let next = socket.hear().await;
        if next["id"] != id {
            continue;
        }
        assert_eq!(next["type"], "next", "{next}");
        let data = &next["payload"]["data"];
        return data.as_object().unwrap_or_else(|| panic!("{next}")).values().next().unwrap().clone();
    }
}

/// Items up to the first of that kind, which is the last.
async fn up_to(socket: &mut Socket, id: &str, kind: &str) -> Vec<Value> {
    let mut items = Vec::new();
    loop {
        items.push(item(socket, id).await);
        if items.last().unwrap()["__typename"] == kind {
            return items;
        }
    }
}

/// What an item is about, where the newest telling of it is enough.
fn subject(item: &Value) -> Option<String> {
    match item["__typename"].as_str() {
        Some(kind @ ("ProjectionChanged" | "SessionStateChanged")) => Some(kind.to_owned()),
        Some("MessageUpdated") => Some(item["message"]["content"].to_string()),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_is_followed_from_a_snapshot_on_and_again_from_any_cursor() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("live", SESSION, json!({ "id": scene.session })).await;
    let snapshot = item(&mut socket, "live").await;
    assert_eq!(snapshot["__typename"], "SessionSnapshot");
    assert_eq!(snapshot["session"], json!({ "id": scene.session, "activeClarification": null }));
    let id = ask(&local, &scene.session, json!([{ "prompt": "Really?" }])).await;
    skip(&local, &id, "k", "").await;
    ask(&local, &scene.session, json!([{ "prompt": "And this?" }])).await;
    start_turn(&local, &scene.session).await;
    let live = up_to(&mut socket, "live", "TurnStarted").await;
    let added = live.iter().find(|item| item["__typename"] == "MessageAdded").unwrap();
    assert_eq!(added["message"], json!({ "content": "Really?", "kind": "clarification_request" }));
    assert!(added["projection"]["revision"]["epoch"].is_string());
    let sequences: Vec<u64> =
        live.iter().filter_map(|item| item["projection"]["revision"]["sequence"].as_str()?.parse().ok()).collect();
    assert!(sequences.is_sorted(), "{sequences:?}");

    // The same again from the snapshot's cursor, and from each cursor on the way: the rest, each once, in order; of
    // what is said again later, where the newest is enough, only the last.
    let cursors = |items: &[Value]| items.iter().map(|item| item["cursor"].clone()).collect::<Vec<_>>();
    let all = cursors(&live);
    let told = |n: usize, again: &[Value]| -> Vec<Value> {
        let rest = live[n..].iter().filter(|item| subject(item).is_none() || again.contains(&item["cursor"]));
        rest.map(|item| item["cursor"].clone()).collect()
    };
    let mut from = snapshot["cursor"].clone();
    for (n, next) in all.iter().enumerate() {
        let name = format!("again{n}");
        socket.say(json!({ "type": "complete", "id": if n == 0 { "live".into() } else { format!("again{}", n - 1) } })).await;
        socket.subscribe(&name, SESSION, json!({ "id": scene.session, "after": from })).await;
        let again = up_to(&mut socket, &name, "TurnStarted").await;
        let again = cursors(&again);
        assert_eq!(again, told(n, &again));
        from = next.clone();
    }
    app.finish().await;
}

#[tokio::test]
async fn a_cursor_that_cannot_be_gone_on_from_is_a_gap_and_a_snapshot() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let other = App::start().await;
    super::scene::scene(&other.local(), None).await;
    let mut elsewhere = Socket::greeted(&other, json!({})).await;
    elsewhere.subscribe("1", TASKS, json!({})).await;
    let foreign = item(&mut elsewhere, "1").await["cursor"].clone();
    let mut socket = Socket::greeted(&app, json!({})).await;
    for (n, (cursor, reason)) in
        [(json!("nonsense"), "UNREADABLE"), (foreign, "OTHER_STORE")].into_iter().enumerate()
    {
        for (name, query) in [("s", SESSION), ("t", TASKS)] {
            let id = format!("{name}{n}");
            let variables = if name == "s" {
                json!({ "id": scene.session, "after": cursor })
            } else {
                json!({ "after": cursor })
            };
            socket.subscribe(&id, query, variables).await;
            assert_eq!(item(&mut socket, &id).await["reason"], reason);
            let snapshot = item(&mut socket, &id).await;
            assert!(snapshot["__typename"].as_str().unwrap().ends_with("Snapshot"), "{snapshot}");
            socket.say(json!({ "type": "complete", "id": id })).await;
        }
    }
    other.finish().await;
    app.finish().await;
}

#[tokio::test]
async fn tasks_are_followed_with_their_pending_actions_and_across_a_reconnect() {
    let app = App::start().await;
    let local = app.local();
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("1", TASKS, json!({})).await;
    let snapshot = item(&mut socket, "1").await;
    assert_eq!((snapshot["__typename"].as_str(), &snapshot["tasks"]), (Some("TaskSnapshot"), &json!([])));
    drop(socket);
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("1", TASKS, json!({ "after": snapshot["cursor"] })).await;
    let changed = item(&mut socket, "1").await;
    assert_eq!(
        (changed["__typename"].as_str(), changed["task"]["id"].as_str()),
        (Some("TaskChanged"), Some(scene.task.as_str()))
    );
    skip(&local, &id, "k", "").await;
    local.call("mutation($id: ID!) { deleteTask(taskId: $id) { __typename } }", json!({ "id": scene.task })).await;
    let items = up_to(&mut socket, "1", "TaskDeleted").await;
    assert_eq!(items.last().unwrap()["taskId"], scene.task.as_str());
    app.finish().await;
}

#[tokio::test]
async fn what_is_not_yours_is_not_followed() {
    let app = App::start().await;
    let scene = scene(&app.local(), None).await;
    let foreign = app.caller(Role::Person, Some(&["elsewhere"]), None).await;
    let own = app.caller(Role::Operator, None, None).await;
    let bearer = |caller: &crate::app::Caller| json!({ "authorization": format!("Bearer {}", caller.token.clone().unwrap()) });
    let mut socket = Socket::greeted(&app, bearer(&foreign)).await;
    let mut told = Vec::new();
    for id in [scene.session.as_str(), "nothing"] {
        socket.subscribe("1", SESSION, json!({ "id": id })).await;
        let message = socket.hear().await;
        let text = message.to_string();
        assert!(text.contains("NOT_FOUND"), "{text}");
        told.push(text);
        assert_eq!(message["type"], "error");
    }
    assert_eq!(told[0], told[1], "absent and not yours are one answer");
    socket.subscribe("2", TASKS, json!({})).await;
    assert_eq!(item(&mut socket, "2").await["tasks"], json!([]));
    own.call(
        "mutation($id: ID!) { updateTask(input: { taskId: $id, title: \"x\" }) { __typename } }",
        json!({ "id": scene.task }),
    )
    .await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong", "nothing of another workspace is told");
    app.finish().await;
}

#[tokio::test]
async fn a_deleted_session_is_the_last_that_is_told_of_it() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut socket = Socket::greeted(&app, json!({})).await;
    socket.subscribe("1", SESSION, json!({ "id": scene.session })).await;
    item(&mut socket, "1").await;
    local
        .call(
            "mutation($id: ID!) { deleteSession(sessionId: $id) { __typename } }",
            json!({ "id": scene.session }),
        )
        .await;
    let items = up_to(&mut socket, "1", "SessionDeleted").await;
    assert_eq!(items.last().unwrap()["sessionId"], scene.session.as_str());
    app.finish().await;
}
