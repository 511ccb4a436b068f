//! The agents that this server runs: what they say and do passes the door like everybody's (decisions 31), and turns
//! that they left behind when an earlier server died come to an end.
//! May import: dispatch, access, lifecycle, ids.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;

use crate::dispatch::{Door, Failed, Output, Said, Verdict};
use crate::ids::{AgentSessionId, Generation, MessageId, PermissionId, SessionId, TurnId};
use crate::lifecycle::{Command, ExpectedTurn, Focus, NewMessage, Refusal};

use super::{Authority, Error, Inner};

/// How a permission was decided, as its row says it.
const VERDICTS: [(&str, Verdict); 3] =
    [("approved", Verdict::Approved), ("denied", Verdict::Denied), (CANCELLED, Verdict::Cancelled)];
const CANCELLED: &str = "cancelled";

impl Authority {
    /// Lets agents in by that MCP endpoint, and takes what they do from now on.
    pub fn connect_agents(&self, url: String) {
        let output: Arc<dyn Output> = Arc::new(Intake { authority: Arc::downgrade(&self.0), url });
        self.0.parts.executors.connect(&output);
    }

    /// Ends the turns that agents of an earlier server worked on: they died with it, and a turn that nobody works on
    /// must not keep its session from another prompt. It stays the current turn, and what it asked stays, detached.
    pub(super) async fn end_orphaned_turns(&self) -> Result<(), Error> {
        let runners = self.0.parts.executors.names_of_runners();
        for (session, turn) in self.store().open_turns(&runners).await? {
            let focus = Focus { turn_id: Some(turn.clone()), ..Focus::default() };
            let view = self.store().view(&session, focus).await?;
            if view.turn(&turn).is_none_or(|turn| turn.dispatch_outcome.is_none()) {
                // A runtime began it, and may work on it still.
                continue;
            }
            tracing::info!(session.id = %session, turn.id = %turn, "a turn's agent died with an earlier server");
            for permission in view.permissions {
                let command = Command::ResolvePermission { id: permission.id, status: CANCELLED.into() };
                self.transact(&session, command).await?;
            }
            self.end_turn_of_lost(&session, &turn).await?;
        }
        Ok(())
    }

    /// A turn that is not current any more was ended by what took its place.
    async fn end_turn_of_lost(&self, session: &SessionId, turn: &TurnId) -> Result<(), Error> {
        let command = Command::CancelTurn(ExpectedTurn::Turn(turn.clone()));
        match self.transact_resolved(session, command).await {
            Ok(_) | Err(Error::Refused(Refusal::Conflict { .. } | Refusal::NotFound)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes the end of an agent's work until it is written or the server stops; the next start ends what is left.
    fn end_work(&self, session: SessionId, ended: Ended) {
        let (own, stop) = (self.clone(), self.0.parts.tasks.stop());
        self.0.parts.tasks.spawn("agent's end", async move {
            loop {
                let written = match &ended {
                    Ended::Ready(generation) => own.ready(&session, Some(*generation)).await.map(drop),
                    Ended::Lost(turn) => own.end_turn_of_lost(&session, turn).await,
                };
                match written {
                    Ok(()) => return,
                    Err(Error::Refused(refusal)) if refusal != Refusal::DispatchUnresolved => return,
                    Err(error) => tracing::warn!(%error, "the end of an agent's work is not written yet"),
                }
                tokio::select! {
                    () = tokio::time::sleep(own.limits().poll) => {}
                    () = stop.cancelled() => return,
                }
            }
        });
    }

    async fn verdict(&self, session: &SessionId, asked: MessageId) -> Verdict {
        let mut hint = self.0.hints.subscribe(session);
        loop {
            hint.borrow_and_update();
            match self.decision(&asked).await {
                Ok(Some(verdict)) => return verdict,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a permission could not be looked at"),
            }
            tokio::select! {
                _ = hint.changed() => {}
                () = tokio::time::sleep(self.limits().poll) => {}
            }
        }
    }

    /// None while it is undecided. A request that was deleted is decided by nobody.
    async fn decision(&self, asked: &MessageId) -> Result<Option<Verdict>, Error> {
        let rows = self.store().messages(std::slice::from_ref(asked)).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(Some(Verdict::Cancelled)) };
        let status = row.metadata.get("status").and_then(|status| status.as_str()).unwrap_or_default();
        Ok(VERDICTS.into_iter().find(|(name, _)| *name == status).map(|(_, verdict)| verdict))
    }

    /// As much of an agent's words as a message may have.
    fn cut(&self, text: &str) -> String {
        let plain = |c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c };
        text.chars().take(self.limits().message_chars_max).map(plain).collect()
    }
}

enum Ended {
    Ready(Generation),
    Lost(TurnId),
}

/// The authority as executors see it. They are parts of it, so this does not keep it.
#[derive(Debug)]
struct Intake {
    authority: Weak<Inner>,
    url: String,
}

impl Intake {
    fn authority(&self) -> Result<Authority, Failed> {
        self.authority.upgrade().map(Authority).ok_or_else(|| Failed("the server has stopped".into()))
    }

