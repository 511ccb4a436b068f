//! Subscriptions. Equal ones of equal viewers are resolved and written once, by one feed that all of them follow
//! (design: graphql). Each follower first reads the log up to where the feed stands, alone, and then goes on with
//! the feed; one that the feed outran reads the log again. No follower keeps more than the item it is sending.
//! May import: graphql, authority, access, tasks, metrics.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_graphql::{Response, ServerError};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::OnceCell;
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::Viewer;
use crate::authority::{self, Authority, Place};
use crate::graphql::{
    Follow, Incoming, Limits, Schema, cursor_text, enter, failure, finish, follows_the_log, is_request_error,
    prepare,
};
use crate::ids::{Position, StoreId};
use crate::metrics::Counted;
use crate::tasks::Tasks;

use super::metering;

/// Where an item stands that is no place to go on from.
const NOWHERE: Position = Position(0);

/// What a follower is told.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A response as JSON, and the cursor to go on behind it; none: it is no place to go on from.
    Next(Arc<str>, Option<Arc<str>>),
    /// What comes from here on has not happened yet.
    Live,
    /// Errors as JSON; nothing comes after them.
    Error(Arc<str>),
}

/// The items of one follower.
pub(super) type Items = Pin<Box<dyn Stream<Item = Item> + Send>>;

/// Who follows what. Equal ones share a feed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    viewer: Viewer,
    /// Document, operation and variables; the members of objects are in order.
    request: String,
}

/// All feeds of a server. Clones share them.
#[derive(Clone)]
pub(super) struct Feeds(Arc<Inner>);

struct Inner {
    authority: Authority,
    schema: Schema,
    limits: Limits,
    tasks: Tasks,
    kept_max: usize,
    feeds: Mutex<HashMap<Subject, Weak<OnceCell<Feed>>>>,
}

/// A feed while somebody follows it.
struct Feed {
    line: Arc<Line>,
    _ends_with_its_last_follower: DropGuard,
    _counted: Counted,
}

/// What a feed says, and how far it came.
struct Line {
    store: StoreId,
    said: Mutex<Said>,
}

struct Said {
    last: Position,
    /// None: the feed is over.
    sender: Option<Sender<(Position, Item)>>,
}

/// One follower's part of a feed: it hears all that lies behind `from`.
struct Joined {
    _keeps_it_going: Arc<OnceCell<Feed>>,
    store: StoreId,
    from: Position,
    items: Receiver<(Position, Item)>,
}

/// Where a follower is.
enum Stage {
    /// It has no feed: what it follows is not the log.
    Alone(Items),
    /// It begins, or begins again.
    Join(Begin),
    /// It reads the log up to where the feed stood.
    Backlog {
        own: Items,
        follow: Follow,
        joined: Joined,
    },
    /// It hears the feed, and came this far.
    Live {
        last: Position,
        joined: Joined,
    },
    Over,
}

