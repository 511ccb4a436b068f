//! The face of the product: the schema, one file per type, and the rules of a request that hold on every
//! transport. Resolvers hold no rule of the lifecycle and no access of their own; they ask the authority.
//! May import: authority, access, store, lifecycle, ids.

mod base64;
mod context;
mod cursor;
mod documents;
mod fault;
mod follow;
mod limits;
mod loaders;
mod mutation;
mod page;
mod prepare;
mod query;
mod scan;
mod subscription;
#[cfg(test)]
mod tests;
mod types;

use async_graphql::SDLExportOptions;

use crate::authority::Authority;

pub use base64::encode as base64;
pub use context::{Receipts, enter};
pub use documents::{Documents, Untrusted};
pub use fault::{Code, error_table, failure, has_code, said, server_error};
pub use follow::{Follow, cursor_text, follows_the_log};
pub use limits::Limits;
pub use prepare::{Incoming, Kind, Prepared, finish, is_request_error, prepare};

use mutation::Mutation;
use query::Query;
use subscription::Subscription;

/// The executable schema.
pub type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

/// What a deployment may switch; production has all of it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Clients may read the schema.
    pub is_introspection_on: bool,
    /// Errors of unknown names suggest known ones.
    pub are_suggestions_on: bool,
}

/// The schema over one authority.
pub fn schema(authority: Authority, profile: Profile, limits: &Limits) -> Schema {
    let mut builder = Schema::build(Query, Mutation::default(), Subscription)
        .limit_complexity(limits.complexity_max)
        .limit_recursive_depth(limits.recursion_max)
        .data(authority)
        .data(*limits);
    if !profile.is_introspection_on {
        builder = builder.disable_introspection();
    }
    if !profile.are_suggestions_on {
        builder = builder.disable_suggestions();
    }
    builder.finish()
}

/// The schema in its definition language, sorted, so that it changes only where the contract does.
pub fn sdl() -> String {
    let options = SDLExportOptions::new().sorted_fields().sorted_arguments().sorted_enum_items();
    let schema = Schema::build(Query, Mutation::default(), Subscription).finish();
    schema.sdl_with_options(options)
}
