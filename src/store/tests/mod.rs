//! Tests of the store against real files. May import: the house below and the store's inside.

#![expect(clippy::disallowed_methods, reason = "tests spawn, and are told cases by the environment")]

mod check;
mod contract;
mod differential;
mod files;
mod lane;
mod model;
mod plans;
mod schema;
mod summaries;
mod support;