    async fn pass(&self, session: &SessionId, command: Command) -> Result<(), Failed> {
        self.authority()?.transact(session, command).await.map(drop).map_err(failed)
    }

    async fn message(&self, session: &SessionId, command: Command) -> Result<MessageId, Failed> {
        self.authority()?.message_of(session, command).await.map_err(failed)
    }

    async fn door(&self, session: SessionId) -> Result<Door, Failed> {
        let authority = self.authority()?;
        let rows = authority.store().sessions(std::slice::from_ref(&session)).await;
        let row = rows.map_err(|error| failed(error.into()))?.into_iter().next();
        let known = row.ok_or_else(|| failed(Refusal::NotFound.into()))?.session.agent_session;
        Ok(Door { url: self.url.clone(), pass: authority.0.passes.issue(session), known })
    }
}

fn failed(error: Error) -> Failed {
    Failed(error.to_string())
}

impl Output for Intake {
    fn admit(&self, session: SessionId) -> BoxFuture<'_, Result<Door, Failed>> {
        Box::pin(self.door(session))
    }

    fn remember(&self, session: SessionId, known: AgentSessionId) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async move { self.pass(&session, Command::BindAgent(known)).await })
    }

    fn append(&self, said: Said) -> BoxFuture<'_, Result<MessageId, Failed>> {
        let new = NewMessage {
            turn_id: Some(said.turn_id),
            author: said.author.into(),
            kind: said.kind.into(),
            content: said.content,
            metadata: serde_json::Map::new(),
        };
        Box::pin(async move { self.message(&said.session_id, Command::AppendMessage(new)).await })
    }

    fn extend(&self, session: SessionId, id: MessageId, content: String) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async move { self.pass(&session, Command::UpdateMessage { id, content }).await })
    }

    fn permit(
        &self,
        session: SessionId,
        id: PermissionId,
        content: String,
    ) -> BoxFuture<'_, Result<MessageId, Failed>> {
        Box::pin(async move {
            let content = self.authority()?.cut(&content);
            self.message(&session, Command::RecordPermission { id, content }).await
        })
    }

    fn verdict(&self, session: SessionId, asked: MessageId) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            match self.authority() {
                Ok(authority) => authority.verdict(&session, asked).await,
                Err(_stopped) => Verdict::Cancelled,
            }
        })
    }

    fn withdraw(&self, session: SessionId, id: PermissionId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let command = Command::ResolvePermission { id, status: CANCELLED.into() };
            if let Err(error) = self.pass(&session, command).await {
                tracing::debug!(%error, "a permission was decided before it was withdrawn");
            }
        })
    }

    fn ready(&self, session: SessionId, generation: Generation) {
        if let Ok(authority) = self.authority() {
            authority.end_work(session, Ended::Ready(generation));
        }
    }

    fn lost(&self, session: SessionId, turn: TurnId) {
        if let Ok(authority) = self.authority() {
            authority.end_work(session, Ended::Lost(turn));
        }
    }
}
