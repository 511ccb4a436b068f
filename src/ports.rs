//! The only readers of the clock and of randomness. May import: ids.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::ids::Micros;

/// Tells the wall time. Durations are never taken from it.
pub trait Clock: Debug + Send + Sync {
    /// Now, in UTC.
    fn now(&self) -> Micros;
}

/// Gives fresh ids.
pub trait IdSource: Debug + Send + Sync {
    /// A UUIDv7 that was never given before.
    fn fresh(&self) -> Uuid;
}

/// The machine's clock and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn now(&self) -> Micros {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl IdSource for System {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// 256 bits from the system, for secrets.
///
/// # Panics
/// The system gives none: nothing secret can be made then.
#[expect(clippy::disallowed_methods, reason = "this is the port")]
#[expect(clippy::panic, reason = "weak randomness in its place would be a hole that nobody sees")]
pub fn entropy() -> [u8; 32] {
    let mut bytes = [0; 32];
    match getrandom::fill(&mut bytes) {
        Ok(()) => bytes,
        Err(error) => panic!("the system gives no randomness: {error}"),
    }
}
