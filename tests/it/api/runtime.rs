//! What a runtime does: tasks, sessions, turns, messages, permissions.
//! May import: the crate, the app, its siblings.

use serde_json::json;

use super::scene::*;
use crate::app::{App, EXECUTOR};

const TASK: &str = "query($id: ID!) { task(id: $id) { title description state pendingAction
  primarySessionPendingAction pendingActionSession { id } primarySession { id } } }";

#[tokio::test]
async fn a_task_is_made_changed_and_deleted_with_all_that_it_holds() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let pending = ask(&local, &scene.session, questions()).await;
    let update =
        "mutation($id: ID!) { updateTask(input: { taskId: $id, title: \"New\", state: \"DONE\" }) { __typename
        ... on TaskPayload { task { title state description } } } }";
    let updated = local.ask_for(update, json!({ "id": scene.task })).await;
    assert_eq!(updated["task"], json!({ "title": "New", "state": "DONE", "description": "" }));
    assert_eq!(local.ask_for(update, json!({ "id": "nothing" })).await["__typename"], "NotFound");
    let delete = "mutation($id: ID!) { deleteTask(taskId: $id) { __typename } }";
    assert_eq!(local.ask_for(delete, json!({ "id": scene.task })).await["__typename"], "DeleteTaskPayload");
    assert_eq!(local.ask_for(delete, json!({ "id": scene.task })).await["__typename"], "NotFound");
    assert!(local.ask_for(TASK, json!({ "id": scene.task })).await.is_null());
    assert!(clarification(&local, &pending).await.is_null());
    let empty = local.ask_for(CREATE_TASK, json!({ "input": { "title": " " } })).await;
    assert_eq!(empty["errors"][0], json!({ "path": "title", "code": "REQUIRED", "limit": null }), "{empty}");
    app.finish().await;
}

#[tokio::test]
async fn a_session_is_made_with_a_known_executor_moved_and_deleted() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let stranger = json!({ "input": { "taskId": scene.task, "executor": "nobody" } });
    assert_eq!(local.ask_for(CREATE_SESSION, stranger).await["errors"][0]["path"], "executor");
    let absent = json!({ "input": { "taskId": "nothing" } });
    assert_eq!(local.ask_for(CREATE_SESSION, absent).await["__typename"], "NotFound");
    let moved = local.ask_for(SET_STATE, json!({ "id": scene.session, "state": "IDLE" })).await;
    assert_eq!(moved["session"]["state"], "IDLE", "{moved}");
    assert_eq!(
        local.ask_for(SET_STATE, json!({ "id": "nothing", "state": "IDLE" })).await["__typename"],
        "NotFound"
    );
    let ended = local.ask_for(SET_STATE, json!({ "id": scene.session, "state": "CANCELLED" })).await;
    assert_eq!(ended["session"]["state"], "CANCELLED");
    let prompt = json!({ "input": { "sessionId": scene.session, "text": "again", "clientKey": "k" } });
    assert_eq!(local.ask_for(SEND_PROMPT, prompt).await["refusal"], "STATE_NOT_ALLOWED");
    let delete = "mutation($id: ID!) { deleteSession(sessionId: $id) { __typename } }";
    let deleted = local.ask_for(delete, json!({ "id": scene.session })).await;
    assert_eq!(deleted["__typename"], "DeleteSessionPayload");
    assert_eq!(local.ask_for(delete, json!({ "id": scene.session })).await["__typename"], "NotFound");
    app.finish().await;
}

#[tokio::test]
async fn a_prompt_supersedes_what_was_asked_and_is_idempotent_by_its_key() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, Some(EXECUTOR)).await;
    let prompt = |text: &str, expected: Option<&str>, key: &str| {
        json!({ "input": { "sessionId": scene.session,
        "text": text, "clientKey": key, "expectedTurnId": expected } })
    };
    assert_eq!(local.ask_for(SEND_PROMPT, prompt("busy?", None, "a")).await["refusal"], "TURN_IN_PROGRESS");
    let pending = ask(&local, &scene.session, questions()).await;
    let wrong = local.ask_for(SEND_PROMPT, prompt("go", Some("another"), "b")).await;
    assert_eq!(wrong["refusal"], "EXPECTED_TURN_CHANGED");
    let sent = local.ask_for(SEND_PROMPT, prompt("go", Some(scene.turn.as_str()), "c")).await;
    assert_eq!(
        (sent["__typename"].as_str(), &sent["replayed"]),
        (Some("PromptAccepted"), &json!(false)),
        "{sent}"
    );
    let again = local.ask_for(SEND_PROMPT, prompt("go", Some(scene.turn.as_str()), "c")).await;
    assert_eq!((&again["turnId"], &again["replayed"]), (&sent["turnId"], &json!(true)));
    assert_eq!(local.ask_for(SEND_PROMPT, prompt("other", None, "c")).await["refusal"], "KEY_REUSED");
    assert_eq!(app.executor.seen().len(), 1);
    assert_eq!(clarification(&local, &pending).await["state"], "SUPERSEDED_HISTORY");
    let empty = local.ask_for(SEND_PROMPT, prompt(" ", None, "d")).await;
    assert_eq!(empty["errors"][0]["path"], "text", "{empty}");
    app.finish().await;
}

