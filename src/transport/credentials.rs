//! Who is behind a socket or a stream, looked at again while it lasts: once a period for each token, however many
//! hold it. May import: authority, access, tasks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::Viewer;
use crate::authority::{Authority, Error};
use crate::tasks::Tasks;

/// A bearer token as it came; none: without one.
type Token = Option<String>;

/// Credentials that are held now. Clones share them.
#[derive(Clone)]
pub(super) struct Credentials(Arc<Inner>);

struct Inner {
    authority: Authority,
    tasks: Tasks,
    period: Duration,
    held: Mutex<HashMap<Token, Weak<Held>>>,
}

/// Credentials while somebody holds them.
pub(super) struct Held {
    viewer: Viewer,
    withdrawn: CancellationToken,
    _watched_while_held: DropGuard,
}

impl Held {
    /// Who it is.
    pub(super) fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Resolves when access was taken back.
    pub(super) async fn withdrawn(&self) {
        self.withdrawn.cancelled().await;
    }
}

impl Credentials {
    /// `period`: between two looks.
    pub(super) fn new(authority: Authority, tasks: Tasks, period: Duration) -> Self {
        Self(Arc::new(Inner { authority, tasks, period, held: Mutex::default() }))
    }

    /// Holds a token that was just looked at, and opened the way to that viewer.
    pub(super) fn hold(&self, token: Token, viewer: Viewer) -> Arc<Held> {
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held.get(&token).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.viewer == viewer && !known.withdrawn.is_cancelled()) {
            return known;
        }
        let (withdrawn, dropped) = (CancellationToken::new(), CancellationToken::new());
        let watch = self.clone().watch(token.clone(), viewer.clone(), withdrawn.clone(), dropped.clone());
        let fresh = Arc::new(Held { viewer, withdrawn, _watched_while_held: dropped.drop_guard() });
        held.insert(token, Arc::downgrade(&fresh));
        drop(held);
        self.0.tasks.spawn("credentials", watch);
        fresh
    }

    async fn watch(self, token: Token, viewer: Viewer, withdrawn: CancellationToken, dropped: CancellationToken) {
        let stop = self.0.tasks.stop();
        loop {
            tokio::select! {
                () = dropped.cancelled() => break,
                () = stop.cancelled() => break,
                () = tokio::time::sleep(self.0.period) => {}
            }
            match self.0.authority.authenticate(token.as_deref()).await {
                Ok(now) if now == viewer => {}
                Ok(_) | Err(Error::Unauthenticated) => {
                    withdrawn.cancel();
                    break;
                }
                // A store that cannot be asked takes nothing away; the next look is soon.
                Err(error) => tracing::debug!(%error, "credentials could not be looked at"),
            }
        }
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.get(&token).is_some_and(|held| held.strong_count() == 0) {
            held.remove(&token);
        }
    }
}
