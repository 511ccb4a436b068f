//! Two real servers on one database: an agent waits at the one, a person answers at the other.
//! May import: the servers of tests.

#[path = "../../tests/it/kill/server.rs"]
#[expect(dead_code, reason = "signals are for tests")]
mod server;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use server::{Caller, Server};

const ANSWERS: usize = 200;
const TASK: &str = "mutation { createTask(input: { title: \"t\" }) { ... on TaskPayload { taskId } } }";
const SESSION: &str =
    "mutation($task: ID!) { createSession(input: { taskId: $task }) { ... on SessionPayload { sessionId } } }";
const ASK: &str = "mutation($session: ID!, $key: String!) { askClarification(input: { sessionId: $session, clientKey: $key, \
    questions: [{ prompt: \"one?\" }] }) { ... on ClarificationOutcome { pendingId } } }";
const AWAIT: &str = "mutation($id: ID!) { awaitClarification(pendingId: $id, waitSeconds: 20) { \
    ... on ClarificationOutcome { status } } }";
const RESPOND: &str = "mutation($input: RespondInput!) { respond(input: $input) { __typename } }";
const STATE: &str = "query($id: ID!) { clarification(pendingId: $id) { state } }";

/// The one field of an answer without errors.
async fn call(caller: &Caller, query: &str, variables: Value) -> Value {
    let data = caller.call(query, variables).await.expect("an answer");
    data.as_object().and_then(|data| data.values().next()).expect("a field").clone()
}

/// Prints how long an answer took from the call at one server until the wait at the other returned.
pub async fn measure(database: &str) {
    let start = async |name| Server::start_with(database, &["--server-name", name, "--log-filter", "error"]).await;
    let servers = (start("one").await, start("other").await);
    let (one, other) = (servers.0.caller(), servers.1.caller());
    let task = call(&one, TASK, json!({})).await["taskId"].clone();
    let session = call(&one, SESSION, json!({ "task": task })).await["sessionId"].clone();
    let mut times = Vec::new();
    for number in 0..ANSWERS {
        let asked = call(&one, ASK, json!({ "session": session, "key": number.to_string() })).await;
        let id = asked["pendingId"].clone();
        let respond = async {
            while call(&other, STATE, json!({ "id": id })).await["state"] != "ACTIVE_LIVE" {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let start = Instant::now();
            let answers = json!([{ "questionId": "q1", "customText": "yes" }]);
            let input = json!({ "pendingId": id, "clientKey": "k", "answers": answers });
            let told = call(&other, RESPOND, json!({ "input": input })).await;
            assert_eq!(told["__typename"], "ResponseAccepted");
            start
        };
        let wait = async {
            let heard = call(&one, AWAIT, json!({ "id": id })).await;
            assert_eq!(heard["status"], "ANSWERED");
            Instant::now()
        };
        let (start, end) = tokio::join!(respond, wait);
        times.push(end.duration_since(start));
    }
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1_000.0;
    println!("answer to a waiter across two servers: p50 {:.1} ms, p99 {:.1} ms, of {ANSWERS}", at(50), at(99));
}
