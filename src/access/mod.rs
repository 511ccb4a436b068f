//! Who acts, and what they may do and see: pure questions, asked by the use cases and never by resolvers alone.
//! Tokens are made and hashed here and kept by the store; those of agents that
//! this server runs are kept here. May import: ids, ports, scope.

mod passes;
mod role;
mod token;
mod viewer;

pub use passes::{Pass, Passes};
pub use role::Role;
pub use token::{TOKEN_PREFIX, hash_token, new_token};
pub use viewer::Viewer;
