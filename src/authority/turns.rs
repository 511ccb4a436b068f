//! Turns: accepted, prompted, completed, cancelled. May import: access, lifecycle, ids.

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::access::Viewer;
use crate::ids::{ClientKey, Generation, SessionId, TurnId};
use crate::lifecycle::{
    AcceptTurn, Admission, Command, DispatchOutcome, Effect, ExpectedTurn, FieldCode, FieldError, Keyed, Refusal,
    TurnKind,
};

use super::ask::hex;
use super::deliver::unknown;
use super::dispatching::Dispatched;
use super::identify::allow;
use super::{Authority, Error, Failure};

/// A turn that a runtime starts and runs itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartTurn {
    /// Its session.
    pub session_id: SessionId,
    /// The prompt, for the transcript; may be empty.
    pub prompt: String,
    /// What the turn is for.
    pub kind: TurnKind,
    /// The turn that must be current, if the caller cares.
    pub expected: Option<ExpectedTurn>,
    /// Makes it idempotent.
    pub client_key: Option<ClientKey>,
}

/// A newer prompt of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendPrompt {
    /// Its session.
    pub session_id: SessionId,
    /// The prompt.
    pub text: String,
    /// The turn that the person saw.
    pub expected_turn_id: Option<TurnId>,
    /// Makes it idempotent for this principal and session.
    pub client_key: ClientKey,
}

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompted {
    /// It is a turn.
    Accepted {
        /// The turn.
        turn_id: TurnId,
        /// The same key came before.
        is_replayed: bool,
    },
    /// The agent did not take it, or nobody can tell.
    Failed(Failure),
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The turn.
    pub turn_id: TurnId,
    /// The workflow may go on: nothing answerable is left (decisions 18).
    pub may_advance: bool,
}

/// What came of a ready event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It completed its turn.
    Completed(Completed),
    /// It belongs to no turn that is open.
    Dropped,
}

