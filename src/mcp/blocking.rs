//! A call that waits for a person. Three signals end it without an answer, and each detaches durably because the
//! wait itself does when it is dropped: the cancel token, the death of the response body, the soft deadline.
//! May import: authority, lifecycle, ids.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;

use crate::access::Viewer;
use crate::authority::{Authority, Error, Receipt, Waiting};
use crate::ids::SessionId;
use crate::lifecycle::{Outcome, OutcomeStatus};

use super::Settings;
use super::input::{self, AskArguments, Reader};
use super::output;
use super::watch::Watch;

/// Clients that time a call out however often they hear of progress (reference: agent boundary, 1.2).
const DEAF_CLIENTS: [&str; 1] = ["codex-mcp-client"];

/// One call's surroundings.
pub(super) struct Call<'a> {
    pub(super) authority: &'a Authority,
    pub(super) settings: &'a Settings,
    pub(super) viewer: &'a Viewer,
    pub(super) watch: &'a Watch,
    pub(super) context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// `ask_user_question`.
    ///
    /// # Errors
    /// Input by name; what the authority refuses.
    pub(super) async fn ask(
        &self,
        session: &SessionId,
        arguments: &serde_json::Map<String, Value>,
    ) -> Result<Value, Error> {
        let AskArguments { input, wait } = input::ask(arguments)?;
        let bound = self.bound(wait);
        let asked = self.authority.ask(self.viewer, session, input, !bound.is_zero()).await?;
        self.settle(asked.outcome, asked.waiting, asked.receipt, bound).await
    }

    /// `await_user_answer`.
    ///
    /// # Errors
    /// Input by name; not this session's.
    pub(super) async fn wait_again(&self, arguments: &serde_json::Map<String, Value>) -> Result<Value, Error> {
        let mut faults = Vec::new();
        let mut reader = Reader::new(arguments, &mut faults);
        let (pending_id, wait) = (reader.pending_id(), reader.wait());
        let pending_id = input::end(faults, pending_id)?;
        let awaited = self.authority.await_answer(self.viewer, &pending_id).await?;
        self.settle(awaited.outcome, awaited.waiting, awaited.receipt, self.bound(wait)).await
    }

    async fn settle(
        &self,
        outcome: Outcome,
        waiting: Option<Waiting>,
        receipt: Option<Receipt>,
        bound: Duration,
    ) -> Result<Value, Error> {
        if let Some(waiting) = waiting {
            return self.block(outcome, waiting, bound).await;
        }
        if let Some(receipt) = receipt {
            self.watch.on_end(move || receipt.received());
        }
        Ok(output::outcome(&outcome))
    }

    /// Waits. Whichever arm wins, the losing wait is dropped here and now, which detaches it in a task of its own.
    async fn block(&self, before: Outcome, waiting: Waiting, bound: Duration) -> Result<Value, Error> {
        let decided = tokio::select! {
            decided = waiting.outcome(bound) => decided?,
            () = self.context.ct.cancelled() => return Ok(output::outcome(&before)),
            () = self.watch.lost() => return Ok(self.linger(&before).await),
            () = self.report() => return Ok(output::outcome(&before)),
        };
        let (outcome, receipt) = decided;
        if outcome.status == OutcomeStatus::Pending {
            drop(receipt);
        } else {
            self.watch.on_end(move || receipt.received());
        }
        Ok(output::outcome(&outcome))
    }

    /// The wait is detached already. A client of the older protocol may resume its stream; it then learns that the
    /// question is still open. Nobody else hears this.
    async fn linger(&self, before: &Outcome) -> Value {
        tokio::select! {
            () = tokio::time::sleep(self.settings.resume_grace) => {}
            () = self.context.ct.cancelled() => {}
        }
        output::outcome(before)
    }

    /// The soft deadline: before the client's own limit would kill the call.
    fn bound(&self, wanted: Option<Duration>) -> Duration {
        let hears_progress = self.progress_token().is_some() && !self.is_deaf();
        let soft = if hears_progress { self.settings.soft_deadline } else { self.settings.soft_deadline_silent };
        wanted.map_or(soft, |wanted| wanted.min(soft))
    }

    fn progress_token(&self) -> Option<ProgressToken> {
        self.context.meta.get_progress_token()
    }

    fn is_deaf(&self) -> bool {
        let parts = self.context.extensions.get::<http::request::Parts>();
        let agent = parts.and_then(|parts| parts.headers.get(http::header::USER_AGENT)?.to_str().ok());
        let peer = self.context.peer.peer_info();
        let name = peer.as_ref().map(|info| info.client_info.name.as_str());
        let is_one = |text: &str| DEAF_CLIENTS.iter().any(|client| text.starts_with(client));
        agent.is_some_and(is_one) || name.is_some_and(is_one)
    }

    /// Reports progress for ever, if the caller wants any: at once, which opens the stream, and then periodically.
    async fn report(&self) {
        let Some(token) = self.progress_token() else { return std::future::pending().await };
        let period = self.settings.progress_period;
        for beat in 0u32.. {
            let elapsed = period.saturating_mul(beat).as_secs_f64();
            report_once(&self.context.peer, token.clone(), elapsed).await;
            tokio::time::sleep(period).await;
        }
    }
}

async fn report_once(peer: &Peer<RoleServer>, token: ProgressToken, elapsed_s: f64) {
    let message = "Waiting for the person.".to_owned();
    let param = ProgressNotificationParam::new(token, elapsed_s).with_message(message);
    if let Err(error) = peer.notify_progress(param).await {
        tracing::debug!(%error, "progress was not sent");
    }
}