#[tokio::test]
async fn a_workflow_may_advance_only_when_nothing_answerable_is_left() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let pending = ask(&local, &scene.session, questions()).await;
    let complete = "mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename
        ... on CompleteTurnPayload { turnId workflowMayAdvance reason } } }";
    let ids = json!({ "s": scene.session, "t": scene.turn });
    let completed = local.ask_for(complete, ids.clone()).await;
    assert_eq!(
        (&completed["workflowMayAdvance"], completed["reason"].is_string()),
        (&json!(false), true),
        "{completed}"
    );
    skip(&local, &pending, "k", "").await;
    let session = local
        .ask_for(
            "query($id: ID!) { session(id: $id) { workflowMayAdvance currentTurn { end } } }",
            json!({ "id": scene.session }),
        )
        .await;
    assert_eq!(session, json!({ "workflowMayAdvance": true, "currentTurn": { "end": "COMPLETED" } }));
    let unknown = local.ask_for(complete, json!({ "s": scene.session, "t": "nothing" })).await;
    assert_eq!(unknown["__typename"], "NotFound");
    app.finish().await;
}

#[tokio::test]
async fn a_turn_is_cancelled_only_if_it_is_the_expected_one_and_a_ready_event_ends_its_own() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let cancel = "mutation($input: CancelTurnInput!) { cancelTurn(input: $input) { __typename
        ... on CancelTurnPayload { turnId } ... on Refused { refusal } } }";
    let input = |turn: Option<&str>| json!({ "input": { "sessionId": scene.session, "expectedTurnId": turn } });
    assert_eq!(local.ask_for(cancel, input(None)).await["refusal"], "EXPECTED_TURN_CHANGED");
    assert_eq!(local.ask_for(cancel, input(Some(&scene.turn))).await["turnId"], scene.turn.as_str());
    let next = start_turn(&local, &scene.session).await;
    let generation = local
        .ask_for(
            "query($id: ID!) { session(id: $id) { currentTurn { generation } } }",
            json!({ "id": scene.session }),
        )
        .await["currentTurn"]["generation"]
        .clone();
    let ready = "mutation($id: ID!, $g: String) { reportAgentReady(sessionId: $id, generation: $g) {
        ... on AgentReadyPayload { completed { turnId workflowMayAdvance } } } }";
    let old = local.ask_for(ready, json!({ "id": scene.session, "g": "0" })).await;
    assert!(old["completed"].is_null(), "{old}");
    let done = local.ask_for(ready, json!({ "id": scene.session, "g": generation })).await;
    assert_eq!(done["completed"], json!({ "turnId": next, "workflowMayAdvance": true }));
    assert_eq!(local.code(ready, json!({ "id": scene.session, "g": "x" })).await, "BAD_USER_INPUT");
    app.finish().await;
}

#[tokio::test]
async fn only_a_live_bundle_is_withdrawn_and_detaching_twice_flips_nothing_twice() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, questions()).await;
    let cancel = "mutation($id: ID!) { cancelClarification(pendingId: $id) { __typename
        ... on CancelClarificationPayload { clarification { outcome } } ... on Refused { refusal } } }";
    assert_eq!(local.ask_for(cancel, json!({ "id": id })).await["refusal"], "NOT_LIVE");
    let detach = "mutation($id: ID!) { detachClarifications(sessionId: $id) { ... on DetachClarificationsPayload { detached } } }";
    let waiting = wait(&local, &id).await;
    assert_eq!(local.ask_for(detach, json!({ "id": scene.session })).await["detached"], 3);
    assert_eq!(local.ask_for(detach, json!({ "id": scene.session })).await["detached"], 0);
    assert_eq!(waiting.await.unwrap()["status"], "PENDING", "nobody decided, and nothing says that somebody did");
    let waiting = wait(&local, &id).await;
    let cancelled = local.ask_for(cancel, json!({ "id": id })).await;
    assert_eq!(cancelled["clarification"]["outcome"], "CANCELLED", "{cancelled}");
    assert_eq!(waiting.await.unwrap()["status"], "CANCELLED");
    app.finish().await;
}

