//! `serve --demo`: a store with something in it, and a scripted agent that asks over MCP like any other.
//!
//! The agent is a child process of the same binary. It gets its prompts as JSON lines on stdin, one of which takes it
//! the answer that came after its wait ran out; it acknowledges on stdout, where it also narrates what it received.
//! May import: mcp, authority, dispatch, store, access, lifecycle, ids, ports, tasks, scope.

mod agent;
mod executor;
mod line;
mod seed;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;

use crate::authority::Authority;
use crate::dispatch::Executor;
use crate::tasks::Tasks;

pub use agent::run_agent;

use executor::Child;
use line::ToAgent;

/// The name under which sessions of the demo find their executor.
pub const EXECUTOR: &str = "demo";
/// The hidden subcommand that runs the agent.
pub const SUBCOMMAND: &str = "demo-agent";

/// The demo cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store is somebody's own.
    #[error(
        "--demo needs an empty store or the demo's own; this one holds other data, and nothing of it was touched"
    )]
    OtherData,
    /// A use case failed.
    #[error("seeding the demo: {0}")]
    Authority(#[from] crate::authority::Error),
    /// The store failed.
    #[error("seeding the demo: {0}")]
    Store(#[from] crate::store::Error),
    /// The agent's process.
    #[error("the demo's agent: {0}")]
    Process(#[from] std::io::Error),
}

/// The demo's agent, as the server knows it. Made before the authority, started when the port is open.
#[derive(Clone, Debug)]
pub struct Demo {
    child: Arc<Child>,
    program: PathBuf,
    tasks: Tasks,
}

impl Demo {
    /// A demo whose agent does not run yet; `program` is this binary.
    pub fn new(program: PathBuf, tasks: Tasks) -> Self {
        Self { child: Arc::new(Child::default()), program, tasks }
    }

    /// What gives prompts to the agent; to be known as [`EXECUTOR`].
    pub fn executor(&self) -> Arc<dyn Executor> {
        self.child.clone()
    }

    /// Seeds an empty store and starts the agent. A store that the demo seeded before goes on from where it is.
    ///
    /// # Errors
    /// The store holds other data; a fault; the agent cannot be started.
    pub async fn start(&self, authority: &Authority, address: SocketAddr) -> Result<(), Error> {
        let seeded = seed::seed(authority).await?;
        let mut child = Command::new(&self.program)
            .arg(SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(std::io::Error::other("it has no pipes").into());
        };
        // The token goes through the pipe: arguments and environments can be read by others.
        let url = format!("http://{address}/mcp");
        self.child.begin(stdin, &ToAgent::Begin { url, token: seeded.token, prompt: seeded.prompt }).await?;
        let own = self.child.clone();
        self.tasks.spawn("demo", async move { own.listen(stdout, child).await });
        Ok(())
    }

    /// Tells the agent to end, by closing its stdin.
    pub async fn stop(&self) {
        self.child.close().await;
    }
}
