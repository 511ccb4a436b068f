//! The data, made by the mutations that runtimes use. May import: http.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::http::Http;

const CLIENTS: usize = 16;
/// One task of so many has a question that waits.
const ASKS_EACH: usize = 5;

const TASK: &str =
    "mutation($title: String!) { createTask(input: { title: $title }) { ... on TaskPayload { taskId } } }";
const SESSION: &str =
    "mutation($task: ID!) { createSession(input: { taskId: $task }) { ... on SessionPayload { sessionId } } }";
const TURN: &str = "mutation($session: ID!) { startTurn(input: { sessionId: $session }) { __typename } }";
const ASK: &str = "mutation($session: ID!) { askClarification(input: { sessionId: $session, questions: [{ \
    prompt: \"Which of the two should it be?\" }] }) { ... on ClarificationOutcome { pendingId } } }";

async fn id(http: &mut Http, query: &str, variables: Value, name: &str) -> Result<String, String> {
    let made = http.call(query, variables).await?;
    let id = made.get(name).and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| format!("{query}: {made}"))
}

/// A task with a session; with a question too, if it asks. The session.
async fn task(http: &mut Http, title: &str, asks: bool) -> Result<String, String> {
    let task = id(http, TASK, json!({ "title": title }), "taskId").await?;
    let session = id(http, SESSION, json!({ "task": task }), "sessionId").await?;
    if asks {
        http.call(TURN, json!({ "session": session })).await?;
        id(http, ASK, json!({ "session": session }), "pendingId").await?;
    }
    Ok(session)
}

/// One task whose question waits; its session.
pub async fn one(address: SocketAddr) -> Result<String, String> {
    task(&mut Http::connect(address).await?, "A task whose changes all follow", true).await
}

/// So many tasks.
pub async fn many(address: SocketAddr, rows: usize) -> Result<(), String> {
    let client = |own: usize| async move {
        let mut http = Http::connect(address).await?;
        for number in (own..rows).step_by(CLIENTS) {
            task(&mut http, &format!("Task {number} of the list"), number % ASKS_EACH == 0).await?;
        }
        Ok::<_, String>(())
    };
    let clients: Vec<_> = (0..CLIENTS).map(|own| tokio::spawn(client(own))).collect();
    for client in clients {
        client.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}
