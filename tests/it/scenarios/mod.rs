//! The scenarios of the specification that concern the server, each a test on a whole server through real sockets;
//! `table` says which test shows which. May import: the crate, the app.

mod active;
mod delivery;
mod ending;
mod past;
mod reserved;
mod stage;
mod start;
mod summary;
mod table;
mod watchdog;
