//! The stream under a connection: it fails once its peer has taken nothing of what is written for too long (H-11).
//! May import: nothing of this crate.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

/// A stream whose writes are taken in time, or it fails.
pub(super) struct Wire<S> {
    stream: S,
    within: Duration,
    released: CancellationToken,
    late: Option<Pin<Box<Sleep>>>,
}

impl<S> Wire<S> {
    /// `within`: how long nothing may be taken. `released`: whoever uses the stream now has a bound of its own.
    pub(super) fn new(stream: S, within: Duration, released: CancellationToken) -> Self {
        Self { stream, within, released, late: None }
    }

    fn in_time(&mut self, taken: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        if taken.is_ready() || self.released.is_cancelled() {
            self.late = None;
            return taken;
        }
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(self.within)));
        late.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the peer takes nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let taken = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(taken, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let taken = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(taken, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
