//! What every path begins with: a session whose turn has asked a bundle that nobody waits for, made once and copied
//! for each cell; and the calls that a path makes. May import: base, server, the crate.

use serde_json::{Value, json};

use super::base::Base;
use super::server::{Caller, Server, Start};

/// Ids of what stands in a template.
#[derive(Clone, Debug)]
pub struct Names {
    pub task: String,
    /// Its turn has asked the bundle.
    pub session: String,
    pub turn: String,
    pub bundle: String,
    /// Has a turn that asked nothing.
    pub fresh: String,
    /// Has no turn.
    pub empty: String,
    /// Questions that an answer has to answer.
    pub open: Vec<&'static str>,
    pub size: usize,
}

/// A database to copy.
pub struct Template {
    database: Base,
    names: Names,
}

impl Template {
    /// With a bundle of one question, or of three of which one was answered before.
    pub async fn new(database: Base, size: usize) -> Self {
        let server = Server::start_whole(&database).await;
        let caller = server.caller();
        let task = caller
            .call("mutation { createTask(input: { title: \"t\" }) { ... on TaskPayload { taskId } } }", json!({}));
        let task = text(&task.await["taskId"]);
        let session = new_session(&caller, &task).await;
        let fresh = new_session(&caller, &task).await;
        let empty = new_session(&caller, &task).await;
        let turn = start_turn(&caller, &session).await;
        start_turn(&caller, &fresh).await;
        let bundle = text(&ask(&caller, &session, size, 0).await.unwrap()["pendingId"]);
        assert_eq!(server.terminate().await.code, Some(0));
        database.teach();
        let open = if size == 1 { vec!["q1"] } else { vec!["q1", "q3"] };
        if size > 1 {
            database.run(
                "UPDATE task_session_messages SET metadata = json_set(json_set(metadata, '$.status', 'answered'),
                '$.response', json('{\"question_id\":\"q2\",\"custom_text\":\"earlier\"}'))
                WHERE is_question AND json_extract(metadata, '$.question.id') = 'q2'",
            );
        }
        let names = Names { task, session, turn, bundle, fresh, empty, open, size };
        Self { database, names }
    }

    pub fn copy(&self) -> Scene {
        Scene { database: self.database.copy(), names: self.names.clone() }
    }
}

/// One cell's database.
pub struct Scene {
    pub database: Base,
    pub names: Names,
}

impl Scene {
    /// A copy of a scene that no server has opened yet.
    pub fn copied(scene: &Self) -> Self {
        Self { database: scene.database.copy(), names: scene.names.clone() }
    }

    pub async fn armed(&self, points: &str) -> Server {
        match Server::start(&self.database, points).await {
            Start::Listens(server) => server,
            Start::Ended(ended) => panic!("{points} ended the start: {ended:?}"),
        }
    }

    /// Starts it with nothing armed. Before it listens, everything that waited is replayed (INV-23).
    pub async fn restart(&self) -> Server {
        let server = Server::start_whole(&self.database).await;
        let waiting = self.read("SELECT body AS line FROM outbox_events WHERE accepted_us IS NULL");
        assert_eq!(waiting, Vec::<String>::new(), "the port is open, and events wait");
        server
    }

    /// Prompts that reached the agent; those that it refused do not count (INV-08).
    pub fn dispatches(&self) -> usize {
        self.agent_lines().iter().filter(|line| !line.starts_with("reject")).count()
    }

    pub fn agent_lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.database.dispatches()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Changes the database by hand while no server runs. `$session`, `$turn` and `$bundle` stand for their ids.
    pub fn plant(&self, sql: &str) {
        let names = &self.names;
        let sql = sql.replace("$session", &format!("'{}'", names.session));
        let sql = sql.replace("$turn", &format!("'{}'", names.turn));
        self.database.run(&sql.replace("$bundle", &format!("'{}'", names.bundle)));
    }

    /// One text column of every row, in order.
    pub fn read(&self, sql: &str) -> Vec<String> {
        self.database.read(sql)
    }

    /// Everything that recovery may touch, as text; summaries follow by themselves.
    pub fn dump(&self) -> Vec<String> {
        self.read(
            "SELECT id || ' ' || state || ' ' || sequence AS line FROM task_sessions
            UNION ALL SELECT id || ' ' || COALESCE(end_kind, '') || ' ' || has_evidence || ' ' || metadata
                FROM task_session_turns
            UNION ALL SELECT id || ' ' || turn_id || ' ' || updated_us || ' ' || metadata FROM task_session_messages
            UNION ALL SELECT pending_id || ' ' || id FROM clarification_waiters
            UNION ALL SELECT key || ' ' || result_id || ' ' || result_claim FROM client_keys
            UNION ALL SELECT position || ' ' || body FROM outbox_events
                WHERE json_extract(body, '$.kind') <> 'TASK_CHANGED' ORDER BY 1",
        )
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

async fn new_session(caller: &Caller, task: &str) -> String {
    let query = "mutation($task: ID!) { createSession(input: { taskId: $task, executor: \"recording\" }) {
        ... on SessionPayload { sessionId } } }";
    text(&caller.call(query, json!({ "task": task })).await["sessionId"])
}

const START_TURN: &str = "mutation($session: ID!) { startTurn(input: { sessionId: $session, prompt: \"go on\" }) {
    __typename ... on StartTurnPayload { turnId } } }";

async fn start_turn(caller: &Caller, session: &str) -> String {
    text(&caller.call(START_TURN, json!({ "session": session })).await["turnId"])
}

/// The one field of a response that came whole.
fn field(body: Option<Value>) -> Option<Value> {
    body?.get("data")?.as_object()?.values().next().cloned()
}

