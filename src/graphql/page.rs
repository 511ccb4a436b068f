//! Pages: how many, from where, and the connection types that carry them. May import: ids.

use async_graphql::{OutputType, Result, SimpleObject};

use super::cursor::Key;
use super::fault::bad_argument;
use super::types::{Clarification, Message, Task, Turn};

/// Items of a page, at most.
pub(super) const PAGE_MAX: i32 = 100;

/// A page of a list.
#[derive(SimpleObject)]
#[graphql(
    concrete(name = "TaskConnection", params(Task)),
    concrete(name = "TurnConnection", params(Turn)),
    concrete(name = "MessageConnection", params(Message)),
    concrete(name = "ClarificationConnection", params(Clarification))
)]
pub struct Connection<T: OutputType>
where
    Edge<T>: OutputType,
{
    /// The items, in the list's order.
    edges: Vec<Edge<T>>,
    /// Whether there is more.
    page_info: PageInfo,
}

/// An item of a page.
#[derive(SimpleObject)]
#[graphql(
    concrete(name = "TaskEdge", params(Task)),
    concrete(name = "TurnEdge", params(Turn)),
    concrete(name = "MessageEdge", params(Message)),
    concrete(name = "ClarificationEdge", params(Clarification))
)]
pub struct Edge<T: OutputType> {
    /// Opaque; send it as `after` or `before` to go on from this item.
    cursor: String,
    /// The item.
    node: T,
}

/// Where a page stands in its list.
#[derive(SimpleObject)]
pub struct PageInfo {
    /// More items follow this page.
    has_next_page: bool,
    /// More items precede this page. False where the page began with `after`, for that was not looked at.
    has_previous_page: bool,
    /// The first item's cursor; null: the page is empty.
    start_cursor: Option<String>,
    /// The last item's cursor; null: the page is empty.
    end_cursor: Option<String>,
}

/// How many items were asked for.
///
/// # Errors
/// Not between 1 and [`PAGE_MAX`].
pub(super) fn size(argument: &str, asked: i32) -> Result<i64> {
    if (1..=PAGE_MAX).contains(&asked) {
        return Ok(i64::from(asked));
    }
    let message = format!("{argument} must be between 1 and {PAGE_MAX}");
    Err(bad_argument(argument, i64::from(PAGE_MAX), message))
}

/// The key that a cursor names.
///
/// # Errors
/// It is no cursor of this list.
pub(super) fn key<K: Key>(argument: &str, cursor: Option<&str>) -> Result<Option<K>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let unreadable = || bad_argument(argument, 0, format!("{argument} must be a cursor of this list"));
    K::read(cursor).map(Some).ok_or_else(unreadable)
}

/// What a page's items cost: as many as were asked for.
pub(super) fn cost(asked: i32, child: usize) -> usize {
    usize::try_from(asked.clamp(1, PAGE_MAX)).unwrap_or(1).saturating_mul(child).saturating_add(1)
}

/// The page of rows read with a limit one greater than `limit`, in reading order.
pub(super) fn page<R, T, K>(
    mut rows: Vec<R>,
    limit: i64,
    is_backward: bool,
    key: impl Fn(&R) -> K,
    node: impl Fn(R) -> T,
) -> Connection<T>
where
    T: OutputType,
    Edge<T>: OutputType,
    K: Key,
{
    let limit = usize::try_from(limit).unwrap_or(0);
    let is_more = rows.len() > limit;
    rows.truncate(limit);
    if is_backward {
        rows.reverse();
    }
    let edge = |row: R| Edge { cursor: key(&row).write(), node: node(row) };
    let edges: Vec<_> = rows.into_iter().map(edge).collect();
    let page_info = PageInfo {
        has_next_page: is_more && !is_backward,
        has_previous_page: is_more && is_backward,
        start_cursor: edges.first().map(|edge| edge.cursor.clone()),
        end_cursor: edges.last().map(|edge| edge.cursor.clone()),
    };
    Connection { edges, page_info }
}
