//! What happens, from a place in the log on: nothing is missed, nothing is invented (design: graphql). The feed
//! listens to the bus first, reads the log up to a pinned tip, then goes on live and drops what it passed before.
//! May import: store, bus, access, lifecycle, ids.

use std::collections::{HashSet, VecDeque};

use futures_util::stream::{self, Stream};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::access::Viewer;
use crate::ids::{MessageId, Position, SessionId, StoreId, TaskId, WorkspaceId};
use crate::lifecycle::{EventKind, OutboxRow, Refusal};
use crate::store::OutboxSpan;

use super::{Authority, Error};

/// Events of the log that are read at a time.
const PAGE: i64 = 256;

/// A place in the log of one store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The store; another one has another log.
    pub store: StoreId,
    /// The commit-ordered position in it.
    pub position: Position,
}

/// From where on to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// From now on.
    Now,
    /// What came after this place.
    After(Place),
    /// The caller named a place that cannot be read.
    Unreadable,
}

/// Why what lies between the caller's place and now cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The place cannot be read.
    Unreadable,
    /// It belongs to another store, or to one restored from a backup.
    OtherStore,
    /// It lies ahead of the log.
    Ahead,
    /// What came after it is not kept any more.
    Expired,
}

/// What to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangesScope {
    /// One session, and the end of its task.
    Session(SessionId),
    /// Tasks, of all workspaces or of one.
    Tasks(Option<WorkspaceId>),
}

/// One item of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeItem {
    /// What is read now includes everything up to here.
    Snapshot(Place),
    /// What came after the caller's place is lost; a snapshot follows.
    Gap(GapReason, Place),
    /// Something happened; read it.
    Event(Place, OutboxRow),
}

enum Filter {
    Session { session: SessionId, task: TaskId },
    Tasks { viewer: Box<Viewer>, workspace: Option<WorkspaceId> },
}

impl Filter {
    fn takes(&self, row: &OutboxRow) -> bool {
        let is_deletion = matches!(row.event.kind, EventKind::TaskDeleted);
        match self {
            Self::Session { session, task } => {
                row.session_id.as_ref() == Some(session) || (is_deletion && &row.task_id == task)
            }
            Self::Tasks { viewer, workspace } => {
                let is_seen = viewer.may_read_tasks(&row.workspace_id);
                let is_named = workspace.as_ref().is_none_or(|named| named == &row.workspace_id);
                is_seen && is_named && moves_a_task(&row.event.kind)
            }
        }
    }
}

/// What an event is about, where one telling of its newest state is enough.
#[derive(PartialEq, Eq, Hash)]
enum Subject<'a> {
    Task(&'a TaskId),
    State,
    Projection,
    Message(&'a MessageId),
}

impl Filter {
    fn subject<'a>(&self, row: &'a OutboxRow) -> Option<Subject<'a>> {
        if !self.takes(row) {
            return None;
        }
        match (self, &row.event.kind) {
            (_, EventKind::TaskDeleted) => None,
            (Self::Tasks { .. }, _) => Some(Subject::Task(&row.task_id)),
            (Self::Session { .. }, EventKind::SessionStateChanged) => Some(Subject::State),
            (Self::Session { .. }, EventKind::ProjectionChanged) => Some(Subject::Projection),
            (Self::Session { .. }, EventKind::MessageUpdated { message_id }) => Some(Subject::Message(message_id)),
            (Self::Session { .. }, _) => None,
        }
    }
}

/// Moves what a task's row shows.
fn moves_a_task(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::TaskChanged
            | EventKind::TaskDeleted
            | EventKind::SessionStateChanged
            | EventKind::SessionDeleted
            | EventKind::ProjectionChanged
    )
}

struct Feed {
    authority: Authority,
    filter: Filter,
    live: Receiver<OutboxRow>,
    store: StoreId,
    /// What is at or below it was told.
    last: Position,
    /// The log is read up to here before the bus is listened to.
    tip: Position,
    /// The feed ends when it came this far.
    until: Option<Position>,
    ready: VecDeque<ChangeItem>,
}

