//! GraphQL over a connection of a client's own, and what an answer says of what was done. May import: history.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::history::{Seen, Told};

/// A call that takes longer is given up: nobody knows what becomes of it.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// One that went wrong.
#[derive(Debug)]
pub enum Lost {
    /// It never left, or it says that nothing was done.
    Nothing(String),
    Unknown(String),
}

impl From<Lost> for Told {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Nothing(why) => Self::Fail(why),
            Lost::Unknown(why) => Self::Info(why),
        }
    }
}

pub struct Caller {
    http: reqwest::Client,
    address: watch::Receiver<String>,
}

impl Caller {
    pub fn new(address: watch::Receiver<String>) -> Self {
        let http = reqwest::Client::builder().timeout(PATIENCE).pool_max_idle_per_host(1).build().unwrap();
        Self { http, address }
    }

    pub fn url(&self) -> String {
        format!("{}/graphql", *self.address.borrow())
    }

    /// The one field that was asked for.
    pub async fn call(&self, query: &str, variables: Value) -> Result<Value, Lost> {
        let body = json!({ "query": query, "variables": variables });
        let sent = self.http.post(self.url()).json(&body).send().await;
        let response = sent.map_err(|error| match error.is_connect() {
            true => Lost::Nothing("no connection".into()),
            false => Lost::Unknown(error.to_string()),
        })?;
        let told: Value = response.json().await.map_err(|error| Lost::Unknown(error.to_string()))?;
        if let Some(error) = told["errors"].get(0) {
            let code = error["extensions"]["code"].as_str().unwrap_or("NONE").to_owned();
            // The README's promise of this code.
            return Err(if code == "BUSY" { Lost::Nothing(code) } else { Lost::Unknown(code) });
        }
        let data = told["data"].as_object().and_then(|data| data.values().next());
        data.cloned().ok_or_else(|| Lost::Unknown(format!("no data: {told}")))
    }
}

pub fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// What the members of the result unions say, whichever of them came.
pub fn told(result: Result<Value, Lost>) -> Told {
    let data = match result {
        Ok(data) => data,
        Err(lost) => return lost.into(),
    };
    let word = |name: &str| text(&data[name]).unwrap_or_default();
    match data["__typename"].as_str().unwrap_or_default() {
        "ResponseAccepted" => Told::Accepted { is_replayed: data["replayed"] == true },
        "ResponseConflict" => Told::Conflict { reason: word("reason"), winner: text(&data["winner"]["status"]) },
        "DeliveryFailed" => Told::Failed { is_retryable: data["retryable"] == true, code: word("code") },
        "Refused" => Told::Refused(word("refusal")),
        "ClarificationOutcome" if data.get("isNew").is_some() => {
            Told::Asked { is_new: data["isNew"] == true, outcome: word("status") }
        }
        "ClarificationOutcome" => {
            let text = text(&data["answers"][0]["text"]);
            Told::Seen(Seen { state: None, outcome: word("status"), text })
        }
        "Clarification" => {
            let (state, answer) = (text(&data["state"]), &data["questions"][0]["answer"]);
            Told::Seen(Seen { state, outcome: word("outcome"), text: text(&answer["customText"]) })
        }
        name if name.ends_with("Payload") => Told::Done,
        name => Told::Refused(format!("UNEXPECTED {name}")),
    }
}

pub const TASK: &str = "mutation { createTask(input: { title: \"nemesis\" }) {
    __typename ... on TaskPayload { taskId } } }";
pub const SESSION: &str = "mutation($task: ID!, $executor: String) {
    createSession(input: { taskId: $task, executor: $executor }) { __typename ... on SessionPayload { sessionId } } }";
pub const TURN: &str = "mutation($session: ID!) { startTurn(input: { sessionId: $session, prompt: \"go on\" }) {
    __typename ... on Refused { refusal } } }";
pub const ASK: &str = "mutation($session: ID!, $key: String!) {
    askClarification(input: { sessionId: $session, clientKey: $key, questions: [{ prompt: \"one?\" }] }) {
        __typename ... on ClarificationOutcome { pendingId status isNew } ... on Refused { refusal } } }";
pub const WAIT: &str = "mutation($id: ID!) { awaitClarification(pendingId: $id, waitSeconds: 1) {
    __typename ... on ClarificationOutcome { status answers { text } } ... on Refused { refusal } } }";
pub const READ: &str = "query($id: ID!) { clarification(pendingId: $id) {
    __typename state outcome questions { answer { customText } } } }";
pub const ANSWER: &str = "mutation($id: ID!, $key: String!) {
    respond(input: { pendingId: $id, clientKey: $key, answers: [{ questionId: \"q1\", customText: $key }] }) {
        __typename ... on ResponseAccepted { replayed } ... on ResponseConflict { reason winner { status } }
        ... on DeliveryFailed { code retryable } ... on Refused { refusal } } }";
pub const SKIP: &str = "mutation($id: ID!, $key: String!) {
    skip(input: { pendingId: $id, clientKey: $key, reason: $key }) {
        __typename ... on ResponseAccepted { replayed } ... on ResponseConflict { reason winner { status } }
        ... on DeliveryFailed { code retryable } ... on Refused { refusal } } }";
pub const CANCEL: &str = "mutation($id: ID!) { cancelClarification(pendingId: $id) {
    __typename ... on Refused { refusal } } }";
pub const PAUSE: &str = "mutation($session: ID!) { cancelTurn(input: { sessionId: $session }) {
    __typename ... on Refused { refusal } } }";
pub const END: &str = "mutation($session: ID!) { setSessionState(sessionId: $session, state: CANCELLED) {
    __typename ... on Refused { refusal } } }";
