//! The agent to which answers are dispatched: a webhook outside the server, which writes down what reaches it before it
//! says anything, and can refuse, hang, die and come back. May import: nothing of the tests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::runtime::Runtime;

/// What it does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Takes,
    /// It says provably no.
    Refuses,
    /// It has it, and never says so.
    Hangs,
}

/// One dispatch that reached it.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub pending_id: String,
    pub text: Option<String>,
    pub mood: Mood,
}

#[derive(Clone)]
struct Desk {
    mood: Arc<Mutex<Mood>>,
    lines: Arc<Mutex<Vec<Dispatch>>>,
}

pub struct Agent {
    desk: Desk,
    address: SocketAddr,
    /// Its own, so that killing it ends every connection; none while it is dead.
    runtime: Option<Runtime>,
}

impl Agent {
    /// On a port below those that the system gives to connections, so that it can come back to it.
    pub fn start() -> Self {
        let ports = 20_000..32_000;
        let first = u16::try_from(std::process::id() % 12_000).unwrap();
        let mut tried = ports.cycle().skip(usize::from(first)).take(1_000);
        let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let address = SocketAddr::from(([127, 0, 0, 1], tried.find(is_free).unwrap()));
        let desk = Desk { mood: Arc::new(Mutex::new(Mood::Takes)), lines: Arc::default() };
        let mut agent = Self { desk, address, runtime: None };
        agent.revive();
        agent
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn be(&self, mood: Mood) {
        *self.desk.mood.lock().unwrap() = mood;
    }

    /// What it has and has not said yet, it never says.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    pub fn revive(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (desk, address) = (self.desk.clone(), self.address);
        runtime.spawn(async move {
            let listener = loop {
                // The dead one's socket may take a moment to go.
                match tokio::net::TcpListener::bind(address).await {
                    Ok(listener) => break listener,
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                }
            };
            axum::serve(listener, Router::new().fallback(take).with_state(desk)).await.unwrap();
        });
        self.runtime = Some(runtime);
    }

    /// Everything that reached it so far.
    pub fn dispatches(&self) -> Vec<Dispatch> {
        self.desk.lines.lock().unwrap().clone()
    }
}

/// A runtime must not be waited for inside another.
impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn take(State(desk): State<Desk>, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mood = *desk.mood.lock().unwrap();
    let pending_id = body["data"]["pendingId"].as_str().unwrap_or_default().to_owned();
    let text = body["data"]["answers"][0]["text"].as_str().map(str::to_owned);
    desk.lines.lock().unwrap().push(Dispatch { pending_id, text, mood });
    match mood {
        Mood::Takes => StatusCode::ACCEPTED.into_response(),
        Mood::Refuses => (StatusCode::SERVICE_UNAVAILABLE, r#"{"accepted":false}"#).into_response(),
        Mood::Hangs => std::future::pending().await,
    }
}
