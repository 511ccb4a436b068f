//! Faults that a test arms for a call of the store, on either engine. May import: crash, error.

use crate::crash;

use super::error::Error;

/// The fault that a test has armed for this call: before its job is sent, or behind its commit.
pub(super) fn broken(call: &'static str) -> Result<(), Error> {
    let io = |kind| Err(Error::Io(std::io::Error::from(kind)));
    match crash::fault(call).as_deref() {
        None => Ok(()),
        Some("io") => io(std::io::ErrorKind::Other),
        Some("full") => io(std::io::ErrorKind::StorageFull),
        Some("lost") => Err(Error::Closed),
        Some("unknown") => Err(Error::UnknownCommit),
        Some(_) => Err(Error::Busy),
    }
}
