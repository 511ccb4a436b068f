//! The statements, `noun_verb`, written once in async Diesel against `Conn`. Each engine mounts this folder under
//! itself, so `super::Conn` is its own connection and `super::seam` its own way of locking rows. May import: the store's shared parts.

mod among;
pub(in crate::store) mod apply;
pub(in crate::store) mod bundles;
pub(in crate::store) mod check;
pub(in crate::store) mod focus;
pub(in crate::store) mod generations;
pub(in crate::store) mod import;
pub(in crate::store) mod lists;
pub(in crate::store) mod outbox;
pub(in crate::store) mod recovery;
pub(in crate::store) mod summaries;
pub(in crate::store) mod tasks;
pub(in crate::store) mod tokens;
pub(in crate::store) mod transact;
pub(in crate::store) mod transcript;
pub(in crate::store) mod view;

pub(in crate::store) use super::Conn;
use super::seam;

/// Ids that one statement may carry.
const CHUNK: usize = 500;
