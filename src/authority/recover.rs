//! Startup: what dead generations left is taken up before anything is admitted (architecture section 7).
//! May import: outbox, store, lifecycle, ids, crash.

use crate::crash;
use crate::ids::SessionId;
use crate::lifecycle::{Command, Effect, Recovery, Refusal, decide};
use crate::outbox;
use crate::store;

use super::{Authority, Error};

/// Recovery refuses the start: what it names was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// Rows whose recovery metadata cannot be read.
    #[error("recovery refuses the start; nothing of these was changed: {}", .0.join("; "))]
    Malformed(Vec<String>),
    /// The store failed.
    #[error("recovery failed: {0}")]
    Failed(#[from] Error),
    /// The outbox could not be replayed.
    #[error("replay failed, its events stay in the outbox: {0}")]
    Replay(#[from] outbox::Error),
}

impl From<store::Error> for RecoveryError {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Authority {
    /// Recovers every session that needs it, ends turns that have nobody behind them, then replays the outbox to empty.
    /// A second run changes nothing.
    ///
    /// # Errors
    /// The start must be refused; the next one retries.
    pub async fn recover(&self) -> Result<Recovery, RecoveryError> {
        let over = self.store().epochs_unrecovered().await?;
        let sessions = self.store().sessions_to_recover().await?;
        let malformed = self.malformed(&sessions).await?;
        if !malformed.is_empty() {
            return Err(RecoveryError::Malformed(malformed));
        }
        let mut total = Recovery::default();
        for session in sessions {
            add(&mut total, self.recover_session(&session).await?);
        }
        self.end_orphaned_turns().await?;
        let now = self.0.parts.clock.now();
        self.store().epochs_recovered(over, now).await?;
        crash::point("CP-52");
        self.0.parts.relay.drain().await?;
        Ok(total)
    }

    /// What recovery would refuse, of all sessions, before anything of any is changed (CP-55).
    async fn malformed(&self, sessions: &[SessionId]) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for session in sessions {
            let view = self.store().view(session, Command::Recover.focus()).await?;
            if let Err(Refusal::Malformed { row, reason }) = decide(&view, &Command::Recover, &self.stamp()) {
                found.push(format!("session {session}, {row}: {reason}"));
            }
        }
        Ok(found)
    }

    pub(super) async fn recover_session(&self, session: &SessionId) -> Result<Recovery, Error> {
        match self.transact(session, Command::Recover).await?.decision.effect {
            Effect::Recovered(done) => Ok(done),
            _ => Ok(Recovery::default()),
        }
    }
}

fn add(total: &mut Recovery, done: Recovery) {
    total.rolled_back += done.rolled_back;
    total.kept += done.kept;
    total.restored += done.restored;
    total.retired += done.retired;
    total.detached += done.detached;
    total.expired += done.expired;
}
