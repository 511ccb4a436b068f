//! Agents outside for the fault loops: a webhook's receiver, workers that come, a coding agent; each does with a prompt
//! what it is told to, and remembers what reached it. May import: the crate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use answerable::access::Viewer;
use answerable::authority::{Authority, ClaimDispatch, LeaseKey, Offer};
use answerable::config::{self, AcpVersion, Redelivery, Secret};
use answerable::dispatch::Recording;
use answerable::serve::Options;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode};
use futures_util::StreamExt;
use serde_json::Value;

use super::world::file;

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Who a session's agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Recording,
    Webhook,
    Workers,
    Coder,
}

impl Agent {
    pub fn name(self) -> &'static str {
        match self {
            Self::Recording => Recording::NAME,
            Self::Webhook => "webhook",
            Self::Workers => "workers",
            Self::Coder => "coder",
        }
    }
}

/// What the agents do, and what reached them.
#[derive(Clone, Default)]
pub struct Peers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What the next prompt meets, and what taking it back meets; empty: it is taken.
    does: (&'static str, &'static str),
    /// What reached them and was not refused, as text.
    got: Vec<String>,
    journal: PathBuf,
}

impl Peers {
    pub fn do_next(&self, how: &'static str, revoked: &'static str) {
        self.0.lock().unwrap().does = (how, revoked);
    }

    fn does(&self) -> (&'static str, &'static str) {
        self.0.lock().unwrap().does
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().got.push(what);
    }

    /// Prompts with this text that were not refused.
    pub fn count(&self, text: &str) -> usize {
        let state = self.0.lock().unwrap();
        let journal = std::fs::read_to_string(&state.journal).unwrap_or_default();
        let is_prompt = |line: &&str| line.contains("\"event\":\"prompt\"") && !line.contains("do:refuse");
        let read = journal.lines().filter(is_prompt).filter(|line| line.contains(text)).count();
        read + state.got.iter().filter(|got| got.contains(text)).count()
    }

    /// Puts that agent among the executors of a server to be.
    pub async fn settle(&self, agent: Agent, options: &mut Options) {
        let endpoint = match agent {
            Agent::Recording => return,
            Agent::Webhook => config::Executor::Webhook(self.listen().await),
            Agent::Workers => config::Executor::Pull,
            Agent::Coder => config::Executor::Acp(self.coder(file(options))),
        };
        options.endpoints.insert(agent.name().into(), endpoint);
        // Each is reached over a socket or has to start, and none is waited for longer than it needs.
        options.limits.dispatch = Duration::from_millis(if agent == Agent::Coder { 4_000 } else { 500 });
        options.limits.lease = Duration::from_millis(300);
        options.acp.idle = Duration::from_millis(50);
        options.bridge = env!("CARGO_BIN_EXE_answerable").into();
    }

    async fn listen(&self) -> config::Webhook {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let own = self.clone();
        let take = move |method: Method, headers: HeaderMap, body: Bytes| {
            let own = own.clone();
            async move { own.take(&method, &headers, &body).await }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        config::Webhook {
            url: url.parse().unwrap(),
            secrets: vec![Secret::from(KEY)],
            can_revoke: true,
            can_interrupt: false,
            redelivery: Redelivery::Never,
            allow_private: true,
        }
    }

    async fn take(&self, method: &Method, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        if standardwebhooks::Webhook::new(KEY).unwrap().verify(body, headers).is_err() {
            return StatusCode::UNAUTHORIZED;
        }
        let (how, revoked) = self.does();
        if method == Method::DELETE {
            return match revoked {
                "revoked" => StatusCode::NO_CONTENT,
                "accepted" => StatusCode::CONFLICT,
                _ => StatusCode::NOT_FOUND,
            };
        }
        let body: Value = serde_json::from_slice(body).unwrap();
        if how == "reject" {
            return StatusCode::UNPROCESSABLE_ENTITY;
        }
        if revoked != "revoked" {
            self.note(format!("posted {} {}", body["data"]["turnId"], body["data"]["pendingId"]));
        }
        match how {
            "unknown" => StatusCode::INTERNAL_SERVER_ERROR,
            "hang" => std::future::pending().await,
            _ => StatusCode::ACCEPTED,
        }
    }

    /// A worker that comes back whatever it meets, until the server is gone.
    pub async fn work(self, authority: Authority) {
        loop {
            let Ok(offers) = authority.offers(&Viewer::local(), Agent::Workers.name()) else { return };
            let mut offers = Box::pin(offers);
            while let Some(Ok(offer)) = offers.next().await {
                self.claim(&authority, offer).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn claim(&self, authority: &Authority, offer: Offer) {
        let ((how, _), viewer) = (self.does(), Viewer::local());
        if how == "hang" {
            return;
        }
        let executor = Agent::Workers.name().to_owned();
        let claim = ClaimDispatch { executor, dispatch_id: offer.dispatch_id, lease: None };
        let Ok(claimed) = authority.claim_dispatch(&viewer, claim).await else { return };
        let key = LeaseKey { dispatch_id: claimed.dispatch.turn_id.clone(), lease_token: claimed.lease_token };
        if how == "reject" {
            drop(authority.reject_dispatch(&viewer, &key, "the test says so".into()).await);
            return;
        }
        let answers = claimed.dispatch.pending_id.map(|id| id.to_string()).unwrap_or_default();
        self.note(format!("claimed {} {answers}", key.dispatch_id));
        if how != "unknown" {
            for _ in 0..2 {
                drop(authority.ack_dispatch(&viewer, &key).await);
            }
        }
    }

    fn coder(&self, database: &Path) -> config::Acp {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/peer/agent.mjs");
        let journal = database.with_extension("journal");
        self.0.lock().unwrap().journal.clone_from(&journal);
        let env = [("PATH", std::env::var("PATH").unwrap()), ("PEER_JOURNAL", journal.display().to_string())];
        config::Acp {
            command: "node".into(),
            args: vec![script.display().to_string()],
            env: env.map(|(name, value)| (name.to_owned(), Secret::from(value.as_str()))).into(),
            cwd: "/".into(),
            version: AcpVersion::V1,
            log_stderr: false,
        }
    }
}
