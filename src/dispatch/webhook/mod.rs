//! Calls a platform by signed HTTP (Standard Webhooks): one POST is one attempt. Nothing in the client redirects,
//! retries, reuses a connection or goes by a proxy, and what it says of the outcome is one table. May import: ids,
//! ports, config, and its siblings.

mod body;
mod client;
mod outcome;

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::{Client, Method, Url};
use tokio::time::sleep;

use crate::config::{self, Redelivery};
use crate::ids::{SessionId, TurnId};
use crate::ports::{Clock, System};

use super::{Dispatch, Executor, Outcome, Revocation};
use outcome::Happened;

/// How long a webhook's steps may take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Until a connection is there.
    pub connect: Duration,
    /// One POST or DELETE, response included.
    pub attempt: Duration,
    /// Between two POSTs of one dispatch, where the endpoint allows several.
    pub redelivery: Duration,
}

/// A webhook's client cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the client of a webhook cannot be made: {0}")]
pub struct Unusable(String);

/// One endpoint of a platform.
pub struct Webhook {
    client: Client,
    url: Url,
    keys: Vec<standardwebhooks::Webhook>,
    can_revoke: bool,
    can_interrupt: bool,
    redelivery: Redelivery,
    pace: Pace,
}

/// Shows neither keys nor the URL, whose query may hold a secret.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// The endpoint that the settings describe.
    ///
    /// # Errors
    /// The HTTP client cannot be made, or a secret is none.
    pub fn new(settings: &config::Webhook, pace: Pace) -> Result<Self, Unusable> {
        let key = |secret: &config::Secret| standardwebhooks::Webhook::new(secret.expose());
        let keys = settings.secrets.iter().map(key).collect::<Result<_, _>>();
        Ok(Self {
            client: client::new(pace.connect, settings.allow_private)?,
            url: settings.url.clone(),
            keys: keys.map_err(|_secret| Unusable("a secret is not base64".into()))?,
            can_revoke: settings.can_revoke,
            can_interrupt: settings.can_interrupt,
            redelivery: settings.redelivery,
            pace,
        })
    }

    /// Posts once; and again under the same id only where the endpoint promised to take each id once. The caller's
    /// deadline ends that.
    async fn deliver(&self, dispatch: &Dispatch) -> Outcome {
        let mut known = self.post(dispatch, false).await;
        while self.redelivery == Redelivery::Idempotent && matches!(known, Outcome::Unknown { .. }) {
            sleep(self.pace.redelivery).await;
            known = self.post(dispatch, true).await;
        }
        known
    }

    async fn post(&self, dispatch: &Dispatch, was_posted: bool) -> Outcome {
        let body = body::json(dispatch, System.now());
        let id = dispatch.turn_id.as_str();
        outcome::of_post(&self.send(Method::POST, self.url.clone(), id, body).await, was_posted)
    }

    async fn delete(&self, turn_id: &TurnId) -> Revocation {
        let mut url = self.url.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().push(turn_id.as_str()),
            Err(()) => return Revocation::Unknown,
        };
        outcome::of_delete(&self.send(Method::DELETE, url, turn_id.as_str(), String::new()).await)
    }

    /// Tells once; the turn is over whether the platform hears of it or not, and its next dispatch says so again.
    async fn tell_interrupted(&self, session_id: &SessionId, turn_id: &TurnId) {
        let (id, body) = (format!("{turn_id}-interrupted"), body::interrupted(session_id, turn_id, System.now()));
        let told = self.send(Method::POST, self.url.clone(), &id, body).await;
        if !matches!(told, Happened::Answered { status: 200..=299, .. }) {
            tracing::warn!(session.id = %session_id, turn.id = %turn_id, ?told, "a webhook did not take an interruption");
        }
    }

    async fn send(&self, method: Method, url: Url, id: &str, body: String) -> Happened {
        let seconds = System.now().0.div_euclid(1_000_000);
        let signatures: Result<Vec<_>, _> =
            self.keys.iter().map(|key| key.sign(id, seconds, body.as_bytes())).collect();
        let Ok(signatures) = signatures else { return Happened::NotSent };
        let request = self
            .client
            .request(method, url)
            .timeout(self.pace.attempt)
            .header(standardwebhooks::HEADER_WEBHOOK_ID, id)
            .header(standardwebhooks::HEADER_WEBHOOK_TIMESTAMP, seconds)
            .header(standardwebhooks::HEADER_WEBHOOK_SIGNATURE, signatures.join(" "))
            .header("idempotency-key", id)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body);
        client::send(request).await
    }
}

impl Executor for Webhook {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(async move { self.deliver(&dispatch).await })
    }

    fn revoke(&self, turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        Box::pin(async move { if self.can_revoke { self.delete(&turn_id).await } else { Revocation::Unknown } })
    }

    fn interrupt(&self, session_id: SessionId, turn_id: TurnId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.can_interrupt {
                self.tell_interrupted(&session_id, &turn_id).await;
            }
        })
    }
}
