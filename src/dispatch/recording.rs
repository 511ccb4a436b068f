//! An agent that crash tests can count: every prompt that reaches it is a line in a file, there before it answers.
//! In builds with the feature `failpoints` only. May import: crash, ids.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::crash;
use crate::ids::TurnId;

use super::{Dispatch, Executor, Outcome, Revocation};

/// Takes every prompt, unless the point `agent` says `reject`, `unknown` or `hang`; a hung one is taken back as the
/// point `revoke` says: `revoked`, `accepted`, else nobody can tell.
#[derive(Debug)]
pub struct Recording {
    file: PathBuf,
}

impl Recording {
    /// The name by which a session asks for it.
    pub const NAME: &str = "recording";

    /// Its lines stand beside that database, in a file ending with `.dispatches`.
    pub fn beside(database: &Path) -> Self {
        Self { file: database.with_extension("dispatches") }
    }

    /// Refused prompts do not count as dispatches, so the line says so.
    fn record(&self, dispatch: &Dispatch, how: &str) -> std::io::Result<()> {
        let bundle = dispatch.pending_id.as_ref().map_or("-", |id| id.as_str());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{how} {} {bundle}", dispatch.turn_id)?;
        file.sync_data()
    }
}

impl Executor for Recording {
    fn dispatch(&self, dispatch: Dispatch, _within: Duration) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let how = crash::fault("agent").unwrap_or_else(|| "accept".to_owned());
            if let Err(error) = self.record(&dispatch, &how) {
                return Outcome::Unknown { reason: error.to_string() };
            }
            crash::point("CP-29");
            match how.as_str() {
                "reject" => Outcome::Rejected { reason: "the test says so".into() },
                "unknown" => Outcome::Unknown { reason: "the test says so".into() },
                "hang" => std::future::pending().await,
                _ => Outcome::Accepted,
            }
        })
    }

    fn revoke(&self, _turn_id: TurnId) -> BoxFuture<'_, Revocation> {
        Box::pin(async {
            match crash::fault("revoke").as_deref() {
                Some("revoked") => Revocation::Revoked,
                Some("accepted") => Revocation::AlreadyAccepted,
                _ => Revocation::Unknown,
            }
        })
    }
}
