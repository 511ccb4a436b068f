//! Subscribers: one follows each session over server-sent events, goes on from its cursor wherever a server went away,
//! and shows the newest revision. May import: calls, clients.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::calls::{self, Caller};
use super::clients::World;

const FOLLOW: &str =
    "subscription($session: ID!, $after: Cursor) { sessionChanges(sessionId: $session, after: $after) {
    __typename cursor
    ... on SessionSnapshot { projection { action revision { epoch sequence } } }
    ... on ProjectionChanged { projection { action revision { epoch sequence } } }
    ... on SessionStateChanged { projection { action revision { epoch sequence } } }
    ... on TurnStarted { projection { action revision { epoch sequence } } }
    ... on TurnCompleted { projection { action revision { epoch sequence } } }
    ... on MessageAdded { projection { action revision { epoch sequence } } }
    ... on MessageUpdated { projection { action revision { epoch sequence } } }
    ... on Gap { reason } } }";
const DERIVED: &str =
    "query($session: ID!) { session(id: $session) { projection { action revision { epoch sequence } } } }";
/// Sessions that are followed at a time; the oldest is left alone then.
const FOLLOWED_MAX: usize = 12;
/// A stream that is silent for so long is opened again.
const SILENCE: Duration = Duration::from_secs(15);
/// Until the last change has to have been heard.
const COMES_THROUGH: Duration = Duration::from_secs(5);

/// Epoch and sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64, u64);

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_err(|_error| format!("no revision: {text}"));
        let (epoch, sequence) = text.split_once(' ').ok_or("no revision")?;
        Ok(Self(number(epoch)?, number(sequence)?))
    }
}

/// What a session waits for, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    pub revision: Revision,
    pub action: Option<String>,
}

impl Projection {
    fn read(projection: &Value) -> Option<Self> {
        let word = |name: &str| projection["revision"][name].as_str();
        let revision = format!("{} {}", word("epoch")?, word("sequence")?).parse().ok()?;
        Some(Self { revision, action: calls::text(&projection["action"]) })
    }
}

/// What subscribers show: each the newest that it heard of its session. What comes behind a cursor is read when it is
/// told, so a live item may have been read before it and come after it; the README tells clients to let nothing older
/// win, and so do these (INV-27).
#[derive(Default)]
pub struct Shown {
    newest: BTreeMap<String, Projection>,
    pub wrong: Vec<String>,
}

impl Shown {
    pub fn hear(&mut self, session: &str, told: &Projection) {
        match self.newest.get(session) {
            Some(shown) if shown.revision > told.revision => {}
            Some(shown) if shown.revision == told.revision && shown != told => {
                self.wrong.push(format!("subscriber of {session}: {told:?}, and before it was {shown:?}"));
            }
            _ => drop(self.newest.insert(session.to_owned(), told.clone())),
        }
    }

    /// Whether what is derived now is what is shown: a later epoch may tell it again.
    pub fn is(&self, session: &str, derived: &Projection) -> bool {
        let shown = self.newest.get(session);
        shown.is_some_and(|shown| shown.action == derived.action && shown.revision <= derived.revision)
    }
}

#[derive(Default)]
pub struct Followers {
    tasks: Mutex<Vec<(String, JoinHandle<()>)>>,
    shown: Arc<Mutex<Shown>>,
}

impl Followers {
    pub fn follow(&self, world: &World, session: &str) {
        let mut tasks = self.tasks.lock().unwrap();
        while tasks.len() >= FOLLOWED_MAX {
            tasks.remove(0).1.abort();
        }
        let (session, shown) = (session.to_owned(), Arc::clone(&self.shown));
        let (http, caller) = (reqwest::Client::new(), Caller::new(world.address.clone()));
        let follower = Follower { http, caller, session: session.clone(), shown };
        tasks.push((session, tokio::spawn(follower.go_on())));
    }

    /// What is wrong when nothing moves any more: what a subscriber shows is not what the state derives, or two things
    /// had one revision.
    pub async fn wrong(&self, world: &World) -> Vec<String> {
        let caller = Caller::new(world.address.clone());
        let followed: Vec<_> = self.tasks.lock().unwrap().drain(..).collect();
        let mut wrong = Vec::new();
        for (session, task) in followed {
            wrong.extend(self.differs(&caller, &session).await);
            task.abort();
        }
        wrong.append(&mut self.shown.lock().unwrap().wrong);
        wrong
    }

    /// Given time to come through.
    async fn differs(&self, caller: &Caller, session: &str) -> Option<String> {
        let end = Instant::now() + COMES_THROUGH;
        loop {
            let derived = caller.call(DERIVED, json!({ "session": session })).await;
            let derived = derived.ok().and_then(|data| Projection::read(&data["projection"]));
            if derived.as_ref().is_some_and(|derived| self.shown.lock().unwrap().is(session, derived)) {
                return None;
            }
            if Instant::now() > end {
                let shown = self.shown.lock().unwrap().newest.get(session).cloned();
                return Some(format!("subscriber of {session}: shows {shown:?}, and {derived:?} is derived"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

struct Follower {
    http: reqwest::Client,
    caller: Caller,
    session: String,
    shown: Arc<Mutex<Shown>>,
}

impl Follower {
    async fn go_on(self) {
        let mut after = None;
        loop {
            if let Some(response) = self.open(after.as_deref()).await {
                self.listen(response, &mut after).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn open(&self, after: Option<&str>) -> Option<reqwest::Response> {
        let body = json!({ "query": FOLLOW, "variables": { "session": self.session, "after": after } });
        let request = self.http.post(self.caller.url()).header("accept", "text/event-stream").json(&body);
        let response = tokio::time::timeout(SILENCE, request.send()).await.ok()?.ok()?;
        response.status().is_success().then_some(response)
    }

    async fn listen(&self, mut response: reqwest::Response, after: &mut Option<String>) {
        let mut text = String::new();
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout(SILENCE, response.chunk()).await {
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some((event, rest)) = text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                let change = data.and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
                if let Some(change) = change {
                    self.hear(&change["data"]["sessionChanges"], after);
                }
                text = rest.to_owned();
            }
        }
    }

    fn hear(&self, change: &Value, after: &mut Option<String>) {
        let Some(cursor) = change["cursor"].as_str() else { return };
        *after = Some(cursor.to_owned());
        if change["__typename"] == "Gap" {
            self.shown.lock().unwrap().wrong.push(format!("subscriber of {}: a gap, {change}", self.session));
        }
        if let Some(told) = Projection::read(&change["projection"]) {
            self.shown.lock().unwrap().hear(&self.session, &told);
        }
    }
}
