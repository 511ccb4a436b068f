//! GraphQL over server-sent events, distinct connections: one stream for one operation. The id of an event is the
//! cursor behind it, so what a browser sends back as `Last-Event-ID` is where it goes on.
//! May import: graphql, metrics.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};

use crate::metrics::Counted;

use super::State as Server;
use super::credentials::Held;
use super::feed::{Item, Items};
use super::slots::{OwnSlot, Slot};

/// Where the stream before ended.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// A proxy must not collect events.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

/// What a stream holds while it lasts.
pub(super) struct Kept {
    pub(super) held: Arc<Held>,
    pub(super) slots: (Slot, OwnSlot),
    pub(super) counted: Counted,
}

/// Where a stream goes on, by its header.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok().filter(|id| !id.is_empty())
}

/// Streams what is followed, until access is taken back or the server goes away; a client goes on elsewhere then.
pub(super) fn followed(server: Arc<Server>, items: Items, kept: Kept) -> Response {
    let heartbeat = KeepAlive::new().interval(server.settings.heartbeat);
    let ended = async move {
        tokio::select! {
            () = server.closing.cancelled() => {}
            () = kept.held.withdrawn() => {}
        }
        drop((kept.slots, kept.counted));
    };
    let told = items.filter_map(async |item| match item {
        Item::Live => None,
        Item::Next(payload, cursor) => Some(next(&payload, cursor.as_deref())),
        Item::Error(errors) => Some(next(&format!(r#"{{"errors":{errors}}}"#), None)),
    });
    // Without a `complete` a client comes back; the one whose subscription is over gets it.
    let events = told.chain(stream::once(async { complete() })).take_until(ended);
    respond(events, heartbeat)
}

/// Streams the one response of a query or mutation; `end` runs when the client has taken it.
pub(super) fn answered(response: &str, end: impl FnOnce() + Send + 'static) -> Response {
    let events = [next(response, None), complete()];
    let end = stream::once(async move {
        end();
        Event::default().comment("")
    });
    respond(stream::iter(events).chain(end), KeepAlive::new())
}

fn respond(events: impl Stream<Item = Event> + Send + 'static, heartbeat: KeepAlive) -> Response {
    let stream = Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(heartbeat);
    ([UNBUFFERED, (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))], stream).into_response()
}

fn next(payload: &str, cursor: Option<&str>) -> Event {
    let event = Event::default().event("next").data(payload);
    match cursor {
        Some(cursor) => event.id(cursor),
        None => event,
    }
}

fn complete() -> Event {
    Event::default().event("complete").data("")
}