/// Asks that many questions under the key `ask`.
pub async fn ask(caller: &Caller, session: &str, size: usize, wait_s: u32) -> Option<Value> {
    let query = "mutation($session: ID!, $questions: [ClarificationQuestionInput!]!, $wait: Int!) {
        askClarification(input: { sessionId: $session, clientKey: \"ask\", questions: $questions, waitSeconds: $wait }) {
            __typename ... on ClarificationOutcome { pendingId status isNew } } }";
    let questions: Vec<_> = (1..=size).map(|n| json!({ "prompt": format!("{n}?") })).collect();
    field(caller.try_call(query, json!({ "session": session, "questions": questions, "wait": wait_s })).await)
}

/// A person's and a runtime's calls about the scene's bundle and session.
pub struct Acts<'s> {
    pub caller: Caller,
    pub names: &'s Names,
}

impl Acts<'_> {
    async fn call(&self, query: &str, variables: Value) -> Option<Value> {
        field(self.caller.try_call(query, variables).await)
    }

    pub async fn respond(&self, key: &str) -> Option<Value> {
        let query = "mutation($input: RespondInput!) { respond(input: $input) { __typename
            ... on ResponseAccepted { replayed } ... on ResponseConflict { conflict: reason winner { status } }
            ... on DeliveryFailed { code retryable } ... on Refused { refusal } } }";
        let answer = |id: &&str| json!({ "questionId": id, "customText": "yes" });
        let answers: Vec<_> = self.names.open.iter().map(answer).collect();
        self.call(
            query,
            json!({ "input": { "pendingId": self.names.bundle, "clientKey": key, "answers": answers } }),
        )
        .await
    }

    pub async fn skip(&self, key: &str) -> Option<Value> {
        let query = "mutation($input: SkipInput!) { skip(input: $input) { __typename
            ... on ResponseConflict { conflict: reason } ... on Refused { refusal } } }";
        self.call(query, json!({ "input": { "pendingId": self.names.bundle, "clientKey": key, "reason": "no" } }))
            .await
    }

    /// Waits for the bundle; live from the moment that `is_live` sees it.
    pub async fn wait(&self, seconds: u32) -> Option<Value> {
        let query = "mutation($id: ID!, $wait: Int!) { awaitClarification(pendingId: $id, waitSeconds: $wait) {
            __typename ... on ClarificationOutcome { status answers { text } } } }";
        self.call(query, json!({ "id": self.names.bundle, "wait": seconds })).await
    }

    pub async fn state(&self) -> String {
        let query = "query($id: ID!) { clarification(pendingId: $id) { state } }";
        let read = self.call(query, json!({ "id": self.names.bundle })).await;
        read.and_then(|read| Some(read.get("state")?.as_str()?.to_owned())).unwrap_or_default()
    }

    /// Until somebody waits for the bundle.
    pub async fn until_live(&self) {
        for _ in 0..500 {
            if self.state().await == "ACTIVE_LIVE" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("nobody waits for the bundle");
    }

    pub async fn start_turn(&self) -> Option<Value> {
        self.call(START_TURN, json!({ "session": self.names.session })).await
    }

    pub async fn send_prompt(&self) -> Option<Value> {
        let query = "mutation($session: ID!) { sendPrompt(input: { sessionId: $session, clientKey: \"p\", text: \"more\" }) {
            __typename ... on Refused { refusal } } }";
        self.call(query, json!({ "session": self.names.session })).await
    }

    pub async fn detach(&self) -> Option<Value> {
        let query = "mutation($session: ID!) { detachClarifications(sessionId: $session) {
            ... on DetachClarificationsPayload { detached } } }";
        self.call(query, json!({ "session": self.names.session })).await
    }

    pub async fn cancel_turn(&self, session: &str, expected: Option<&str>) -> Option<Value> {
        let query = "mutation($session: ID!, $turn: ID) { cancelTurn(input: { sessionId: $session, expectedTurnId: $turn }) {
            __typename } }";
        self.call(query, json!({ "session": session, "turn": expected })).await
    }

    pub async fn complete_turn(&self, turn: &str) -> Option<Value> {
        let query = "mutation($session: ID!, $turn: ID!) { completeTurn(sessionId: $session, turnId: $turn) { __typename } }";
        self.call(query, json!({ "session": self.names.session, "turn": turn })).await
    }

    pub async fn append(&self, turn: &str) -> Option<Value> {
        let query = "mutation($session: ID!, $turn: ID!) {
            appendMessage(input: { sessionId: $session, turnId: $turn, content: \"at work\" }) { __typename } }";
        self.call(query, json!({ "session": self.names.session, "turn": turn })).await
    }

    pub async fn delete_message(&self, id: &str) -> Option<Value> {
        self.call("mutation($id: ID!) { deleteMessage(messageId: $id) { __typename } }", json!({ "id": id })).await
    }

    pub async fn cancel(&self) -> Option<Value> {
        let query = "mutation($id: ID!) { cancelClarification(pendingId: $id) { __typename } }";
        self.call(query, json!({ "id": self.names.bundle })).await
    }

    pub async fn end_session(&self, state: &str) -> Option<Value> {
        let query = "mutation($session: ID!, $state: SessionState!) { setSessionState(sessionId: $session, state: $state) {
            __typename } }";
        self.call(query, json!({ "session": self.names.session, "state": state })).await
    }

    pub async fn create_session(&self) -> Option<Value> {
        let query = "mutation($task: ID!) { createSession(input: { taskId: $task }) { __typename } }";
        self.call(query, json!({ "task": self.names.task })).await
    }
}
