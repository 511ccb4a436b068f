//! The real binary as a child process, armed or not, and GraphQL calls to it. May import: base.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::base::Base;

/// How long a start, and the way to a crash point, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One run of the server; a settings file beside its database is its own.
pub struct Server {
    child: Child,
    url: String,
    http: reqwest::Client,
}

/// What became of a start.
pub enum Start {
    Listens(Server),
    Ended(Ended),
}

impl Start {
    fn listening(self) -> Server {
        match self {
            Self::Listens(server) => server,
            Self::Ended(ended) => panic!("the server did not start: {ended:?}"),
        }
    }
}

/// A process that is over.
#[derive(Debug)]
pub struct Ended {
    pub signal: Option<i32>,
    pub code: Option<i32>,
    pub log: String,
}

impl Ended {
    pub fn assert_killed(&self) {
        assert_eq!(self.signal, Some(9), "it was to be killed at its point: {self:?}");
    }
}

/// The binary under test: the one that was built with this, unless `ANSWERABLE_BIN` names another.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let named = std::env::var_os("ANSWERABLE_BIN").map(PathBuf::from);
        std::path::absolute(named.unwrap_or_else(|| env!("CARGO_BIN_EXE_answerable").into())).unwrap()
    });
    &PROGRAM
}

fn command(database: &Base, url: &str, points: &str) -> Command {
    let (settings, mut command) = (database.beside("toml"), Command::new(program()));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--log-filter", "warn", "--database", url])
        .current_dir(database.folder())
        .env("FAILPOINTS", points)
        // A point that holds a thread leaves others to go on.
        .env("TOKIO_WORKER_THREADS", "8")
        .env("ANSWERABLE_RESPOND_WAIT_MS", "1500")
        // An agent that is a process has to start first.
        .env("ANSWERABLE_DISPATCH_TIMEOUT_MS", if settings.exists() { "30000" } else { "1000" })
        .env("ANSWERABLE_READY_WAIT_MS", "1000")
        .env("ANSWERABLE_WAIT_POLL_MS", "200")
        .env("ANSWERABLE_WATCHDOG_MS", "400")
        .env("ANSWERABLE_WATCHDOG_PERIOD_MS", "50")
        .env("ANSWERABLE_SHUTDOWN_MS", "3000")
        .envs(settings.exists().then_some(("ANSWERABLE_CONFIG", settings)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Server {
    /// Starts the binary with these points armed.
    pub async fn start(database: &Base, points: &str) -> Start {
        Self::run(command(database, &database.url(), points)).await
    }

    /// The same, by another way to the database; it has to listen.
    pub async fn start_by(database: &Base, url: &str) -> Self {
        Self::run(command(database, url, "")).await.listening()
    }

    /// The same under another program, such as a tracer, that takes the server's command line as its last arguments.
    pub async fn start_under(tracer: &str, args: &[String], database: &Base, points: &str) -> Start {
        let inner = command(database, &database.url(), points);
        let mut outer = Command::new(tracer);
        outer.args(args).arg(inner.as_std().get_program()).args(inner.as_std().get_args());
        outer.envs(inner.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer.current_dir(database.folder());
        outer.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Self::run(outer).await
    }

    /// Starts it with nothing armed; it has to listen.
    pub async fn start_whole(database: &Base) -> Self {
        Self::start(database, "").await.listening()
    }

    async fn run(mut command: Command) -> Start {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(at) = line.find("http://") {
                    return Some(line[at..].trim().trim_end_matches('/').to_owned());
                }
            }
            None
        };
        let address = tokio::time::timeout(PATIENCE, listens).await.expect("it neither listens nor ends");
        match address {
            Some(address) => {
                let http = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
                Start::Listens(Self { child, url: format!("{address}/graphql"), http })
            }
            None => Start::Ended(ended(&mut child).await),
        }
    }

    /// A handle for calls, which outlives the process.
    pub fn caller(&self) -> Caller {
        Caller { url: self.url.clone(), http: self.http.clone() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Waits until its point has ended it.
    pub async fn gone(mut self) -> Ended {
        tokio::time::timeout(PATIENCE, ended(&mut self.child)).await.expect("the point was never reached")
    }

    /// SIGKILL from outside, and gone.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, and its end.
    pub async fn terminate(self) -> Ended {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        self.gone().await
    }
}

async fn ended(child: &mut Child) -> Ended {
    let status = child.wait().await.unwrap();
    let mut log = String::new();
    if let Some(stderr) = &mut child.stderr {
        let _read = stderr.read_to_string(&mut log).await;
    }
    Ended { signal: status.signal(), code: status.code(), log }
}

/// Calls a server that may be gone.
#[derive(Clone)]
pub struct Caller {
    url: String,
    http: reqwest::Client,
}

impl Caller {
    /// `data` of a response that came whole; none where the server went away.
    pub async fn try_call(&self, query: &str, variables: Value) -> Option<Value> {
        let body = json!({ "query": query, "variables": variables });
        let response = self.http.post(&self.url).json(&body).send().await.ok()?;
        response.json::<Value>().await.ok()
    }

    /// The same of a server that has to be there, without errors; the one field asked for.
    pub async fn call(&self, query: &str, variables: Value) -> Value {
        let body = self.try_call(query, variables).await.unwrap_or_else(|| panic!("no answer to {query}"));
        assert!(body.get("errors").is_none(), "{query}: {body}");
        let data = body["data"].as_object().unwrap();
        data.values().next().unwrap().clone()
    }
}
