//! The stream under a WebSocket: it knows since when a message of the peer is under way, which may come in frames
//! without end or byte by byte (H-10). What the peer sent before its upgrade was answered is read here as well.
//! May import: nothing of this crate.

use std::io::{Cursor, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::OpCode;

/// How far the frames of a peer came.
#[derive(Debug, Default)]
struct Frames {
    /// What is there of a frame's header.
    header: Vec<u8>,
    /// Bytes that the frame still lacks.
    missing: u64,
    /// The last frame of a message in pieces has not ended.
    is_open: bool,
    began: Option<Instant>,
}

impl Frames {
    fn read(&mut self, mut bytes: &[u8], now: Instant) {
        while let Some((first, rest)) = bytes.split_first() {
            self.began.get_or_insert(now);
            if self.missing == 0 {
                self.read_header(*first);
                bytes = rest;
            } else {
                let taken = usize::try_from(self.missing).map_or(bytes.len(), |missing| missing.min(bytes.len()));
                self.missing = self.missing.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
                bytes = bytes.get(taken..).unwrap_or_default();
            }
            if self.missing == 0 && self.header.is_empty() && !self.is_open {
                self.began = None;
            }
        }
    }

    fn read_header(&mut self, byte: u8) {
        self.header.push(byte);
        match FrameHeader::parse(&mut Cursor::new(&self.header)) {
            Ok(None) => return,
            Ok(Some((header, length))) => {
                self.missing = length;
                if matches!(header.opcode, OpCode::Data(_)) {
                    self.is_open = !header.is_final;
                }
            }
            // Whoever reads the messages ends the socket on it.
            Err(_no_frame) => {}
        }
        self.header.clear();
    }
}

/// A stream of frames.
pub(super) struct Framed<S> {
    stream: S,
    frames: Frames,
}

impl<S> Framed<S> {
    /// `stream` is about to carry the first frame.
    pub(super) fn new(stream: S) -> Self {
        Self { stream, frames: Frames::default() }
    }

    /// Since when a message is under way; none: what came was complete.
    pub(super) fn began(&self) -> Option<Instant> {
        self.frames.began
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        self.frames.read(into.filled().get(before..).unwrap_or_default(), Instant::now());
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u8 = 1;
    const MORE: u8 = 0;
    const PING: u8 = 9;
    const LAST: u8 = 0x80;

    /// A masked frame of so many bytes.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match u8::try_from(length) {
            Ok(short) if short < 126 => frame.push(0x80 | short),
            _ => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        frame.extend([7; 4]);
        frame.extend(vec![b'x'; length]);
        frame
    }

    /// Whether a message is under way behind these bytes, in whatever pieces they come.
    fn is_under_way(bytes: &[u8]) -> bool {
        let under_way = [1, 3, 4_096].map(|piece| {
            let mut frames = Frames::default();
            bytes.chunks(piece).for_each(|part| frames.read(part, Instant::now()));
            frames.began.is_some()
        });
        assert_eq!(under_way, [under_way[0]; 3], "the pieces do not matter");
        under_way[0]
    }

    #[test]
    fn a_message_is_under_way_from_its_first_byte_to_its_last() {
        for length in [0, 5, 125, 126, 60_000] {
            let whole = frame(LAST | TEXT, length);
            assert!(!is_under_way(&whole), "{length}");
            assert!(is_under_way(&whole[..whole.len() - 1]) && is_under_way(&whole[..1]), "{length}");
            assert!(!is_under_way(&[whole.clone(), whole].concat()), "{length}");
        }
        assert!(!is_under_way(&[]));
    }

    #[test]
    fn a_message_in_pieces_is_under_way_until_its_last_piece_whatever_pings_come_between() {
        let begun = [frame(TEXT, 5), frame(LAST | PING, 2), frame(MORE, 300), frame(LAST | PING, 0)].concat();
        assert!(is_under_way(&begun));
        assert!(!is_under_way(&[begun, frame(LAST | MORE, 0), frame(LAST | PING, 2)].concat()));
    }

    #[test]
    fn the_next_message_begins_at_its_own_first_byte() {
        let (start, mut frames) = (Instant::now(), Frames::default());
        frames.read(&frame(LAST | TEXT, 5)[..3], start);
        let later = start + std::time::Duration::from_secs(1);
        frames.read(&[&frame(LAST | TEXT, 5)[3..], &frame(TEXT, 5)].concat(), later);
        assert_eq!(frames.began, Some(later));
    }
}
