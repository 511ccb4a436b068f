//! What a transport and a running subscription tell each other beside the items themselves.
//! May import: authority, ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::authority::{ChangeItem, Place, Since};
use crate::ids::Position;

use super::cursor::Cursor;

/// Where a subscription goes on, where it ends, and how far it came; by default where its document's own `after`
/// says, and without an end. Clones share how far it came.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    since: Option<Since>,
    until: Option<Position>,
    last: Arc<AtomicI64>,
}

/// The subscription whose items are no changes of the log.
const UNLOGGED: &str = "dispatchAvailable";

/// Whether a document follows the log for certain, so that equal ones can share what they hear. One that only
/// names the other subscription somewhere is followed alone, which is right too.
pub fn follows_the_log(query: &str) -> bool {
    !query.contains(UNLOGGED)
}

impl Follow {
    /// Goes on where the document's own `after` says, through what the log has up to `until`, and ends there.
    pub fn until(until: Position) -> Self {
        Self { until: Some(until), ..Self::default() }
    }

    /// Goes on right behind a place, whatever the document says, without an end.
    pub fn live(place: Place) -> Self {
        Self { since: Some(Since::After(place)), ..Self::default() }
    }

    /// The same, but right behind this cursor, whatever the document says.
    #[must_use]
    pub fn behind(self, cursor: &str) -> Self {
        Self { since: Some(Cursor::since(Some(&Cursor(cursor.to_owned())))), ..self }
    }

    /// Where the item stands that came last; 0: it is no place to go on from, or there was none.
    pub fn last(&self) -> Position {
        Position(self.last.load(Ordering::Acquire))
    }

    pub(super) fn since(&self) -> Option<Since> {
        self.since.clone()
    }

    pub(super) fn end(&self) -> Option<Position> {
        self.until
    }

    /// Where the client is already counts as told: a feed may still stand before that.
    pub(super) fn begins(&self, since: &Since) {
        if let Since::After(place) = since {
            self.last.store(place.position.0, Ordering::Release);
        }
    }

    /// A gap is no place to go on from: what follows it would be missed.
    pub(super) fn came_to(&self, item: &ChangeItem) {
        let position = match item {
            ChangeItem::Gap(..) => 0,
            ChangeItem::Snapshot(place) | ChangeItem::Event(place, _) => place.position.0,
        };
        self.last.store(position, Ordering::Release);
    }
}

/// A place as its cursor.
pub fn cursor_text(place: &Place) -> String {
    Cursor::from(place).0
}
