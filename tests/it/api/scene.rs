//! Sessions that ask, as tests need them. May import: the app.

use serde_json::{Value, json};

use crate::app::Caller;

pub const CREATE_TASK: &str = "mutation($input: CreateTaskInput!) { createTask(input: $input) { __typename
  ... on TaskPayload { taskId task { workspaceId title } } ... on InvalidInput { errors { path code limit } } } }";
pub const CREATE_SESSION: &str = "mutation($input: CreateSessionInput!) { createSession(input: $input) { __typename
  ... on SessionPayload { sessionId session { state isPrimary } } ... on InvalidInput { errors { path code } } } }";
pub const START_TURN: &str = "mutation($input: StartTurnInput!) { startTurn(input: $input) { __typename
  ... on StartTurnPayload { turnId turn { kind end } } ... on Refused { refusal retryable } } }";
pub const ASK: &str = "mutation($input: AskClarificationInput!) { askClarification(input: $input) { __typename
  ... on ClarificationOutcome { pendingId status isNew rejectReason answers { questionId selected text } }
  ... on InvalidInput { errors { path code limit } } ... on Refused { refusal } } }";
pub const AWAIT: &str =
    "mutation($id: ID!, $s: Int!) { awaitClarification(pendingId: $id, waitSeconds: $s) { __typename
  ... on ClarificationOutcome { status rejectReason answers { questionId selected text } } } }";
pub const RESPOND: &str = "mutation($input: RespondInput!) { respond(input: $input) { __typename
  ... on ResponseAccepted { replayed dispatchedTurn { id } clarification { state outcome } }
  ... on ResponseConflict { reason winner { respondedBy status } clarification { state } }
  ... on DeliveryFailed { retryable code summaryConverged clarification { state } }
  ... on InvalidResponse { errors { path code limit } }
  ... on Refused { refusal } ... on NotFound { message } } }";
pub const SKIP: &str = "mutation($input: SkipInput!) { skip(input: $input) { __typename
  ... on ResponseAccepted { replayed clarification { state outcome response { status rejectReason } } }
  ... on ResponseConflict { reason } ... on InvalidResponse { errors { path code limit } }
  ... on Refused { refusal } ... on NotFound { message } } }";
pub const SEND_PROMPT: &str = "mutation($input: SendPromptInput!) { sendPrompt(input: $input) { __typename
  ... on PromptAccepted { turnId replayed } ... on PromptFailed { retryable code }
  ... on InvalidInput { errors { path code } } ... on Refused { refusal } } }";
pub const CLARIFICATION: &str =
    "query($id: ID!) { clarification(pendingId: $id) { state outcome canRespond canSkip
  agentDisconnected response { respondedBy status } supersededBy { id } session { id state }
  questions { id status secret answer { selected customText isMasked } } } }";
pub const SET_STATE: &str =
    "mutation($id: ID!, $state: SessionState!) { setSessionState(sessionId: $id, state: $state) {
  __typename ... on SessionPayload { session { state } } ... on Refused { refusal } } }";

/// A session that runs a turn, made by whoever runs it.
#[derive(Clone, Debug)]
pub struct Scene {
    pub task: String,
    pub session: String,
    pub turn: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

pub async fn scene(runtime: &Caller, executor: Option<&str>) -> Scene {
    let made = runtime.ask_for(CREATE_TASK, json!({ "input": { "title": "A task" } })).await;
    let task = text(&made["taskId"]);
    let input = json!({ "input": { "taskId": task, "executor": executor } });
    let session = text(&runtime.ask_for(CREATE_SESSION, input).await["sessionId"]);
    let turn = start_turn(runtime, &session).await;
    Scene { task, session, turn }
}

pub async fn start_turn(runtime: &Caller, session: &str) -> String {
    let input = json!({ "input": { "sessionId": session, "prompt": "go on" } });
    text(&runtime.ask_for(START_TURN, input).await["turnId"])
}

/// One choice of two, several of three, a free text.
pub fn questions() -> Value {
    json!([
        { "prompt": "Which?", "options": [{ "label": "left" }, { "label": "right" }], "allowCustomText": false },
        { "prompt": "Which ones?", "multiSelect": true,
          "options": [{ "label": "a" }, { "label": "b" }, { "label": "c" }] },
        { "prompt": "Why?" },
    ])
}

pub fn answers() -> Value {
    json!([
        { "questionId": "q1", "optionIds": ["q1_opt2"] },
        { "questionId": "q2", "optionIds": ["q2_opt3", "q2_opt1"], "customText": "and more" },
        { "questionId": "q3", "customText": "because" },
    ])
}

/// Asks without waiting: the bundle is detached.
pub async fn ask(runtime: &Caller, session: &str, questions: Value) -> String {
    let input = json!({ "input": { "sessionId": session, "questions": questions } });
    let asked = runtime.ask_for(ASK, input).await;
    assert_eq!(asked["status"], "PENDING", "{asked}");
    text(&asked["pendingId"])
}

/// Waits for a bundle in the background, and returns when the wait is known to the server.
pub async fn wait(runtime: &Caller, id: &str) -> tokio::task::JoinHandle<Value> {
    let (own, pending) = (runtime.clone(), id.to_owned());
    let waiting = tokio::spawn(async move { own.ask_for(AWAIT, json!({ "id": pending, "s": 60 })).await });
    until(runtime, id, "ACTIVE_LIVE").await;
    waiting
}

/// Until the bundle stands so; a bundle that never does fails the test by its bound.
pub async fn until(caller: &Caller, id: &str, state: &str) {
    let reached = async {
        while caller.ask_for(CLARIFICATION, json!({ "id": id })).await["state"] != state {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), reached)
        .await
        .unwrap_or_else(|_| panic!("never {state}"));
}

pub async fn respond(caller: &Caller, id: &str, key: &str, answers: Value) -> Value {
    caller.ask_for(RESPOND, json!({ "input": { "pendingId": id, "clientKey": key, "answers": answers } })).await
}

pub async fn skip(caller: &Caller, id: &str, key: &str, reason: &str) -> Value {
    caller.ask_for(SKIP, json!({ "input": { "pendingId": id, "clientKey": key, "reason": reason } })).await
}

pub async fn clarification(caller: &Caller, id: &str) -> Value {
    caller.ask_for(CLARIFICATION, json!({ "id": id })).await
}
