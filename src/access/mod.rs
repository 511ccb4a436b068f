//! Who acts, and what they may do and see: pure questions, asked by the use cases and never by resolvers alone.
//! Tokens are made and hashed here and kept by the store. May import: ids, ports, scope.

mod role;
mod token;
mod viewer;

pub use role::Role;
pub use token::{TOKEN_PREFIX, hash_token, new_token};
pub use viewer::Viewer;
