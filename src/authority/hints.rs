//! Wakes those who wait for something of a session. A hint carries nothing; who is woken looks for itself.
//! May import: ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::ids::SessionId;

#[derive(Clone, Default)]
pub(super) struct Hints(Arc<Mutex<HashMap<SessionId, watch::Sender<u64>>>>);

impl Hints {
    /// Listens for hints about a session, from now on.
    pub(super) fn subscribe(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.entry(session.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Something may have changed in any session.
    pub(super) fn wake_all(&self) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|_, sender| {
            sender.send_modify(|count| *count = count.wrapping_add(1));
            sender.receiver_count() > 0
        });
    }

    /// Something of the session changed. A session that nobody listens to is forgotten here, which bounds the map
    /// by those who listen.
    pub(super) fn wake(&self, session: &SessionId) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = map.get(session) {
            if sender.receiver_count() == 0 {
                map.remove(session);
            } else {
                sender.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }
}
