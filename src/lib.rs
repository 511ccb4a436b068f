//! Answerable: the authority for the questions that AI agents ask people.
//!
//! The code map, from the outside in; a room may import any room below it:
//!
//! - [`authority`]: one use case per file; every durable change of a session passes `transact`
//! - [`store`]: the only room that knows SQL
//! - [`lifecycle`]: the specification as pure code: `decide(view, command, stamp) -> Decision`
//! - [`ids`], [`ports`]: names, and the only readers of the clock and of randomness

pub mod bus;
pub mod dispatch;
pub mod ids;
pub mod lifecycle;
pub mod ports;
pub mod scope;
pub mod store;
