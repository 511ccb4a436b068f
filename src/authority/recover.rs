//! Startup: what dead generations left is taken up before anything is admitted (architecture section 7).
//! May import: outbox, store, lifecycle, ids, crash.

use crate::crash;
use crate::ids::SessionId;
use crate::lifecycle::{Command, Effect, Recovery, Refusal};
use crate::outbox;

use super::{Authority, Error};

/// Recovery refuses the start: what it names was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// Rows whose recovery metadata cannot be read.
    #[error("recovery refuses the start; nothing of these was changed: {}", .0.join("; "))]
    Malformed(Vec<String>),
    /// The store failed.
    #[error("recovery failed: {0}")]
    Failed(Error),
    /// The outbox could not be replayed.
    #[error("replay failed, its events stay in the outbox: {0}")]
    Replay(#[from] outbox::Error),
}

impl Authority {
    /// Recovers every session that needs it, then replays the outbox to empty. A second run changes nothing.
    ///
    /// # Errors
    /// The start must be refused; the next one retries.
    pub async fn recover(&self) -> Result<Recovery, RecoveryError> {
        let sessions =
            self.store().sessions_to_recover().await.map_err(|error| RecoveryError::Failed(error.into()))?;
        let mut total = Recovery::default();
        let mut malformed = Vec::new();
        for session in sessions {
            match self.recover_session(&session).await {
                Ok(done) => add(&mut total, done),
                Err(Error::Refused(Refusal::Malformed { row, reason })) => {
                    malformed.push(format!("session {session}, {row}: {reason}"));
                }
                Err(error) => return Err(RecoveryError::Failed(error)),
            }
        }
        if !malformed.is_empty() {
            return Err(RecoveryError::Malformed(malformed));
        }
        crash::point("CP-52");
        self.0.parts.relay.drain().await?;
        Ok(total)
    }

    async fn recover_session(&self, session: &SessionId) -> Result<Recovery, Error> {
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
}
