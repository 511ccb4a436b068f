//! Tokens of agents that this server runs: each lives as long as its agent's process, in memory only, so none
//! outlives the server. May import: ids, and its siblings.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ids::SessionId;

use super::{hash_token, new_token};

/// Every pass that stands. Clones share them.
#[derive(Clone, Default)]
pub struct Passes(Arc<Mutex<HashMap<[u8; 32], SessionId>>>);

impl fmt::Debug for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passes").field("count", &self.lock().len()).finish()
    }
}

impl Passes {
    /// A fresh pass into that session alone.
    pub fn issue(&self, session: SessionId) -> Pass {
        let (text, hash) = new_token();
        self.lock().insert(hash, session);
        Pass { text, hash, all: self.clone() }
    }

    /// The session that a token lets into, while its pass stands.
    pub fn session(&self, token: &str) -> Option<SessionId> {
        self.lock().get(&hash_token(token)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], SessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One agent's way in; dropped, it is closed.
pub struct Pass {
    text: String,
    hash: [u8; 32],
    all: Passes,
}

impl Pass {
    /// The bearer token; never to be logged.
    pub fn token(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pass(…)")
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.all.lock().remove(&self.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lets_into_its_session_until_its_pass_is_dropped() {
        let passes = Passes::default();
        let (one, other) = (passes.issue(SessionId::new("one")), passes.issue(SessionId::new("other")));
        let token = one.token().to_owned();
        assert_eq!(passes.session(&token), Some(SessionId::new("one")));
        assert!(!format!("{one:?} {passes:?}").contains(&token));
        drop(one);
        assert_eq!(passes.session(&token), None);
        assert_eq!(passes.session(other.token()), Some(SessionId::new("other")));
    }
}