/// Where a follower begins.
enum Begin {
    /// Where the document says.
    AsAsked,
    Behind(Arc<str>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Feeds {
    /// `kept_max`: items that a feed keeps for its slowest follower.
    pub(super) fn new(
        authority: Authority,
        schema: Schema,
        limits: Limits,
        tasks: Tasks,
        kept_max: usize,
    ) -> Self {
        Self(Arc::new(Inner { authority, schema, limits, tasks, kept_max, feeds: Mutex::default() }))
    }

    /// Follows; `behind` overrules where the document says to begin.
    pub(super) fn follow(&self, incoming: Incoming, viewer: Viewer, behind: Option<&str>) -> Items {
        let request = serde_json::json!([incoming.query, incoming.operation_name, incoming.variables]).to_string();
        let subject = Subject { viewer, request };
        let first = if follows_the_log(&incoming.query) {
            Stage::Join(behind.map_or(Begin::AsAsked, |cursor| Begin::Behind(cursor.into())))
        } else {
            self.alone(&subject, &incoming, behind)
        };
        let counted = self.0.authority.metrics().subscription();
        let shared = Arc::new((self.clone(), subject, incoming, counted));
        Box::pin(stream::unfold(first, move |stage| {
            let shared = shared.clone();
            async move {
                let (feeds, subject, incoming, _counted) = &*shared;
                feeds.step(subject, incoming, stage).await
            }
        }))
    }

    async fn step(&self, subject: &Subject, incoming: &Incoming, mut stage: Stage) -> Option<(Item, Stage)> {
        loop {
            stage = match stage {
                Stage::Over => return None,
                Stage::Alone(mut own) => return own.next().await.map(|item| (item, Stage::Alone(own))),
                Stage::Join(begin) => match self.join(subject, incoming).await {
                    Ok(joined) => self.backlog(subject, incoming, begin, joined),
                    Err(error) => return Some((errors(&[failure(&error).1]), Stage::Over)),
                },
                Stage::Backlog { mut own, follow, joined } => match own.next().await {
                    Some(item @ Item::Error(_)) => return Some((item, Stage::Over)),
                    Some(item) => return Some((item, Stage::Backlog { own, follow, joined })),
                    None => {
                        let last = follow.last().max(joined.from);
                        return Some((Item::Live, Stage::Live { last, joined }));
                    }
                },
                Stage::Live { last, mut joined } => match joined.items.recv().await {
                    Ok((position, _told)) if NOWHERE < position && position <= last => {
                        Stage::Live { last, joined }
                    }
                    Ok((_, item @ Item::Error(_))) => return Some((item, Stage::Over)),
                    Ok((position, item)) => {
                        return Some((item, Stage::Live { last: last.max(position), joined }));
                    }
                    Err(RecvError::Lagged(_)) => {
                        let place = Place { store: joined.store, position: last };
                        Stage::Join(Begin::Behind(cursor_text(&place).into()))
                    }
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn alone(&self, subject: &Subject, incoming: &Incoming, behind: Option<&str>) -> Stage {
        let follow = behind.map_or_else(Follow::default, |cursor| Follow::default().behind(cursor));
        let own = self.run(subject, incoming, &follow, None);
        Stage::Alone(Box::pin(stream::iter([Item::Live]).chain(own)))
    }

    fn backlog(&self, subject: &Subject, incoming: &Incoming, begin: Begin, joined: Joined) -> Stage {
        let follow = Follow::until(joined.from);
        let follow = match begin {
            Begin::AsAsked => follow,
            Begin::Behind(cursor) => follow.behind(&cursor),
        };
        let own = self.run(subject, incoming, &follow, Some(joined.store.clone()));
        Stage::Backlog { own, follow, joined }
    }

    /// Runs a subscription; without a store its items are no places to go on from.
    fn run(&self, subject: &Subject, incoming: &Incoming, follow: &Follow, store: Option<StoreId>) -> Items {
        let inner = &self.0;
        let prepared = match prepare(&inner.limits, incoming.clone()) {
            Ok(prepared) => prepared,
            Err(error) => return Box::pin(stream::iter([errors(&[error])])),
        };
        let (request, _receipts) = enter(prepared.request, &inner.authority, subject.viewer.clone());
        let responses = inner.schema.execute_stream(request.data(follow.clone()));
        let (follow, metrics, mut is_begun) = (follow.clone(), inner.authority.metrics().clone(), false);
        Box::pin(responses.map(move |response| {
            let response = finish(response);
            metering::failed(&metrics, &response.errors);
            let item = item(response, is_begun, store.as_ref(), follow.last());
            is_begun = true;
            item
        }))
    }

    async fn join(&self, subject: &Subject, incoming: &Incoming) -> Result<Joined, authority::Error> {
        loop {
            let cell = self.cell(subject);
            let feed = match cell.get_or_try_init(|| self.begin(subject, incoming)).await {
                Ok(feed) => feed,
                Err(error) => {
                    drop(cell);
                    self.forget(subject);
                    return Err(error);
                }
            };
            let said = lock(&feed.line.said);
            if let Some(sender) = &said.sender {
                let (from, items) = (said.last, sender.subscribe());
                let store = feed.line.store.clone();
                drop(said);
                return Ok(Joined { _keeps_it_going: cell, store, from, items });
            }
            drop(said);
            lock(&self.0.feeds).remove(subject);
        }
    }

    fn cell(&self, subject: &Subject) -> Arc<OnceCell<Feed>> {
        let mut feeds = lock(&self.0.feeds);
        if let Some(cell) = feeds.get(subject).and_then(Weak::upgrade) {
            return cell;
        }
        let cell = Arc::default();
        feeds.insert(subject.clone(), Arc::downgrade(&cell));
        cell
    }

    /// Starts a feed that says what happens from now on.
    async fn begin(&self, subject: &Subject, incoming: &Incoming) -> Result<Feed, authority::Error> {
        let place = self.0.authority.now().await?;
        let (sender, _) = broadcast::channel(self.0.kept_max.max(1));
        let said = Mutex::new(Said { last: place.position, sender: Some(sender) });
        let line = Arc::new(Line { store: place.store.clone(), said });
        let stop = CancellationToken::new();
        let follow = Follow::live(place);
        let items = self.run(subject, incoming, &follow, Some(line.store.clone()));
        let say = self.clone().say(subject.clone(), line.clone(), items, follow, stop.clone());
        self.0.tasks.spawn("feed", say);
        let counted = self.0.authority.metrics().feed();
        Ok(Feed { line, _ends_with_its_last_follower: stop.drop_guard(), _counted: counted })
    }

    async fn say(
        self,
        subject: Subject,
        line: Arc<Line>,
        mut items: Items,
        follow: Follow,
        stop: CancellationToken,
    ) {
        loop {
            let item = tokio::select! {
                () = stop.cancelled() => break,
                item = items.next() => item,
            };
            let Some(item) = item else { break };
            let is_last = matches!(item, Item::Error(_));
            line.say(follow.last(), item);
            if is_last {
                break;
            }
        }
        lock(&line.said).sender = None;
        self.forget(&subject);
    }

    /// Keeps nothing of a feed that nobody follows.
    fn forget(&self, subject: &Subject) {
        let mut feeds = lock(&self.0.feeds);
        if feeds.get(subject).is_some_and(|feed| feed.strong_count() == 0) {
            feeds.remove(subject);
        }
    }
}

impl Line {
    fn say(&self, position: Position, item: Item) {
        let mut said = lock(&self.said);
        said.last = said.last.max(position);
        if let Some(sender) = &said.sender {
            let _followers = sender.send((position, item));
        }
    }
}

fn item(response: Response, is_begun: bool, store: Option<&StoreId>, position: Position) -> Item {
    // What cannot be followed at all fails with a path, for its field was looked at.
    let is_refused = response.data == async_graphql::Value::Null && !response.errors.is_empty();
    if is_request_error(&response) || (is_refused && !is_begun) {
        return errors(&response.errors);
    }
    let store = store.filter(|_| position > NOWHERE);
    let cursor = store.map(|store| cursor_text(&Place { store: store.clone(), position }).into());
    match serde_json::to_string(&response) {
        Ok(text) => Item::Next(text.into(), cursor),
        Err(error) => {
            tracing::error!(%error, "a response cannot be written");
            errors(&response.errors)
        }
    }
}

fn errors(errors: &[ServerError]) -> Item {
    Item::Error(serde_json::json!(errors).to_string().into())
}
