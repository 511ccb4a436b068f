//! Statements whose preparation is kept. Diesel prepares every UPDATE and every INSERT of several rows anew, because
//! their text may differ from run to run; here the text itself is the cache's key, so keeping it is safe.
//! May import: nothing of this crate.

use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;

/// A statement that is prepared once for each text it takes; those must be few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<T>(pub(super) T);

impl<T: QueryFragment<DB>, DB: Backend> QueryFragment<DB> for Kept<T> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _backend: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<T> QueryId for Kept<T> {
    type QueryId = ();

    /// The text is the key, not the type.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: Query> Query for Kept<T> {
    type SqlType = T::SqlType;
}
