//! Rows of some ids, in a text that is prepared once and kept. Diesel's own list has as many places as there are ids and
//! is prepared each time, which takes as long as reading where a view holds the one rule.
//! May import: the store's shared parts.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType, Text};

/// The column is one of the ids; the last one fills the places up to a power of two, so that there are few texts.
pub(super) struct Among<'a, C> {
    column: C,
    ids: Vec<&'a str>,
}

/// At least one id.
pub(super) fn among<'a, C>(column: C, ids: impl Iterator<Item = &'a str>) -> Among<'a, C> {
    let mut ids: Vec<_> = ids.collect();
    if let Some(last) = ids.last().copied() {
        ids.resize(ids.len().next_power_of_two(), last);
    }
    Among { column, ids }
}

impl<C> Expression for Among<'_, C> {
    type SqlType = Bool;
}

impl<C, QS> AppearsOnTable<QS> for Among<'_, C> where C: AppearsOnTable<QS> {}

impl<C, QS> SelectableExpression<QS> for Among<'_, C> where C: SelectableExpression<QS> {}

impl<C, G> ValidGrouping<G> for Among<'_, C> {
    type IsAggregate = is_aggregate::No;
}

impl<C> QueryId for Among<'_, C> {
    type QueryId = ();

    /// Its text, which follows from the number of its places, is what its preparation is kept under.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, B> QueryFragment<B> for Among<'_, C>
where
    B: Backend + HasSqlType<Text>,
    C: QueryFragment<B>,
    str: ToSql<Text, B>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, B>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" IN (");
        for (place, id) in self.ids.iter().enumerate() {
            out.push_sql(if place == 0 { "" } else { ", " });
            out.push_bind_param::<Text, str>(id)?;
        }
        out.push_sql(")");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use diesel_async::AsyncConnectionCore;

    use super::*;
    use crate::store::schema::tasks;

    type Engine = <super::super::Conn as AsyncConnectionCore>::Backend;

    #[test]
    fn lists_of_about_the_same_length_are_one_text_which_is_kept() {
        let text = |ids: &[&str]| {
            let query = tasks::table.filter(among(tasks::id, ids.iter().copied())).select(tasks::id);
            assert!(QueryFragment::<Engine>::is_safe_to_cache_prepared(&query, &Engine::default()).unwrap());
            let text = diesel::debug_query::<Engine, _>(&query).to_string();
            text.split(" -- ").next().unwrap().to_owned()
        };
        assert_eq!(text(&["a", "b", "c"]), text(&["a", "b", "c", "d"]));
        assert_ne!(text(&["a", "b"]), text(&["a", "b", "c"]));
    }
}
