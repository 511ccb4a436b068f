//! An agent's process, with all that it starts: one process group, which ends as a whole. May import: tasks, config.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::tasks::Tasks;

use super::guard::Guard;

/// Bytes of what an agent writes to its log that are looked at together.
const LOG_BYTES: usize = 4_096;

/// A running process; dropped, its group is killed.
#[derive(Debug)]
pub(super) struct Process {
    group: Option<Pid>,
    ended: CancellationToken,
}

impl Process {
    /// Starts the command, without a shell and with no variable beside those of its settings.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn start(
        settings: &config::Acp,
        guard: &Arc<Guard>,
        tasks: &Tasks,
    ) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = Command::new(&settings.command)
            .args(&settings.args)
            .env_clear()
            .envs(settings.env.iter().map(|(name, value)| (name, value.expose())))
            .current_dir(&settings.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((stdin, stdout), stderr) = pipes.ok_or_else(|| std::io::Error::other("it has no pipes"))?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let watched = group.map(|group| guard.watch(group));
        let ended = CancellationToken::new();
        let over = ended.clone();
        tasks.spawn("agent process", async move {
            match child.wait().await {
                Ok(status) => tracing::info!(%status, "an agent's process ended"),
                Err(error) => tracing::warn!(%error, "the end of an agent's process is unknown"),
            }
            // What it started does not outlive it, and holds its pipes no longer.
            kill(group, Signal::KILL);
            drop(watched);
            over.cancel();
        });
        tasks.spawn("agent log", log(stderr, settings.log_stderr));
        Ok((Self { group, ended }, stdin, stdout))
    }

    /// Ends the group: asks, waits, kills.
    pub(super) async fn end(self, grace: Duration) {
        kill(self.group.filter(|_| !self.ended.is_cancelled()), Signal::TERM);
        if tokio::time::timeout(grace, self.ended.cancelled()).await.is_err() {
            tracing::warn!("an agent's process was killed");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended.is_cancelled() {
            kill(self.group, Signal::KILL);
        }
    }
}

fn kill(group: Option<Pid>, signal: Signal) {
    if let Some(Err(error)) = group.map(|group| kill_process_group(group, signal)) {
        tracing::trace!(%error, "no such process group");
    }
}

/// What an agent says about itself may hold anything, so it is not shown unless it is wanted.
async fn log(mut stderr: ChildStderr, is_heard: bool) {
    let mut bytes = vec![0; LOG_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
        for line in text.lines() {
            if is_heard {
                tracing::info!(target: "agent", "{line}");
            } else {
                tracing::debug!(target: "agent", "{line}");
            }
        }
    }
}
