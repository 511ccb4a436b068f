//! Several servers on one database (design: store). This one says that it lives, takes up what those left that do not
//! any more, and hears from the others where to look. May import: store, lifecycle, ids.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::store::Wake;

use super::{Authority, Error};

/// How servers know that one of them is gone.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Its name: who starts under it takes the place of whoever had it.
    pub server: String,
    /// How often it says that it lives.
    pub heartbeat: Duration,
    /// A server that said nothing for so long is gone; what it left is taken up, and it may write nothing more.
    pub lapse: Duration,
}

impl Authority {
    /// Keeps this server's generation alive and ends silent ones, until stopped. `over` is cancelled when this
    /// generation was ended: its server can do nothing any more. A file has one server, whose lock is its heartbeat.
    pub async fn keep_generation(self, membership: Membership, over: CancellationToken) {
        let stop = self.0.parts.tasks.stop();
        while self.store().is_shared() {
            if stop.run_until_cancelled(tokio::time::sleep(membership.heartbeat)).await.is_none() {
                return;
            }
            match self.beat(&membership).await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::error!(epoch = %self.0.parts.epoch, "this server's generation was ended by another one");
                    return over.cancel();
                }
                Err(error) => tracing::warn!(%error, "the heartbeat failed"),
            }
        }
    }

    /// False: this generation is over.
    async fn beat(&self, membership: &Membership) -> Result<bool, Error> {
        let store = self.store().with_deadline(membership.lapse);
        let now = || self.0.parts.clock.now();
        if !store.epoch_beat(self.0.parts.epoch, now()).await? {
            return Ok(false);
        }
        store.epochs_end_silent(membership.lapse, now()).await?;
        let over = store.epochs_unrecovered().await?;
        if !over.is_empty() && self.take_up_each().await? {
            store.epochs_recovered(over, now()).await?;
        }
        Ok(true)
    }

    /// Takes up what servers left, beside those that serve: a session that cannot be recovered is named and left as it
    /// is, and keeps no other from it. False: there is one, and it is tried again.
    async fn take_up_each(&self) -> Result<bool, Error> {
        let mut is_whole = true;
        for session in self.store().sessions_to_recover().await? {
            match self.recover_session(&session).await {
                Ok(done) => tracing::info!(session.id = %session, ?done, "what a lost server left is taken up"),
                Err(error) => {
                    tracing::error!(%error, session.id = %session, "what a lost server left stays as it is");
                    is_whole = false;
                }
            }
        }
        Ok(is_whole)
    }

    /// Looks where other servers say that something happened, until stopped. A hint that is lost costs one period of
    /// looking without any.
    pub async fn hear_servers(self) {
        let stop = self.0.parts.tasks.stop();
        let exchange = async {
            loop {
                if let Err(error) = self.store().exchange_wakes(&|wake| self.look(&wake)).await {
                    tracing::warn!(%error, "other servers are not heard");
                }
                tokio::time::sleep(self.limits().poll).await;
            }
        };
        stop.run_until_cancelled(exchange).await;
    }

    fn look(&self, wake: &Wake) {
        match wake {
            Wake::Session(session) => self.0.hints.wake(session),
            Wake::All => self.0.hints.wake_all(),
            Wake::Log => {}
        }
        self.0.parts.relay.wake();
    }
}
