//! An agent asks a bundle, or waits for one again. May import: access, lifecycle, ids.

use sha2::{Digest, Sha256};

use crate::access::Viewer;
use crate::ids::{ClientKey, PendingId, SessionId, TurnId, WaiterId};
use crate::lifecycle::{
    Ask, Command, Effect, ExpectedTurn, Keyed, Outcome, OutcomeStatus, QuestionInput, QuestionSpec, Refusal,
    canonical_questions,
};

use super::identify::allow;
use super::waiting::{Receipt, Waiting};
use super::{Authority, Error};

/// A bundle as a caller asks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskInput {
    /// One to four questions.
    pub questions: Vec<QuestionInput>,
    /// Shared background; may be empty.
    pub context: String,
    /// Makes it idempotent in its turn; without one, equal questions are (decisions 7).
    pub client_key: Option<ClientKey>,
    /// The turn that must be current, if the caller knows it.
    pub expected_turn_id: Option<TurnId>,
}

/// What came of asking.
#[derive(Debug)]
pub struct Asked {
    /// How the bundle stands.
    pub outcome: Outcome,
    /// Made by this call.
    pub is_new: bool,
    /// The wait, where one was wanted and there is something to wait for.
    pub waiting: Option<Waiting>,
    /// For a recorded outcome: until it was received, equal questions lead to it again (decisions 7).
    pub receipt: Option<Receipt>,
}

/// What came of waiting again.
#[derive(Debug)]
pub struct Awaited {
    /// How the bundle stands.
    pub outcome: Outcome,
    /// The wait, exactly where the outcome is pending.
    pub waiting: Option<Waiting>,
    /// For a recorded outcome, exactly where it is not pending.
    pub receipt: Option<Receipt>,
}

impl Authority {
    /// Asks a bundle, whole or not at all. It is durable when this returns.
    ///
    /// # Errors
    /// Invalid input by name; the session over; the expected turn not current; the key used with another body.
    pub async fn ask(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        input: AskInput,
        wants_wait: bool,
    ) -> Result<Asked, Error> {
        allow(viewer.may_ask())?;
        let session = self.own_session(viewer, session).await?;
        let questions = canonical_questions(&input.questions, &input.context).map_err(Refusal::Invalid)?;
        let waiter = wants_wait.then(|| WaiterId::from(self.0.parts.ids.fresh()));
        let body_hash = hash(&questions, &input.context);
        let (key, is_key_explicit) = match input.client_key {
            Some(key) => (key, true),
            None => (ClientKey::new(format!("equal:{body_hash}")), false),
        };
        // Listen before the bundle can be answered, so that no hint is missed.
        let hint = self.0.hints.subscribe(&session);
        let command = Command::Ask(Ask {
            expected: input.expected_turn_id.map(ExpectedTurn::Turn),
            questions,
            context: input.context,
            key: Keyed { key, body_hash },
            is_key_explicit,
            waiter: waiter.clone(),
        });
        let own = self.clone();
        self.kept("ask", async move {
            match own.transact_resolved(&session, command).await?.decision.effect {
                Effect::Asked { outcome, is_new } => {
                    let receipt = Receipt::recorded(&own, &session, &outcome);
                    let waiting = waiter.and_then(|id| Waiting::begin(&own, &session, &outcome, id, hint));
                    Ok(Asked { outcome, is_new, waiting, receipt })
                }
                _ => Err(Error::internal("asking had another effect")),
            }
        })
        .await
    }

    /// Runs to its end whoever hangs up: a waiter that is written down always has its [`Waiting`], and one that nobody
    /// takes any more detaches as it is dropped (INV-37).
    async fn kept<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let task = self.0.parts.tasks.spawn(name, work);
        task.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    /// Waits for a bundle again, or learns its recorded outcome at once.
    ///
    /// # Errors
    /// No such bundle in the viewer's session.
    pub async fn await_answer(&self, viewer: &Viewer, pending_id: &PendingId) -> Result<Awaited, Error> {
        allow(viewer.may_ask())?;
        let session = self.session_of_bundle(viewer, pending_id).await?;
        let waiter = WaiterId::from(self.0.parts.ids.fresh());
        let hint = self.0.hints.subscribe(&session);
        let command = Command::RegisterWaiter(pending_id.clone(), waiter.clone());
        let own = self.clone();
        self.kept("await", async move {
            match own.transact(&session, command).await?.decision.effect {
                Effect::Outcome(outcome) => {
                    let waiting = Waiting::begin(&own, &session, &outcome, waiter, hint);
                    debug_assert_eq!(waiting.is_some(), outcome.status == OutcomeStatus::Pending);
                    let receipt = Receipt::recorded(&own, &session, &outcome);
                    Ok(Awaited { outcome, waiting, receipt })
                }
                _ => Err(Error::internal("waiting had another effect")),
            }
        })
        .await
    }
}

/// The hash of a bundle's canonical body.
fn hash(questions: &[QuestionSpec], context: &str) -> String {
    let body = serde_json::to_vec(&(questions, context)).unwrap_or_default();
    hex(&Sha256::digest(body))
}

/// Bytes as lowercase hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
