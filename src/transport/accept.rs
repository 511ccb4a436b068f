//! Takes connections: HTTP/1.1, with a bound on how long a head and a body may take to come (H-12),
//! and what is written to be taken (H-11).
//! May import: tasks.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::serve::Listener;
use http_body::{Body as _, Frame, SizeHint};
use hyper::server::conn::http1::Builder;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use crate::tasks::Tasks;

use super::wire::Wire;

/// How long a peer may take, and how much its heads.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Bytes of a head.
    pub head_bytes_max: usize,
    /// The head of a connection's first request.
    pub head: Duration,
    /// The head of a later one, from the end of the request before it. Proxies keep connections for a minute, and
    /// one that is closed under them costs a request.
    pub idle: Duration,
    /// The whole body, from its head on.
    pub body: Duration,
    /// To take anything of what is written to it.
    pub write: Duration,
    /// To show that it is still there, by what TCP alone says.
    pub gone: Duration,
}

/// Serves until `closing`; then no connection is taken, and it ends when the last one has.
pub async fn serve<L>(listener: L, router: Router, patience: Patience, tasks: Tasks, closing: CancellationToken)
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let mut listener = listener;
    let router = router.layer(axum::middleware::map_request(move |request: Request| async move {
        request.map(|body| Bounded::wrap(body, patience.body))
    }));
    let (open, last) = watch::channel(());
    loop {
        let (io, _peer) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closing.cancelled() => break,
        };
        let connection = connection(io, router.clone(), patience, closing.clone());
        let open = last.clone();
        drop(tasks.spawn("connection", async move {
            connection.await;
            drop(open);
        }));
    }
    drop((listener, last));
    open.closed().await;
}

/// One connection, up to its upgrade or its end; a shutdown lets the request that is under way end.
async fn connection<I>(io: I, router: Router, patience: Patience, closing: CancellationToken)
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let begun = CancellationToken::new();
    let (router, has_begun) = (TowerToHyperService::new(router), begun.clone());
    let released = CancellationToken::new();
    let io = Wire::new(io, patience.write, released.clone());
    let service = service_fn(move |request| {
        has_begun.cancel();
        let (answer, released) = (router.call(request), released.clone());
        async move {
            let answer = answer.await;
            // A socket bounds its own writes, as it says why it closes.
            if answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::SWITCHING_PROTOCOLS) {
                released.cancel();
            }
            answer
        }
    });
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience.idle).max_buf_size(patience.head_bytes_max);
    let served = builder.serve_connection(TokioIo::new(io), service).with_upgrades();
    tokio::pin!(served);
    let served = async {
        tokio::select! {
            ended = served.as_mut() => ended,
            () = closing.cancelled() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        }
    };
    tokio::select! {
        ended = served => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        },
        () = never_begins(&begun, patience.head) => tracing::debug!("a connection sent no request in time"),
    }
}

async fn never_begins(begun: &CancellationToken, within: Duration) {
    if tokio::time::timeout(within, begun.cancelled()).await.is_ok() {
        std::future::pending().await
    }
}

/// The body did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the body did not come in time")]
pub(super) struct Late;

/// Whether a body could not be read because it came too slowly.
pub(super) fn is_late(error: &(dyn Error + 'static)) -> bool {
    error.is::<Late>() || error.source().is_some_and(is_late)
}

/// A body that fails when it has not come to its end in time.
struct Bounded {
    body: Body,
    end: Pin<Box<Sleep>>,
}

impl Bounded {
    fn wrap(body: Body, within: Duration) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Self { body, end: Box::pin(tokio::time::sleep_until(Instant::now() + within)) })
    }
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(frame),
            Poll::Pending => self.end.as_mut().poll(context).map(|()| Some(Err(axum::Error::new(Late)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
