//! The agent's pipes as lines. A line is bounded, no more of them are read than are handled, and what is no message
//! is left out: whatever an agent writes, the server holds a bounded piece of it. May import: nothing of this crate.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{Sink, SinkExt, Stream, StreamExt, stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

/// Messages that are read and not yet handled.
const UNDER_WAY_MAX: usize = 16;
/// Requests of the agent that are not answered yet.
const UNANSWERED_MAX: usize = 64;
/// Lines that are no message, from one process.
const NOISE_MAX: usize = 10_000;

/// Counts what is under way on one pair of pipes.
#[derive(Clone, Debug)]
pub(super) struct Gauge(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    under_way: Semaphore,
    unanswered: AtomicUsize,
    asked: AtomicUsize,
}

impl Default for Gauge {
    fn default() -> Self {
        let under_way = Semaphore::new(UNDER_WAY_MAX);
        Self(Arc::new(Counts { under_way, unanswered: AtomicUsize::new(0), asked: AtomicUsize::new(0) }))
    }
}

impl Gauge {
    /// A request or notification of the agent was handled; another may be read.
    pub(super) fn handled(&self) {
        self.0.under_way.add_permits(1);
    }

    /// Lets a message pass; false: it is to be left out.
    async fn admit(&self, kind: Kind) -> Result<bool, Error> {
        match kind {
            Kind::Noise => return Ok(false),
            Kind::Response => return Ok(take_one(&self.0.asked)),
            Kind::Request if self.0.unanswered.fetch_add(1, Ordering::Relaxed) >= UNANSWERED_MAX => {
                return Err(Error::other("the agent asks more than it lets be answered"));
            }
            Kind::Request | Kind::Notice => {}
        }
        self.0.under_way.acquire().await.map_err(Error::other)?.forget();
        Ok(true)
    }

    fn sent(&self, kind: Kind) {
        match kind {
            Kind::Request => {
                self.0.asked.fetch_add(1, Ordering::Relaxed);
            }
            Kind::Response => {
                take_one(&self.0.unanswered);
            }
            Kind::Notice | Kind::Noise => {}
        }
    }
}

fn take_one(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Request,
    Notice,
    Response,
    Noise,
}

#[derive(Deserialize)]
struct Envelope {
    method: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
}

fn kind(line: &str) -> Kind {
    let is_object = line.trim_start().starts_with('{');
    match serde_json::from_str::<Envelope>(line) {
        Ok(Envelope { method: Some(_), id: Some(_) }) if is_object => Kind::Request,
        Ok(Envelope { method: Some(_), id: None }) if is_object => Kind::Notice,
        Ok(Envelope { method: None, id: Some(_) }) if is_object => Kind::Response,
        _ => Kind::Noise,
    }
}

/// What the agent writes: its messages, line by line.
pub(super) fn incoming<R>(
    stdout: R,
    gauge: Gauge,
    line_bytes_max: usize,
) -> impl Stream<Item = Result<String, Error>> + Send + 'static
where
    R: AsyncRead + Send + Unpin + 'static,
{
    let lines = FramedRead::new(stdout, LinesCodec::new_with_max_length(line_bytes_max));
    stream::try_unfold((lines, gauge, 0_usize), |(mut lines, gauge, mut noise)| async move {
        while let Some(line) = lines.next().await {
            let line = line.map_err(broken)?;
            if gauge.admit(kind(&line)).await? {
                return Ok(Some((line, (lines, gauge, noise))));
            }
            noise += 1;
            if noise > NOISE_MAX {
                return Err(Error::new(ErrorKind::InvalidData, "the agent writes lines that are no messages"));
            }
        }
        Ok(None)
    })
}

/// What the agent reads.
pub(super) fn outgoing<W>(stdin: W, gauge: Gauge) -> impl Sink<String, Error = Error> + Send + 'static
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    let lines = FramedWrite::new(stdin, LinesCodec::new());
    SinkExt::<String>::sink_map_err(lines, broken).with(move |line: String| {
        gauge.sent(kind(&line));
        std::future::ready(Ok::<_, Error>(line))
    })
}

fn broken(error: LinesCodecError) -> Error {
    match error {
        LinesCodecError::Io(error) => error,
        LinesCodecError::MaxLineLengthExceeded => {
            Error::new(ErrorKind::InvalidData, "a line of the agent is too long")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    const LINE_MAX: usize = 1_000;

    async fn read(written: &str) -> Vec<Result<String, String>> {
        let gauge = Gauge::default();
        let bytes = std::io::Cursor::new(written.as_bytes().to_vec());
        let mut lines = pin!(incoming(bytes, gauge.clone(), LINE_MAX));
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await {
            gauge.handled();
            seen.push(line.map_err(|error| error.to_string()));
        }
        seen
    }

    #[tokio::test]
    async fn what_is_no_message_is_left_out() {
        let notice = r#"{"jsonrpc":"2.0","method":"session/update"}"#;
        let seen = read(&format!("npm warn\n\n[1]\n{{\"a\":1}}\n{notice}\n{{\"id\":9,\"result\":1}}\n")).await;
        assert_eq!(seen, [Ok(notice.to_owned())]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_ends_the_reading_however_long_it_is() {
        let seen = read(&"x".repeat(100 * LINE_MAX)).await;
        assert_eq!(seen, [Err("a line of the agent is too long".to_owned())]);
    }

    #[tokio::test]
    async fn noise_without_end_ends_the_reading() {
        let seen = read(&"noise\n".repeat(NOISE_MAX + 1)).await;
        assert_eq!(seen.len(), 1);
        assert!(seen[0].is_err());
    }

    #[tokio::test]
    async fn an_agent_that_asks_without_reading_answers_is_stopped() {
        let seen = read(&"{\"id\":1,\"method\":\"m\"}\n".repeat(UNANSWERED_MAX + 1)).await;
        assert_eq!(seen.iter().filter(|line| line.is_ok()).count(), UNANSWERED_MAX);
        assert!(seen[UNANSWERED_MAX].is_err());
    }

    #[tokio::test]
    async fn no_more_is_read_than_is_handled() {
        let gauge = Gauge::default();
        let bytes = std::io::Cursor::new("{\"method\":\"m\"}\n".repeat(UNDER_WAY_MAX + 1).into_bytes());
        let mut lines = pin!(incoming(bytes, gauge.clone(), LINE_MAX));
        for _ in 0..UNDER_WAY_MAX {
            assert!(lines.next().await.unwrap().is_ok());
        }
        assert!(futures_util::poll!(lines.next()).is_pending());
        gauge.handled();
        assert!(lines.next().await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn an_answer_is_read_only_for_what_was_asked() {
        let gauge = Gauge::default();
        let mut sink = pin!(outgoing(Vec::new(), gauge.clone()));
        sink.send(r#"{"id":1,"method":"session/prompt"}"#.to_owned()).await.unwrap();
        let answer = "{\"id\":1,\"result\":{}}\n";
        let bytes = std::io::Cursor::new(answer.repeat(2).into_bytes());
        let lines = incoming(bytes, gauge, LINE_MAX);
        assert_eq!(lines.collect::<Vec<_>>().await.len(), 1);
    }
}