#[tokio::test]
async fn messages_are_changed_and_deleted_and_a_question_is_not_rewritten() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let pending = ask(&local, &scene.session, json!([{ "prompt": "?" }])).await;
    let question = local
        .ask_for(
            "query($id: ID!) { clarification(pendingId: $id) { questions { messageId } } }",
            json!({ "id": pending }),
        )
        .await["questions"][0]["messageId"]
        .clone();
    let append = "mutation($input: AppendMessageInput!) { appendMessage(input: $input) { __typename
        ... on MessagePayload { messageId transcriptMessage { metadata } } } }";
    let input = json!({ "input": { "sessionId": scene.session, "content": "x",
        "metadata": { "mine": 1, "prompt_dispatch_prompt": "hidden" } } });
    let made = local.ask_for(append, input).await;
    assert_eq!(made["transcriptMessage"]["metadata"], json!({ "mine": 1 }), "private fields never appear");
    let update = "mutation($id: ID!) { updateMessage(messageId: $id, content: \"y\") { __typename
        ... on MessagePayload { transcriptMessage { content } } } }";
    let updated = local.ask_for(update, json!({ "id": made["messageId"] })).await;
    assert_eq!(updated["transcriptMessage"]["content"], "y");
    assert_ne!(local.ask_for(update, json!({ "id": question })).await["__typename"], "MessagePayload");
    let delete = "mutation($id: ID!) { deleteMessage(messageId: $id) { __typename } }";
    for (id, name) in [
        (made["messageId"].clone(), "DeleteMessagePayload"),
        (made["messageId"].clone(), "NotFound"),
        (question, "DeleteMessagePayload"),
    ] {
        assert_eq!(local.ask_for(delete, json!({ "id": id })).await["__typename"], name);
    }
    assert!(clarification(&local, &pending).await.is_null());
    app.finish().await;
}

#[tokio::test]
async fn a_permission_comes_after_a_clarification_in_its_session_and_before_one_across_the_task() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let record =
        "mutation($s: ID!) { recordPermissionRequest(sessionId: $s, permissionId: \"p1\", content: \"rm?\") {
        __typename } }";
    let session = "query($id: ID!) { session(id: $id) { projection { action } } }";
    let action = |app_local: crate::app::Caller, id: String| async move {
        app_local.ask_for(session, json!({ "id": id })).await["projection"]["action"].clone()
    };
    assert_eq!(local.ask_for(record, json!({ "s": scene.session })).await["__typename"], "MessagePayload");
    assert_eq!(action(local.clone(), scene.session.clone()).await, "PERMISSION");
    let pending = ask(&local, &scene.session, questions()).await;
    assert_eq!(action(local.clone(), scene.session.clone()).await, "CLARIFICATION");

    let other =
        local.ask_for(CREATE_SESSION, json!({ "input": { "taskId": scene.task } })).await["sessionId"].clone();
    let other = other.as_str().unwrap().to_owned();
    start_turn(&local, &other).await;
    assert_eq!(local.ask_for(record, json!({ "s": other })).await["__typename"], "MessagePayload");
    let task = local.ask_for(TASK, json!({ "id": scene.task })).await;
    assert_eq!(
        (task["pendingAction"].as_str(), task["primarySessionPendingAction"].as_str()),
        (Some("PERMISSION"), Some("CLARIFICATION")),
        "{task}"
    );
    assert_eq!(task["pendingActionSession"]["id"], other.as_str());

    let resolve =
        "mutation($s: ID!) { resolvePermissionRequest(sessionId: $s, permissionId: \"p1\", decision: DENIED) {
        __typename } }";
    assert_eq!(local.ask_for(resolve, json!({ "s": other })).await["__typename"], "PermissionPayload");
    assert_eq!(local.ask_for(resolve, json!({ "s": other })).await["__typename"], "NotFound");
    skip(&local, &pending, "k", "").await;
    assert_eq!(action(local.clone(), scene.session.clone()).await, "PERMISSION");
    assert!(action(local, other).await.is_null());
    app.finish().await;
}

#[tokio::test]
async fn what_may_not_be_asked_is_refused_by_name() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let option = |label: &str| json!({ "label": label });
    let cases = [
        (json!([]), "questions", "TOO_FEW"),
        (json!(vec![json!({ "prompt": "?" }); 5]), "questions", "TOO_MANY"),
        (json!([{ "prompt": " " }]), "questions[0].question", "REQUIRED"),
        (json!([{ "prompt": "?", "options": [option("one")] }]), "questions[0].options", "TOO_FEW"),
        (json!([{ "prompt": "?", "allowCustomText": false }]), "questions[0]", "REQUIRED"),
        (json!([{ "id": "x", "prompt": "?" }, { "id": "x", "prompt": "?" }]), "questions[1].id", "DUPLICATE"),
    ];
    for (questions, path, code) in cases {
        let input = json!({ "input": { "sessionId": scene.session, "questions": questions } });
        let refused = local.ask_for(ASK, input).await;
        assert_eq!(refused["__typename"], "InvalidInput", "{refused}");
        let error = &refused["errors"][0];
        assert_eq!((error["path"].as_str(), error["code"].as_str()), (Some(path), Some(code)), "{refused}");
    }
    app.finish().await;
}
