//! Pages, what they cost, and where they go on. May import: the crate, the app, its siblings.

use serde_json::{Value, json};

use super::cost::{cost, quiet, settle};
use super::scene::*;
use crate::app::App;

const TASKS: &str = "query($first: Int!, $after: String) { tasks(first: $first, after: $after) {
  edges { cursor node { id title pendingAction primarySessionPendingAction
    sessions { id state projection { action revision { epoch sequence } } } } }
  pageInfo { hasNextPage endCursor } } }";
const INBOX: &str = "query($first: Int!, $after: String) { pendingClarifications(first: $first, after: $after) {
  edges { node { pendingId state questions { prompt } session { id task { title } } turn { id } } }
  pageInfo { hasNextPage endCursor } } }";
const MESSAGES: &str =
    "query($id: ID!, $first: Int, $last: Int, $before: String, $after: String) { session(id: $id) {
  messages(first: $first, last: $last, before: $before, after: $after) {
    edges { node { content } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";

#[tokio::test]
async fn a_task_list_of_any_size_takes_three_statements_at_most() {
    let app = App::start_with(quiet).await;
    let local = app.local();
    for _ in 0..30 {
        let scene = scene(&local, None).await;
        ask(&local, &scene.session, questions()).await;
    }
    settle(&app).await;
    let (one, many) =
        (cost(&app, TASKS, json!({ "first": 1 })).await, cost(&app, TASKS, json!({ "first": 100 })).await);
    println!("statements: tasks(first: 1) {one}, tasks(first: 100) {many}");
    assert_eq!(one, many);
    assert!(many <= 3, "{many}");
    let (one, many) =
        (cost(&app, INBOX, json!({ "first": 1 })).await, cost(&app, INBOX, json!({ "first": 30 })).await);
    println!("statements: pendingClarifications(first: 1) {one}, (first: 30) {many}");
    assert_eq!(one, many, "what a list nests is read at once");
    app.finish().await;
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repetition() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let mut asked = Vec::new();
    for n in 0..5 {
        asked.push(ask(&local, &scene.session, json!([{ "prompt": format!("question {n}") }])).await);
    }
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = local.ask_for(INBOX, json!({ "first": 2, "after": after })).await;
        for edge in page["edges"].as_array().unwrap() {
            seen.push(edge["node"]["pendingId"].as_str().unwrap().to_owned());
        }
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen, asked, "oldest first, each once");
    app.finish().await;
}

#[tokio::test]
async fn messages_are_paged_from_both_ends() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    for n in 0..5 {
        let append = "mutation($input: AppendMessageInput!) { appendMessage(input: $input) {
            ... on MessagePayload { transcriptMessage { content author kind } } } }";
        let input = json!({ "input": { "sessionId": scene.session, "content": format!("m{n}") } });
        let made = local.ask_for(append, input).await;
        assert_eq!(
            made["transcriptMessage"],
            json!({ "content": format!("m{n}"), "author": "agent", "kind": "message" })
        );
    }
    let contents = |page: &Value| {
        let edges = page["messages"]["edges"].as_array().unwrap().clone();
        edges.iter().map(|edge| edge["node"]["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let id = &scene.session;
    let first = local.ask_for(MESSAGES, json!({ "id": id, "first": 2 })).await;
    assert_eq!(contents(&first), ["go on", "m0"]);
    let cursor = &first["messages"]["pageInfo"]["endCursor"];
    assert_eq!(
        contents(&local.ask_for(MESSAGES, json!({ "id": id, "first": 2, "after": cursor })).await),
        ["m1", "m2"]
    );
    let last = local.ask_for(MESSAGES, json!({ "id": id, "last": 2 })).await;
    assert_eq!(contents(&last), ["m3", "m4"]);
    assert_eq!(last["messages"]["pageInfo"]["hasPreviousPage"], true);
    let cursor = &last["messages"]["pageInfo"]["startCursor"];
    assert_eq!(
        contents(&local.ask_for(MESSAGES, json!({ "id": id, "last": 2, "before": cursor })).await),
        ["m1", "m2"]
    );
    assert_eq!(local.code(MESSAGES, json!({ "id": id })).await, "BAD_USER_INPUT");
    assert_eq!(local.code(MESSAGES, json!({ "id": id, "first": 1, "last": 1 })).await, "BAD_USER_INPUT");
    app.finish().await;
}

#[tokio::test]
async fn a_page_of_a_wrong_size_or_cursor_is_an_error_that_names_the_limit() {
    let app = App::start().await;
    let local = app.local();
    for first in [0, 101, -1] {
        let (_, body) = local.send(TASKS, json!({ "first": first })).await;
        let error = &body["errors"][0];
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{body}");
        assert_eq!(error["extensions"]["limit"], 100);
        assert!(error["message"].as_str().unwrap().contains("first must be between 1 and 100"), "{error}");
    }
    assert_eq!(local.code(TASKS, json!({ "first": 1, "after": "nonsense" })).await, "BAD_USER_INPUT");
    app.finish().await;
}

#[tokio::test]
async fn task_sessions_are_all_or_an_error() {
    let app = App::start_with(|options| options.graphql.task_sessions_max = 2).await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let query = "query($id: ID!) { taskSessions(taskId: $id) { id } }";
    for count in 2..=3 {
        let input = json!({ "input": { "taskId": scene.task } });
        local.ask_for(CREATE_SESSION, input).await;
        if count == 2 {
            assert_eq!(local.ask_for(query, json!({ "id": scene.task })).await.as_array().unwrap().len(), 2);
        } else {
            assert_eq!(local.code(query, json!({ "id": scene.task })).await, "LIMIT_EXCEEDED");
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn everything_with_an_id_is_a_node() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let pending = ask(&local, &scene.session, questions()).await;
    let messages = local
        .ask_for(
            "query($id: ID!) { session(id: $id) { messages(last: 1) { edges { node { id } } } } }",
            json!({ "id": scene.session }),
        )
        .await;
    let message = messages["messages"]["edges"][0]["node"]["id"].as_str().unwrap().to_owned();
    let cases = [
        (scene.task, "Task"),
        (scene.session, "TaskSession"),
        (scene.turn, "Turn"),
        (message, "Message"),
        (pending, "Clarification"),
    ];
    for (id, name) in cases {
        let node = local.ask_for("query($id: ID!) { node(id: $id) { __typename id } }", json!({ "id": id })).await;
        assert_eq!(node, json!({ "__typename": name, "id": id }));
    }
    assert!(local.ask_for("{ node(id: \"nothing\") { id } }", json!({})).await.is_null());
    app.finish().await;
}
