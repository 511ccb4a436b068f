//! A server that runs the real ACP agent of `tests/acp/peer`, and what happened to that agent.
//! May import: the crate, the app, the scene.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use answerable::config::{Acp, AcpVersion, Executor, Secret};
use answerable::serve::Options;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::scene::{SEND_PROMPT, ask, clarification, questions, respond, scene};
use crate::app::{App, Caller};

pub const NAME: &str = "coder";

const SESSION: &str = "query($id: ID!) { session(id: $id) { state projection { action } activeClarification { pendingId }
  currentTurn { id end dispatchOutcome } messages(last: 50) { edges { node { author kind content metadata } } } } }";
const RESOLVE: &str = "mutation($session: ID!, $id: ID!, $decision: PermissionDecision!) {
  resolvePermissionRequest(sessionId: $session, permissionId: $id, decision: $decision) { __typename } }";
const CANCEL: &str = "mutation($input: CancelTurnInput!) { cancelTurn(input: $input) { __typename
  ... on CancelTurnPayload { turnId } } }";

/// How long anything may take; nothing is asserted of how long it does.
const BOUND: Duration = Duration::from_secs(60);

pub struct Stage {
    pub app: App,
    pub local: Caller,
    pub session: String,
    journal: Journal,
    agent: Acp,
    _dir: Arc<TempDir>,
}

/// What the agent wrote of itself.
#[derive(Clone)]
pub struct Journal(PathBuf);

impl Journal {
    /// What happened of that name.
    pub fn of(&self, event: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event"] == event).collect()
    }

    /// Until it happened that often.
    pub async fn until(&self, event: &str, count: usize) -> Vec<Value> {
        eventually(event, async || Some(self.of(event)).filter(|all| all.len() >= count)).await
    }
}

/// Looks again until there is something.
pub async fn eventually<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(BOUND, found).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// The agent as the settings would name it, with its journal in that folder.
pub fn peer(dir: &Path, env: &[(&str, &str)]) -> (Acp, Journal) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/peer/agent.mjs");
    let is_there = script.with_file_name("node_modules/.package-lock.json").exists();
    assert!(is_there, "the agent is not installed: npm ci --prefix tests/acp/peer, or make it");
    let journal = dir.join("journal");
    let own = [("PATH", std::env::var("PATH").unwrap()), ("PEER_JOURNAL", journal.display().to_string())];
    let given = env.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let env = own.into_iter().chain(given).map(|(name, value)| (name.to_owned(), Secret::from(value.as_str())));
    let acp = Acp {
        command: "node".into(),
        args: vec![script.display().to_string()],
        env: env.collect(),
        cwd: dir.to_owned(),
        version: AcpVersion::V1,
        log_stderr: false,
    };
    (acp, Journal(journal))
}

fn settle(options: &mut Options, agent: Acp) {
    options.endpoints.insert(NAME.into(), Executor::Acp(agent));
    options.bridge = env!("CARGO_BIN_EXE_answerable").into();
    options.limits.dispatch = Duration::from_secs(30);
    options.acp.write = Duration::from_millis(20);
}

