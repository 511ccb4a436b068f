//! The processes of a run: each prints its address, and is gone when its handle is dropped. May import: nothing.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

const START: Duration = Duration::from_secs(30);

static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The processes that are ours, this one with them.
pub fn own() -> Vec<u32> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    own.push(std::process::id());
    own
}

fn note(pid: Option<u32>) {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).extend(pid);
}

fn forget(pid: Option<u32>) {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).retain(|own| Some(*own) != pid);
}

/// A server.
pub struct Server {
    child: Child,
    pid: Option<u32>,
    /// Where it listens; a server with more than one address names them in this order.
    pub addresses: Vec<SocketAddr>,
    name: String,
}

impl Server {
    /// The binary that is released, on a file, with its own settings.
    pub async fn answerable(database: &Path) -> Result<Self, String> {
        let mut command = Command::new(answerable());
        command.args(["serve", "--listen", "127.0.0.1:0", "--database"]).arg(sqlite(database));
        Self::start("answerable", command).await
    }

    /// A peer in JavaScript.
    pub async fn node(name: &str, args: &[&Path]) -> Result<Self, String> {
        let mut command = Command::new("node");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(name).join("server.mjs");
        command.env("NODE_ENV", "production").arg(script).args(args);
        Self::start(name, command).await
    }

    /// The raw WebSocket server.
    pub async fn raw() -> Result<Self, String> {
        Self::start("raw", role("raw")?).await
    }

    async fn start(name: &str, mut command: Command) -> Result<Self, String> {
        // What stays open while this handle lives is its standard input, by which the peers know when to end.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        note(child.id());
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let said = async {
            while let Ok(Some(line)) = lines.next_line().await {
                let addresses = addresses(&line);
                if !addresses.is_empty() {
                    return Some(addresses);
                }
            }
            None
        };
        let said = tokio::time::timeout(START, said).await.ok().flatten();
        let addresses = said.ok_or_else(|| format!("{name} did not start"))?;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { pid: child.id(), child, addresses, name: name.to_owned() })
    }

    pub fn pid(&self) -> u32 {
        self.pid.unwrap_or_default()
    }

    pub fn address(&self) -> Result<SocketAddr, String> {
        self.addresses.first().copied().ok_or_else(|| format!("{} has no address", self.name))
    }

    /// SIGKILL, and gone.
    pub async fn kill(mut self) -> Result<(), String> {
        self.child.kill().await.map_err(|error| format!("{}: {error}", self.name))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        forget(self.pid);
    }
}

fn addresses(line: &str) -> Vec<SocketAddr> {
    line.split([' ', '/']).filter_map(|word| word.parse().ok()).collect()
}

fn answerable() -> String {
    std::env::var("ANSWERABLE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_answerable").to_owned())
}

fn sqlite(database: &Path) -> String {
    format!("sqlite:{}", database.display())
}

/// This binary in another role.
fn role(name: &str) -> Result<Command, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.arg(name);
    Ok(command)
}

/// What a role with one argument prints, within that time.
pub async fn told(name: &str, arg: &str, within: Duration) -> Result<String, String> {
    let mut command = role(name)?;
    command.arg(arg).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let pid = child.id();
    note(pid);
    let (mut text, mut output) = (String::new(), child.stdout.take().ok_or("no output")?);
    let ended = tokio::time::timeout(within, async {
        output.read_to_string(&mut text).await?;
        child.wait().await
    });
    let ended = ended.await;
    forget(pid);
    match ended {
        Ok(Ok(status)) if status.success() => Ok(text),
        Ok(Ok(status)) => Err(format!("{name}: {status}")),
        Ok(Err(error)) => Err(format!("{name}: {error}")),
        Err(_elapsed) => Err(format!("{name}: not done in {within:?}")),
    }
}

/// Looks for what must not be in a database; one violation, and its run has no figure.
pub async fn check(database: &Path) -> Result<(), String> {
    let mut command = Command::new(answerable());
    command.args(["check", "--database"]).arg(sqlite(database)).kill_on_drop(true);
    let output = tokio::time::timeout(START, command.output()).await.map_err(|elapsed| elapsed.to_string())?;
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(()) } else { Err(format!("the check of {}: {text}", database.display())) }
}

/// Resident memory in KiB; none: there is no such process.
pub fn resident_kib(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
