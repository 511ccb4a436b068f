//! A whole server in this process, on a port of its own and a store of its own. When a test is done with it, the
//! store is opened again and asked whether anything was left half done. May import: the crate.

use std::sync::Arc;
use std::time::Duration;

use answerable::access::{Role, Viewer};
use answerable::authority::{Authority, NewToken};
use answerable::config::{Flags, Profile, Settings};
use answerable::dispatch::{Executors, Scripted};
use answerable::ids::{Position, SessionId, WorkspaceId};
use answerable::lifecycle::Recovery;
use answerable::ports::{Clock, System};
use answerable::serve::{Error, Options, Running, start};
use answerable::store::{Store, StoreOptions};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::home::Home;

/// The scripted executor's name.
pub const EXECUTOR: &str = "scripted";

/// The name of servers under test and of those whose place they take.
pub const SERVER: &str = "test";

/// A server under test.
pub struct App {
    running: Running,
    pub executor: Arc<Scripted>,
    http: reqwest::Client,
    home: Arc<Home>,
}

/// How long the store waits for a lock.
pub fn set_busy_timeout(options: &mut Options, ms: u64) {
    match &mut options.store {
        StoreOptions::Sqlite(options) => options.busy_timeout_ms = ms,
        StoreOptions::Postgres(options) => options.lock = Duration::from_millis(ms),
    }
}

/// Somebody who calls it.
#[derive(Clone)]
pub struct Caller {
    pub url: String,
    pub token: Option<String>,
    pub http: reqwest::Client,
}

impl App {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut Options)) -> Self {
        Self::start_on(Home::new(), change).await.unwrap()
    }

    /// A server on what is there.
    pub async fn start_on(home: Arc<Home>, change: impl FnOnce(&mut Options)) -> Result<Self, Error> {
        let database = Some(home.url());
        let listen = Some("127.0.0.1:0".parse().unwrap());
        let profile = Some(Profile::Development);
        let settings = Settings::load(Flags { listen, database, profile, ..Flags::default() }).unwrap();
        let executor = Arc::new(Scripted::default());
        let mut options = Options::new(&settings, None);
        options.membership.server = SERVER.into();
        // Its statements are nobody's whose statements are counted.
        options.membership.heartbeat = Duration::from_secs(3_600);
        options.executors = Executors::default().with(EXECUTOR, executor.clone());
        options.limits.hand_over = Duration::from_secs(2);
        options.limits.dispatch = Duration::from_millis(500);
        options.limits.poll = Duration::from_millis(200);
        change(&mut options);
        let running = Box::pin(start(options)).await?;
        Ok(Self { running, executor, http: reqwest::Client::new(), home })
    }

    /// Stops it, and starts another one on its store.
    pub async fn restart(self, change: impl FnOnce(&mut Options)) -> Self {
        self.running.stop().await.unwrap();
        Self::start_on(self.home, change).await.unwrap()
    }

    /// What its start took up.
    pub fn recovery(&self) -> Recovery {
        self.running.recovery
    }

    /// Its database, seen from outside.
    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn authority(&self) -> &Authority {
        &self.running.authority
    }

    pub fn address(&self) -> String {
        self.running.address.to_string()
    }

    /// The local user, while there are no tokens.
    pub fn local(&self) -> Caller {
        self.with_token(None)
    }

    pub fn with_token(&self, token: Option<String>) -> Caller {
        Caller { url: format!("http://{}/graphql", self.address()), token, http: self.http.clone() }
    }

    /// Somebody with a token of that role.
    pub async fn caller(&self, role: Role, workspaces: Option<&[&str]>, session: Option<&str>) -> Caller {
        let new = NewToken {
            role,
            workspaces: workspaces.map(|ids| ids.iter().map(|id| WorkspaceId::new(*id)).collect()),
            session_id: session.map(SessionId::new),
            name: "test".into(),
            expires_in_s: None,
        };
        let (_, token) = self.authority().create_token(&Viewer::local(), new).await.unwrap();
        self.with_token(Some(token))
    }

    /// Stops the server and looks at what it left: no event waits, no claim is open, no reservation is kept.
    pub async fn finish(self) {
        self.running.stop().await.unwrap();
        let store = Store::open(&self.home.options()).await.unwrap();
        assert_eq!(store.outbox_unaccepted(Position(0), 9).await.unwrap(), [], "events wait in the outbox");
        store.epoch_allocate("", Duration::ZERO, System.now()).await.unwrap();
        assert_eq!(store.sessions_to_recover().await.unwrap(), [], "something was left half done");
        store.close().await.unwrap();
    }
}

impl Caller {
    pub fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(&self.url).json(body);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// The whole response.
    pub async fn send(&self, query: &str, variables: Value) -> (StatusCode, Value) {
        let response = self.post(&json!({ "query": query, "variables": variables })).send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    /// The data of a response without errors.
    pub async fn call(&self, query: &str, variables: Value) -> Value {
        let (status, body) = self.send(query, variables).await;
        assert!(status.is_success() && body.get("errors").is_none(), "{status} {body}");
        body["data"].clone()
    }

    /// The only field of that data.
    pub async fn ask_for(&self, query: &str, variables: Value) -> Value {
        let data = self.call(query, variables).await;
        let mut fields = data.as_object().unwrap().values();
        let only = fields.next().unwrap().clone();
        assert!(fields.next().is_none());
        only
    }

    /// The code of a response that is an error.
    pub async fn code(&self, query: &str, variables: Value) -> String {
        let (_, body) = self.send(query, variables).await;
        body["errors"][0]["extensions"]["code"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    }
}
