//! Several servers on one database (design: store). This one says that it lives, takes up what those left that do not
//! any more, and hears from the others where to look. May import: store, lifecycle, ids.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::lifecycle::Recovery;
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

/// Since when a server's own heartbeats came in time. After a database was away, or a machine stood still, every server
/// has been silent; who comes back first must not take that for the others' death.
struct Steady {
    since: Instant,
    last: Instant,
}

impl Steady {
    fn new() -> Self {
        Self { since: Instant::now(), last: Instant::now() }
    }

    /// A heartbeat came now; true: none was missing for so long that others may be judged by theirs.
    fn beat(&mut self, lapse: Duration) -> bool {
        let now = Instant::now();
        if now.duration_since(self.last) >= lapse / 2 {
            self.since = now;
        }
        self.last = now;
        now.duration_since(self.since) >= lapse
    }
}

impl Authority {
    /// Keeps this server's generation alive and ends silent ones, until stopped. `over` is cancelled when this
    /// generation was ended: its server can do nothing any more. A file has one server, whose lock is its heartbeat.
    pub async fn keep_generation(self, membership: Membership, over: CancellationToken) {
        let (stop, mut steady) = (self.0.parts.tasks.stop(), Steady::new());
        while self.store().is_shared() {
            if stop.run_until_cancelled(tokio::time::sleep(membership.heartbeat)).await.is_none() {
                return;
            }
            match self.beat(&membership, &mut steady).await {
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
    async fn beat(&self, membership: &Membership, steady: &mut Steady) -> Result<bool, Error> {
        let store = self.store().with_deadline(membership.lapse);
        let now = || self.0.parts.clock.now();
        if !store.epoch_beat(self.0.parts.epoch, now()).await? {
            return Ok(false);
        }
        if steady.beat(membership.lapse) {
            store.epochs_end_silent(membership.lapse, now()).await?;
        }
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
                Ok(done) if done == Recovery::default() => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    const LAPSE: Duration = Duration::from_secs(10);

    async fn beats(steady: &mut Steady, seconds: u64) -> bool {
        let mut is_judge = false;
        for _ in 0..seconds {
            tokio::time::advance(Duration::from_secs(1)).await;
            is_judge = steady.beat(LAPSE);
        }
        is_judge
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_judges_others_only_after_it_was_there_itself_for_as_long() {
        let mut steady = Steady::new();
        assert!(!beats(&mut steady, 9).await);
        assert!(beats(&mut steady, 1).await);
        tokio::time::advance(LAPSE).await;
        assert!(!steady.beat(LAPSE), "it was away itself");
        assert!(!beats(&mut steady, 9).await);
        assert!(beats(&mut steady, 1).await);
    }
}
