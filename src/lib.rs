//! Answerable: the authority for the questions that AI agents ask people.
//!
//! The code map, from the outside in; a room may import any room below it:
//!
//! - [`demo`]: a seeded store and a scripted agent, to try it
//! - [`transport`]: what the port answers
//! - [`graphql`]: the schema, one file per type
//! - [`mcp`]: the agent's tools and their liveness
//! - [`authority`]: one use case per file; every durable change of a session passes `transact`
//! - [`dispatch`]: gives prompts to agents; [`outbox`]: takes events to the bus
//! - [`store`]: the only room that knows SQL; [`bus`]; [`access`]: who may do and see what
//! - [`lifecycle`]: the specification as pure code: `decide(view, command, stamp) -> Decision`
//! - [`ids`], [`ports`], [`scope`], [`tasks`], [`metrics`], [`crash`]: names, the only readers of the clock and of
//!   randomness, the one place that spawns, what is counted, the points at which crash tests kill

pub mod access;
pub mod authority;
pub mod bus;
pub mod cli;
pub mod config;
pub mod crash;
pub mod demo;
pub mod dispatch;
pub mod graphql;
pub mod ids;
pub mod lifecycle;
pub mod mcp;
pub mod metrics;
pub mod outbox;
pub mod ports;
pub mod scope;
pub mod serve;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod transport;

#[cfg(test)]
#[path = "../tests/support/fuzz.rs"]
mod fuzz;
