//! The real binary as a child process, and GraphQL calls to it. May import: nothing of the tests.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How long a start may take, recovery included.
const START: Duration = Duration::from_secs(30);

/// One run of the server.
pub struct Server {
    child: Child,
    url: String,
    http: reqwest::Client,
}

impl Server {
    /// Starts the binary on a database and waits for its address.
    pub async fn start(database: &str) -> Self {
        Self::start_with(database, &[]).await
    }

    /// The same with further arguments.
    pub async fn start_with(database: &str, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_answerable"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = tokio::time::timeout(START, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(at) = line.find("http://") {
                    return line[at..].trim().trim_end_matches('/').to_owned();
                }
            }
            panic!("the server ended before it printed its address");
        });
        let url = format!("{}/graphql", address.await.unwrap());
        Self { child, url, http: reqwest::Client::new() }
    }

    /// A handle for calls, which outlives the process.
    pub fn caller(&self) -> Caller {
        Caller { url: self.url.clone(), http: self.http.clone() }
    }

    /// SIGKILL, and gone.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, and a clean end.
    pub async fn stop(self) {
        self.signal("TERM").await;
        let status = self.ended().await;
        assert!(status.success(), "{status}");
    }

    pub async fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().await.unwrap().success());
    }

    /// Waits until it ends.
    pub async fn ended(mut self) -> ExitStatus {
        tokio::time::timeout(START, self.child.wait()).await.expect("it goes on").unwrap()
    }
}

/// Calls a server that may be gone.
#[derive(Clone)]
pub struct Caller {
    url: String,
    http: reqwest::Client,
}

impl Caller {
    /// `data` of a response that came whole; none where the server went away.
    pub async fn call(&self, query: &str, variables: Value) -> Option<Value> {
        let body = self.send(query, &variables).await.ok()?;
        assert!(body.get("errors").is_none(), "{query}: {body}");
        Some(body["data"].clone())
    }

    /// The same, where an error may be told.
    pub async fn try_call(&self, query: &str, variables: &Value) -> Result<Value, String> {
        let body = self.send(query, variables).await.map_err(|error| error.to_string())?;
        body.get("errors").map_or_else(|| Ok(body["data"].clone()), |errors| Err(errors.to_string()))
    }

    pub fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        self.http.post(&self.url).json(body)
    }

    async fn send(&self, query: &str, variables: &Value) -> reqwest::Result<Value> {
        let body = json!({ "query": query, "variables": variables });
        self.post(&body).send().await?.json().await
    }
}
