//! Tells a blocked call that its response body is dead, and its result that the body came to its end.
//!
//! `rmcp` sees a polite cancel in one of its modes and a hard drop in the other, never both in one
//! (ARCHITECTURE.md, "Liveness"). The body sees both: hyper drops it when the connection goes away. One HTTP request
//! carries one JSON-RPC request, so the watch travels with the request's extensions and needs no table.
//! May import: nothing of this crate.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

type OnEnd = Box<dyn FnOnce() + Send>;

/// What the door and a call know of one response.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    lost: CancellationToken,
    on_end: Mutex<Option<OnEnd>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("is_lost", &self.0.lost.is_cancelled()).finish_non_exhaustive()
    }
}

impl Watch {
    /// Resolves when nobody can receive the response any more.
    pub(super) async fn lost(&self) {
        self.0.lost.cancelled().await;
    }

    /// The call is done: runs `f` when its response has been taken to its end; if it is lost, `f` is dropped.
    pub(super) fn on_end(&self, f: impl FnOnce() + Send + 'static) {
        *self.0.on_end.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(f));
    }

    /// Holds the watch while a response does not exist yet: dropped before [`Guard::wrap`], the response is lost.
    pub(super) fn guard(&self) -> Guard {
        Guard(Some(self.clone()))
    }

    fn take(&self) -> Option<OnEnd> {
        self.0.on_end.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A stream that ends before its call does carries no result: its MCP session was ended, say. That is a loss.
    fn end(&self) {
        match self.take() {
            Some(f) => f(),
            None => self.0.lost.cancel(),
        }
    }

    fn lose(&self) {
        drop(self.take());
        self.0.lost.cancel();
    }
}

/// A response that is on its way.
pub(super) struct Guard(Option<Watch>);

impl Guard {
    /// Puts the watch around the body. `closing`: ends it early, for streams that carry no call.
    pub(super) fn wrap(self, body: Body, closing: Option<CancellationToken>) -> Body {
        let closing = closing.map(|token| Box::pin(token.cancelled_owned()));
        Body::new(Watched { inner: body, closing, guard: self })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.lose();
        }
    }
}

struct Watched {
    inner: Body,
    closing: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    guard: Guard,
}

impl Watched {
    fn end(&mut self) {
        if let Some(watch) = self.guard.0.take() {
            watch.end();
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(None) = polled {
            self.end();
        }
        let is_closing = self.closing.as_mut().is_some_and(|closing| closing.as_mut().poll(cx).is_ready());
        if polled.is_pending() && is_closing { Poll::Ready(None) } else { polled }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Watched {
    /// A body with a known length is not polled past its last byte.
    fn drop(&mut self) {
        if self.inner.is_end_stream() {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::StreamExt;
    use futures_util::stream;

    use super::*;

    fn slow() -> Body {
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"a"))]);
        Body::from_stream(first.chain(stream::pending()))
    }

    fn noted(watch: &Watch) -> Arc<AtomicBool> {
        let has_ended = Arc::new(AtomicBool::new(false));
        let note = has_ended.clone();
        watch.on_end(move || note.store(true, Ordering::SeqCst));
        has_ended
    }

    #[tokio::test]
    async fn a_body_dropped_before_its_end_is_lost_and_gives_no_receipt() {
        let watch = Watch::default();
        let has_ended = noted(&watch);
        let mut frames = watch.guard().wrap(slow(), None).into_data_stream();
        assert!(frames.next().await.is_some());
        drop(frames);
        watch.lost().await;
        assert!(!has_ended.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_body_read_to_its_end_gives_the_receipt_and_is_not_lost() {
        for body in [Body::from("whole"), Body::from_stream(stream::iter([Ok::<_, std::io::Error>("a")]))] {
            let watch = Watch::default();
            let has_ended = noted(&watch);
            let mut frames = watch.guard().wrap(body, None).into_data_stream();
            while frames.next().await.is_some() {}
            drop(frames);
            assert!(has_ended.load(Ordering::SeqCst));
            assert!(!watch.0.lost.is_cancelled());
        }
    }

    #[tokio::test]
    async fn a_body_that_ends_before_its_call_is_lost() {
        let watch = Watch::default();
        let mut frames = watch.guard().wrap(Body::from("a"), None).into_data_stream();
        while frames.next().await.is_some() {}
        watch.lost().await;
    }

    #[tokio::test]
    async fn a_request_dropped_before_it_has_a_response_is_lost() {
        let watch = Watch::default();
        drop(watch.guard());
        watch.lost().await;
    }

    #[tokio::test]
    async fn a_stream_without_a_call_ends_when_the_server_closes() {
        let closing = CancellationToken::new();
        let mut frames = Watch::default().guard().wrap(slow(), Some(closing.clone())).into_data_stream();
        assert!(frames.next().await.is_some());
        closing.cancel();
        assert!(frames.next().await.is_none());
    }
}
