//! Gives prompts to the demo's agent through its stdin and hears of their acceptance on its stdout.
//! May import: dispatch, lifecycle, ids.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex, oneshot};

use crate::dispatch::{Dispatch, Executor, Outcome, Revocation};
use crate::ids::TurnId;

use super::line::{FromAgent, ToAgent};

/// The agent's process, seen from the server.
#[derive(Debug, Default)]
pub(super) struct Child {
    stdin: Mutex<Option<ChildStdin>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<()>>>,
}

impl Child {
    /// Sends the first line and takes prompts from now on.
    ///
    /// # Errors
    /// The pipe is broken.
    pub(super) async fn begin(&self, stdin: ChildStdin, line: &ToAgent) -> std::io::Result<()> {
        let mut slot = self.stdin.lock().await;
        write(slot.insert(stdin), line).await
    }

    /// Reads what the agent says until it ends, and writes its narration to the log.
    pub(super) async fn listen(&self, stdout: ChildStdout, mut child: tokio::process::Child) {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(FromAgent::Accepted { turn_id }) => {
                    if let Some(waiting) = self.waiting.lock().await.remove(&turn_id) {
                        // Nobody waits any more: the deadline passed, and the outcome is unknown already.
                        let _gone = waiting.send(());
                    }
                }
                Err(_narration) => tracing::info!(target: "demo-agent", "{line}"),
            }
        }
        self.close().await;
        self.waiting.lock().await.clear();
        match child.wait().await {
            Ok(status) => tracing::info!(target: "demo-agent", %status, "the agent ended"),
            Err(error) => tracing::warn!(target: "demo-agent", %error, "the agent's end is unknown"),
        }
    }

    /// Closes the agent's stdin; it ends, and so does [`Self::listen`].
    pub(super) async fn close(&self) {
        self.stdin.lock().await.take();
    }

    async fn give(&self, dispatch: Dispatch) -> Outcome {
        let (sender, accepted) = oneshot::channel();
        let turn_id = dispatch.turn_id.as_str().to_owned();
        let line = ToAgent::Prompt {
            turn_id: turn_id.clone(),
            prompt: dispatch.prompt,
            is_answer: dispatch.pending_id.is_some(),
        };
        {
            let mut stdin = self.stdin.lock().await;
            let Some(stdin) = stdin.as_mut() else {
                return Outcome::Rejected { reason: "The demo's agent does not run.".into() };
            };
            self.waiting.lock().await.insert(turn_id, sender);
            if let Err(error) = write(stdin, &line).await {
                return Outcome::Unknown { reason: error.to_string() };
            }
        }
        match accepted.await {
            Ok(()) => Outcome::Accepted,
            Err(_ended) => Outcome::Unknown { reason: "the agent ended before it acknowledged".into() },
        }
    }
}

async fn write(stdin: &mut ChildStdin, line: &ToAgent) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    stdin.write_all(text.as_bytes()).await?;
    stdin.flush().await
}

impl Executor for Child {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(self.give(dispatch))
    }

    /// The line may be in the pipe: nobody can tell.
    fn revoke(&self, turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        Box::pin(async move {
            self.waiting.lock().await.remove(turn_id.as_str());
            Revocation::Unknown
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ids::{Generation, SessionId};

    use super::*;

    #[tokio::test]
    async fn an_agent_that_does_not_run_provably_took_nothing() {
        let dispatch = Dispatch {
            session_id: SessionId::new("s"),
            turn_id: TurnId::new("t"),
            source_turn_id: None,
            pending_id: None,
            generation: Generation(1),
            prompt: "go".into(),
            answers: Vec::new(),
            is_interrupt: false,
        };
        let outcome = Child::default().dispatch(dispatch, Duration::from_secs(1)).await;
        assert!(matches!(outcome, Outcome::Rejected { .. }), "{outcome:?}");
    }
}