impl Authority {
    /// The newest place of the log.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn now(&self) -> Result<Place, Error> {
        let store = self.store().store_id().await?;
        Ok(Place { store, position: self.store().outbox_tip().await? })
    }

    /// Follows what happens, for ever or as far as `until`, which is a place that the log has reached.
    ///
    /// # Errors
    /// No such session, as for one that is not the viewer's; a fault of the store. A fault later on is the last
    /// item of the stream.
    pub async fn changes(
        &self,
        viewer: &Viewer,
        scope: ChangesScope,
        since: Since,
        until: Option<Position>,
    ) -> Result<impl Stream<Item = Result<ChangeItem, Error>> + Send + use<>, Error> {
        let live = self.bus().subscribe();
        let filter = self.filter(viewer, scope).await?;
        let store = self.store().store_id().await?;
        let log = self.store().outbox_span().await?;
        let (last, ready) = begin(since, &store, log);
        let feed = Feed { authority: self.clone(), filter, live, store, last, tip: log.tip, until, ready };
        Ok(stream::unfold(Some(feed), |feed| async move {
            let mut feed = feed?;
            match feed.next().await {
                Ok(Some(item)) => Some((Ok(item), Some(feed))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        }))
    }

    async fn filter(&self, viewer: &Viewer, scope: ChangesScope) -> Result<Filter, Error> {
        match scope {
            ChangesScope::Tasks(workspace) => Ok(Filter::Tasks { viewer: Box::new(viewer.clone()), workspace }),
            ChangesScope::Session(id) => {
                let rows = self.store().sessions(std::slice::from_ref(&id)).await?;
                let row = rows.into_iter().find(|row| viewer.may_read_session(&row.session.workspace_id, &id));
                let task = row.ok_or(Refusal::NotFound)?.session.task_id;
                Ok(Filter::Session { session: id, task })
            }
        }
    }
}

/// What a feed begins with, and after which position.
fn begin(since: Since, store: &StoreId, log: OutboxSpan) -> (Position, VecDeque<ChangeItem>) {
    let OutboxSpan { floor, tip } = log;
    let place = Place { store: store.clone(), position: tip };
    let reason = match since {
        Since::After(after) if &after.store != store => GapReason::OtherStore,
        Since::After(after) if after.position > tip => GapReason::Ahead,
        Since::After(after) if after.position < floor => GapReason::Expired,
        Since::After(after) => return (after.position, VecDeque::new()),
        Since::Now => return (tip, VecDeque::from([ChangeItem::Snapshot(place)])),
        Since::Unreadable => GapReason::Unreadable,
    };
    (tip, VecDeque::from([ChangeItem::Gap(reason, place.clone()), ChangeItem::Snapshot(place)]))
}

impl Feed {
    async fn next(&mut self) -> Result<Option<ChangeItem>, Error> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            if self.last < self.tip {
                self.read_on().await?;
                continue;
            }
            if self.until.is_some_and(|until| self.last >= until) {
                return Ok(None);
            }
            match self.live.recv().await {
                Ok(row) => self.offer(row),
                // The bus went on without this listener; the log has it all.
                Err(RecvError::Lagged(_)) => self.tip = self.authority.store().outbox_tip().await?,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    /// Reads a page of the log; of what it says again and again about one thing, only the last is told.
    async fn read_on(&mut self) -> Result<(), Error> {
        let rows = self.authority.store().outbox_after(self.last, PAGE).await?;
        // What is not kept any more was not read by a slow listener: it is told so.
        if rows.first().is_none_or(|row| row.position.0 > self.last.0.saturating_add(1)) {
            let log = self.authority.store().outbox_span().await?;
            let after = Place { store: self.store.clone(), position: self.last };
            (self.last, self.ready) = begin(Since::After(after), &self.store, log);
            self.tip = self.tip.max(self.last);
        }
        if rows.is_empty() {
            self.last = self.last.max(self.tip);
        }
        let told_later = repeated(&self.filter, &rows);
        for (row, is_told_later) in rows.into_iter().zip(told_later) {
            if is_told_later {
                self.last = self.last.max(row.position);
            } else {
                self.offer(row);
            }
        }
        Ok(())
    }

    fn offer(&mut self, row: OutboxRow) {
        if row.position <= self.last {
            return;
        }
        self.last = row.position;
        if self.filter.takes(&row) {
            let place = Place { store: self.store.clone(), position: row.position };
            self.ready.push_back(ChangeItem::Event(place, row));
        }
    }
}

/// Which events a later one of the page says again: what is told is read when it is told, so the last is enough.
fn repeated(filter: &Filter, rows: &[OutboxRow]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let mut is_repeated: Vec<bool> =
        rows.iter().rev().map(|row| filter.subject(row).is_some_and(|subject| !seen.insert(subject))).collect();
    is_repeated.reverse();
    is_repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(store: &str, position: i64) -> Since {
        Since::After(Place { store: StoreId::new(store), position: Position(position) })
    }

    fn begun(since: Since) -> (Position, Vec<ChangeItem>) {
        let log = OutboxSpan { floor: Position(2), tip: Position(7) };
        let (last, items) = begin(since, &StoreId::new("s"), log);
        (last, items.into())
    }

    #[test]
    fn without_a_place_the_first_item_is_a_snapshot_of_now() {
        let (last, items) = begun(Since::Now);
        assert_eq!(last, Position(7));
        assert!(matches!(items.as_slice(), [ChangeItem::Snapshot(place)] if place.position == Position(7)));
    }

    #[test]
    fn a_place_of_this_log_is_gone_on_from_without_a_snapshot() {
        for position in [2, 3, 7] {
            assert_eq!(begun(at("s", position)), (Position(position), Vec::new()));
        }
    }

    #[test]
    fn a_place_that_cannot_be_gone_on_from_is_a_gap_and_a_snapshot() {
        let cases = [
            (Since::Unreadable, GapReason::Unreadable),
            (at("other", 3), GapReason::OtherStore),
            (at("s", 8), GapReason::Ahead),
            (at("s", 1), GapReason::Expired),
        ];
        for (since, reason) in cases {
            let (last, items) = begun(since);
            assert_eq!(last, Position(7));
            let is_told = matches!(
                items.as_slice(),
                [ChangeItem::Gap(told, _), ChangeItem::Snapshot(_)] if *told == reason
            );
            assert!(is_told, "{items:?}");
        }
    }
}
