//! The one integration binary. May import: the crate.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that breaks says so")]
#![expect(clippy::panic, clippy::indexing_slicing, reason = "a test that breaks says so")]
#![expect(clippy::disallowed_methods, reason = "tests spawn, and are told seeds by the environment")]

mod acp;
mod api;
mod app;
mod clock;
mod home;
mod import;
mod kill;
mod outage;
mod peers;
#[path = "../support/postgres.rs"]
#[expect(dead_code, reason = "a server that syncs is for measurements")]
mod postgres;
#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "cuts at a COMMIT are for crash cells")]
mod proxy;
mod psql;
mod pull;
mod receiver;
mod scenarios;
mod servers;
mod settings;
mod webhook;