impl Authority {
    /// Accepts a turn that the caller runs. An agent of this server that still works on the turn before is stopped.
    ///
    /// # Errors
    /// Not found, a turn in progress, a state that does not allow it, an unmet expectation.
    pub async fn start_turn(&self, viewer: &Viewer, start: StartTurn) -> Result<TurnId, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, &start.session_id).await?;
        self.check_text("prompt", &start.prompt, true)?;
        let key = start.client_key.map(|key| keyed(key, &start.prompt));
        let command = Command::AcceptTurn(AcceptTurn {
            prompt: start.prompt,
            kind: start.kind,
            admission: Admission::Immediate,
            expected: start.expected,
            principal: viewer.principal.clone(),
            key,
        });
        let decision = self.transact_resolved(&session, command).await?.decision;
        decision.superseded().for_each(|turn| self.interrupt(&session, turn));
        match decision.effect {
            Effect::Turn(turn) | Effect::ReplayedTurn(turn) => Ok(turn),
            _ => Err(Error::internal("a turn had another effect")),
        }
    }

    /// Sends a person's prompt: through the session's executor where it has one, else as a turn that its runtime
    /// finds.
    ///
    /// # Errors
    /// As [`Self::start_turn`].
    pub async fn send_prompt(&self, viewer: &Viewer, prompt: SendPrompt) -> Result<Prompted, Error> {
        allow(viewer.may_prompt())?;
        let session = self.own_session(viewer, &prompt.session_id).await?;
        self.check_text("text", &prompt.text, false)?;
        let has_executor = self.executor_of(&session).await?.is_some();
        let command = Command::AcceptTurn(AcceptTurn {
            key: Some(keyed(prompt.client_key, &prompt.text)),
            prompt: prompt.text,
            kind: TurnKind::Work,
            admission: if has_executor { Admission::Dispatch } else { Admission::Immediate },
            expected: prompt.expected_turn_id.map(ExpectedTurn::Turn),
            principal: viewer.principal.clone(),
        });
        let own = self.clone();
        let task =
            self.0.parts.tasks.spawn("prompt", async move { own.prompt(&session, command, has_executor).await });
        task.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    async fn prompt(&self, session: &SessionId, command: Command, is_driven: bool) -> Result<Prompted, Error> {
        match self.transact_resolved(session, command).await?.decision.effect {
            Effect::Turn(turn_id) if is_driven => match self.drive(session, &turn_id).await {
                Dispatched::Accepted => Ok(Prompted::Accepted { turn_id, is_replayed: false }),
                Dispatched::Failed(failure) => Ok(Prompted::Failed(failure)),
                Dispatched::Overtaken => Err(self.retired(session).await?.into()),
            },
            Effect::Turn(turn_id) => Ok(Prompted::Accepted { turn_id, is_replayed: false }),
            Effect::ReplayedTurn(turn_id) => self.replayed_prompt(turn_id).await,
            _ => Err(Error::internal("a prompt had another effect")),
        }
    }

    async fn replayed_prompt(&self, turn_id: TurnId) -> Result<Prompted, Error> {
        let rows = self.store().turns(std::slice::from_ref(&turn_id)).await?;
        let outcome = rows.first().and_then(|row| row.turn.dispatch_outcome);
        Ok(match outcome {
            Some(DispatchOutcome::Unknown | DispatchOutcome::NotAccepted) => Prompted::Failed(unknown()),
            _ => Prompted::Accepted { turn_id, is_replayed: true },
        })
    }

    /// The turn's work is over; what it asked stays, detached.
    ///
    /// # Errors
    /// Not found; its dispatch not resolved in time.
    pub async fn complete_turn(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<Completed, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        match self.transact_resolved(&session, Command::CompleteTurn(turn.clone())).await?.decision.effect {
            Effect::Completed { turn_id, may_advance } => Ok(Completed { turn_id, may_advance }),
            _ => Err(Error::internal("completing had another effect")),
        }
    }

    /// Stops the expected turn; returns it, or none where there was nothing to stop.
    ///
    /// # Errors
    /// Another turn is current than expected.
    pub async fn cancel_turn(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        expected: ExpectedTurn,
    ) -> Result<Option<TurnId>, Error> {
        allow(viewer.may_run() || viewer.may_prompt())?;
        let session = self.own_session(viewer, session).await?;
        match self.transact_resolved(&session, Command::CancelTurn(expected)).await?.decision.effect {
            Effect::Interrupt(turn) => {
                self.interrupt(&session, &turn);
                Ok(Some(turn))
            }
            _ => Ok(None),
        }
    }

    /// The agent is ready: completes the turn of that prompt generation. One that meets an unresolved dispatch
    /// waits for it; without a generation it is then dropped, for nobody can tell whose it is.
    ///
    /// # Errors
    /// Not found; a dispatch that stays unresolved.
    pub async fn report_agent_ready(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        generation: Option<Generation>,
    ) -> Result<Readiness, Error> {
        allow(viewer.may_run())?;
        let session = self.own_session(viewer, session).await?;
        self.ready(&session, generation).await
    }

    /// The same for an agent of the house.
    pub(super) async fn ready(
        &self,
        session: &SessionId,
        generation: Option<Generation>,
    ) -> Result<Readiness, Error> {
        let deadline = Instant::now() + self.limits().ready;
        let mut hint = self.0.hints.subscribe(session);
        let mut has_overlapped = false;
        loop {
            hint.borrow_and_update();
            match self.transact(session, Command::Ready { generation, has_overlapped }).await {
                Ok(passed) => {
                    return Ok(match passed.decision.effect {
                        Effect::Completed { turn_id, may_advance } => {
                            Readiness::Completed(Completed { turn_id, may_advance })
                        }
                        _ => Readiness::Dropped,
                    });
                }
                Err(Error::Refused(Refusal::DispatchUnresolved)) if Instant::now() < deadline => {
                    has_overlapped = true
                }
                Err(Error::Refused(Refusal::DispatchUnresolved)) if generation.is_none() => {
                    return Ok(Readiness::Dropped);
                }
                Err(error) => return Err(error),
            }
            tokio::select! {
                _ = hint.changed() => {}
                () = tokio::time::sleep(self.limits().poll) => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
    }

    /// Bounds a text by the server's setting.
    pub(super) fn check_text(&self, path: &str, text: &str, may_be_empty: bool) -> Result<(), Error> {
        let max = self.limits().message_chars_max;
        let fault = |code, limit, message| {
            Err(Refusal::Invalid(vec![FieldError { path: path.to_owned(), code, limit, message }]).into())
        };
        if text.chars().count() > max {
            let limit = i64::try_from(max).ok();
            return fault(FieldCode::TooLong, limit, format!("{path} is longer than {max} characters"));
        }
        if text.contains('\0') {
            return fault(FieldCode::NotAllowed, None, format!("{path} contains a null character"));
        }
        if !may_be_empty && text.trim().is_empty() {
            return fault(FieldCode::Required, None, format!("{path} is empty"));
        }
        Ok(())
    }
}

fn keyed(key: ClientKey, text: &str) -> Keyed {
    Keyed { key, body_hash: hex(&Sha256::digest(text)) }
}