impl Stage {
    /// A session whose agent is told by those variables how to begin, on a server that is changed so.
    pub async fn start(env: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Self {
        let dir = Arc::new(TempDir::new().unwrap());
        let (agent, journal) = peer(dir.path(), env);
        Self::start_with(dir, agent, journal, change).await
    }

    /// The same with an agent of the second version.
    pub async fn start_draft(change: impl FnOnce(&mut Options)) -> Self {
        let dir = Arc::new(TempDir::new().unwrap());
        let (mut agent, journal) = peer(dir.path(), &[]);
        agent.version = AcpVersion::V2;
        agent.args = agent.args.iter().map(|script| script.replace("agent.mjs", "agent2.mjs")).collect();
        Self::start_with(dir, agent, journal, change).await
    }

    async fn start_with(
        dir: Arc<TempDir>,
        agent: Acp,
        journal: Journal,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let app = App::start_with(|options| {
            settle(options, agent.clone());
            change(options);
        })
        .await;
        let local = app.local();
        let session = scene(&local, Some(NAME)).await.session;
        Self { app, local, session, journal, agent, _dir: dir }
    }

    /// Another server on the same store.
    pub async fn restart(self) -> Self {
        let agent = self.agent.clone();
        let app = self.app.restart(|options| settle(options, agent)).await;
        Self { local: app.local(), app, ..self }
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// How many prompts the agent read.
    pub fn prompts(&self) -> usize {
        self.journal.of("prompt").len()
    }

    /// A bundle that nobody waits for.
    pub async fn detached(&self) -> String {
        ask(&self.local, &self.session, questions()).await
    }

    /// Answers it with those words in the last question.
    pub async fn respond(&self, pending: &str, key: &str, words: &str) -> Value {
        let answers = json!([
            { "questionId": "q1", "optionIds": ["q1_opt2"] },
            { "questionId": "q2", "optionIds": ["q2_opt3", "q2_opt1"], "customText": "and more" },
            { "questionId": "q3", "customText": words },
        ]);
        respond(&self.local, pending, key, answers).await
    }

    /// Takes the turn that the scene began out of the way, and prompts the agent.
    pub async fn prompt(&self, key: &str, text: &str) -> Value {
        let input = json!({ "sessionId": self.session, "text": text, "clientKey": key });
        self.local.ask_for(SEND_PROMPT, json!({ "input": input })).await
    }

    /// A session that works on that prompt.
    pub async fn prompted(env: &[(&str, &str)], text: &str, change: impl FnOnce(&mut Options)) -> Self {
        let stage = Self::start(env, change).await;
        stage.cancel().await;
        let prompted = stage.prompt("first", text).await;
        assert_eq!(prompted["__typename"], "PromptAccepted", "{prompted}");
        stage
    }

    pub async fn cancel(&self) {
        let turn = self.look().await["currentTurn"]["id"].clone();
        let input = json!({ "input": { "sessionId": self.session, "expectedTurnId": turn } });
        let cancelled = self.local.ask_for(CANCEL, input).await;
        assert_eq!(cancelled["turnId"], turn, "{cancelled}");
    }

    pub async fn look(&self) -> Value {
        self.local.ask_for(SESSION, json!({ "id": self.session })).await
    }

    pub async fn state(&self, pending: &str) -> Value {
        clarification(&self.local, pending).await["state"].clone()
    }

    /// Until the current turn ended so; the session as it is then.
    pub async fn ended(&self, end: &str) -> Value {
        eventually(end, async || Some(self.look().await).filter(|seen| seen["currentTurn"]["end"] == end)).await
    }

    /// What is said in the session by that author.
    pub async fn said(&self, author: &str) -> Vec<String> {
        words(&self.look().await, author)
    }

    /// The bundle that the chat shows, once there is one.
    pub async fn asked(&self) -> String {
        let look = async || self.look().await["activeClarification"]["pendingId"].as_str().map(str::to_owned);
        eventually("a question", look).await
    }

    /// The permission that the agent waits for.
    pub async fn wanted(&self) -> String {
        eventually("a permission", async || {
            let seen = self.look().await;
            let edges = seen["messages"]["edges"].as_array().unwrap().clone();
            let open = edges.into_iter().map(|edge| edge["node"].clone());
            let mut open =
                open.filter(|m| m["kind"] == "permission_request" && m["metadata"]["status"] == "pending");
            open.next().and_then(|message| message["metadata"]["pending_id"].as_str().map(str::to_owned))
        })
        .await
    }

    pub async fn decide(&self, by: &Caller, permission: &str, decision: &str) -> Value {
        let variables = json!({ "session": self.session, "id": permission, "decision": decision });
        by.ask_for(RESOLVE, variables).await["__typename"].clone()
    }
}

/// What a session's transcript says by that author.
pub fn words(session: &Value, author: &str) -> Vec<String> {
    let edges = session["messages"]["edges"].as_array().unwrap();
    let own = edges.iter().map(|edge| &edge["node"]).filter(|message| message["author"] == author);
    own.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// Until no process of that id is left.
pub async fn gone(pid: &Value) {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    eventually("the end of a process", async || {
        // A process that ended and that nobody waited for is no orphan that runs.
        let stat = std::fs::read_to_string(&path).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    })
    .await;
}
