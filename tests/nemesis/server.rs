//! The real server as a child process that dies and comes back, and where it is now. May import: base.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::base::Base;

/// How long a start may take, recovery included.
const START: Duration = Duration::from_secs(60);

/// Settings of every start. Waits are short, so that what was lost is met again within the run.
const SETTINGS: &[&str] = &[
    "--listen=127.0.0.1:0",
    "--log-filter=warn",
    "--server-name=nemesis",
    "--respond-wait-ms=300",
    "--dispatch-timeout-ms=1500",
    "--webhook-attempt-ms=1000",
    "--ready-wait-ms=1000",
    "--wait-poll-ms=200",
    "--shutdown-ms=2000",
];

pub struct Server {
    child: Option<Child>,
    /// What clients connect to; empty before the first start.
    address: watch::Sender<String>,
    url: String,
    settings: PathBuf,
    log: PathBuf,
    folder: PathBuf,
}

impl Server {
    /// On that database, by that way to it. The one executor of its settings is the agent's.
    pub async fn start(base: &Base, url: String, agent: &str) -> Self {
        let (settings, log) = (base.beside("toml"), base.beside("log"));
        let text = format!(
            "[executors.agent]\nkind = \"webhook\"\nurl = \"{agent}\"\nsecret = \"{KEY}\"\nallow_private = true\n"
        );
        std::fs::write(&settings, text).unwrap();
        let address = watch::Sender::new(String::new());
        let mut server = Self { child: None, address, url, settings, log, folder: base.folder().to_owned() };
        server.begin().await;
        server
    }

    /// Starts it; it has to listen.
    pub async fn begin(&mut self) {
        let mut child = Command::new(program())
            .args(["serve", "--database", &self.url, "--config"])
            .arg(&self.settings)
            .args(SETTINGS)
            .current_dir(&self.folder)
            .stdout(Stdio::piped())
            .stderr(self.log_file())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(at) = line.find("http://") {
                    return line[at..].trim().trim_end_matches('/').to_owned();
                }
            }
            panic!("it ended before it listened: {}", self.log());
        };
        let address = tokio::time::timeout(START, listens).await.expect("it neither listens nor ends");
        self.address.send_replace(address);
        self.child = Some(child);
    }

    fn log_file(&self) -> File {
        OpenOptions::new().create(true).append(true).open(&self.log).unwrap()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn address(&self) -> watch::Receiver<String> {
        self.address.subscribe()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id().expect("the server is gone, and nobody ended it")
    }

    /// Files and sockets that it has open.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// How it ended, if it did, which it must not by itself.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().unwrap()
    }

    /// SIGKILL, and gone.
    pub async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    /// SIGTERM, and its end.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM").await;
        let mut child = self.child.take().unwrap();
        tokio::time::timeout(START, child.wait()).await.expect("it goes on after SIGTERM").unwrap()
    }

    pub async fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().await.unwrap().success());
    }
}

/// A line for each violation that `answerable check` finds; none: it found none.
pub async fn check(url: &str) -> Vec<String> {
    let output = Command::new(program()).args(["check", "--database", url]).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() && text.trim_end().ends_with("violations=0") {
        return Vec::new();
    }
    let told = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    told.lines().map(str::to_owned).collect()
}

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The binary under test: the one that was built with this, unless `ANSWERABLE_BIN` names another.
fn program() -> PathBuf {
    let named = std::env::var_os("ANSWERABLE_BIN").map(PathBuf::from);
    std::path::absolute(named.unwrap_or_else(|| env!("CARGO_BIN_EXE_answerable").into())).unwrap()
}
