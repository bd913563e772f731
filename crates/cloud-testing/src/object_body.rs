//! The body of an answer: pieces of objects, sent without copying what lies in memory.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes of a file that are read and handed to the connection at once.
const FILE_PIECE_BYTES: u64 = 256 << 10;

/// What an object consists of.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Bytes in memory.
    Memory(Bytes),
    /// An open file, and its length when it was opened.
    File(Arc<File>, u64),
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Content::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Content::File(_, len) => *len,
        }
    }
}

/// A body of known length. Lists of bytes in memory are slices of their objects; files are read piece by piece.
#[derive(Debug, Default)]
pub(crate) struct ObjectBody {
    pieces: VecDeque<Piece>,
    left: u64,
}

#[derive(Debug)]
enum Piece {
    Memory(Bytes),
    File(Arc<File>, Range<u64>),
}

impl ObjectBody {
    pub(crate) fn of(bytes: impl Into<Bytes>) -> ObjectBody {
        let mut body = ObjectBody::default();
        body.push_bytes(bytes.into());
        body
    }

    pub(crate) fn push_bytes(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.left += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.pieces.push_back(Piece::Memory(bytes));
        }
    }

    /// Adds a range of an object, which must lie inside it.
    pub(crate) fn push(&mut self, content: &Content, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        match content {
            Content::Memory(bytes) => {
                let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
                let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
                self.push_bytes(bytes.slice(start..end));
            }
            Content::File(file, _) => {
                self.left += range.end - range.start;
                self.pieces.push_back(Piece::File(Arc::clone(file), range));
            }
        }
    }

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        match self.pieces.pop_front()? {
            Piece::Memory(bytes) => Some(Ok(bytes)),
            Piece::File(file, range) => {
                let len = (range.end - range.start).min(FILE_PIECE_BYTES);
                let mut piece = vec![0; usize::try_from(len).unwrap_or(0)];
                let rest = range.start + len..range.end;
                // Read on the server's own thread: benches serve files that are in the page cache.
                let read = read_at(&file, &mut piece, range.start);
                if !rest.is_empty() {
                    self.pieces.push_front(Piece::File(file, rest));
                }
                Some(read.map(|()| piece.into()))
            }
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, piece: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, piece, offset)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, piece: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(piece)
}

impl Body for ObjectBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(self.next().map(|piece| {
            let bytes = piece?;
            self.left = self.left.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            Ok(Frame::data(bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Reads a request's body whole; `None` where it breaks or is longer than `len_max`.
pub(crate) async fn read_whole<B>(body: B, len_max: usize) -> Option<Bytes>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limited = http_body_util::Limited::new(body, len_max);
    limited.collect().await.ok().map(http_body_util::Collected::to_bytes)
}
