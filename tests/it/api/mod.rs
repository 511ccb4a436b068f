//! The GraphQL contract through real sockets. May import: the crate, and the app.

mod access;
mod calls;
mod cost;
mod documents;
mod foreign;
mod http;
mod lists;
mod metrics;
mod patience;
mod race;
mod respond;
mod runtime;
pub mod scene;
pub mod socket;
mod stalls;
mod subscribe;
mod trusted;
