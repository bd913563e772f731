//! Bodies of requests and answers, freed from their framing.

use super::head::Head;
use bytes::{Buf, Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const PIECE_BYTES: usize = 64 << 10;

/// How a body's end is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes.
    Length(u64),
    Chunked,
    /// Until the connection ends.
    UntilClose,
}

impl Framing {
    pub(super) fn of_request(head: &Head) -> Framing {
        if is_chunked(head) { Framing::Chunked } else { Framing::Length(length(head).unwrap_or(0)) }
    }

    /// `method` is that of the request.
    pub(super) fn of_answer(head: &Head, method: &str) -> Framing {
        match (length(head), head.status) {
            (_, 100..200 | 204 | 304) => Framing::Length(0),
            _ if method == "HEAD" => Framing::Length(0),
            _ if is_chunked(head) => Framing::Chunked,
            (Some(length), _) => Framing::Length(length),
            (None, _) => Framing::UntilClose,
        }
    }
}

fn is_chunked(head: &Head) -> bool {
    head.get("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
}

fn length(head: &Head) -> Option<u64> {
    head.get("content-length")?.trim().parse().ok()
}

/// Reads a body piece by piece.
pub(super) struct BodyReader<'s, S> {
    source: &'s mut S,
    buffer: &'s mut BytesMut,
    framing: Framing,
    /// Bytes left of the body, or of the chunk.
    left: u64,
    ended: bool,
}

impl<'s, S: AsyncRead + Unpin> BodyReader<'s, S> {
    /// `buffer` holds what was read behind the head, and then what was read behind the body.
    pub(super) fn new(source: &'s mut S, buffer: &'s mut BytesMut, framing: Framing) -> Self {
        let left = match framing {
            Framing::Length(len) => len,
            Framing::Chunked => 0,
            Framing::UntilClose => u64::MAX,
        };
        BodyReader { source, buffer, framing, left, ended: framing == Framing::Length(0) }
    }

    /// The next bytes of the body, never empty; `None` at its end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        if self.framing == Framing::Chunked && self.left == 0 && !self.begin_chunk().await? {
            self.ended = true;
            return Ok(None);
        }
        if self.buffer.is_empty() && self.fill().await? == 0 {
            self.ended = true;
            let whole = self.framing == Framing::UntilClose;
            return if whole { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.buffer.len());
        let piece = self.buffer.split_to(len).freeze();
        self.left -= u64::try_from(len).unwrap_or(0);
        match self.framing {
            Framing::Length(_) => self.ended = self.left == 0,
            Framing::Chunked if self.left == 0 => drop(self.line().await?),
            Framing::Chunked | Framing::UntilClose => {}
        }
        Ok(Some(piece))
    }

    /// Reads a chunk's size; false for the last one, whose trailers are read too.
    async fn begin_chunk(&mut self) -> io::Result<bool> {
        let line = self.line().await?;
        let size = line.split(';').next().unwrap_or("").trim();
        self.left = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        while self.left == 0 {
            if self.line().await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.advance(end + 2);
                return Ok(line);
            }
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(PIECE_BYTES);
        self.source.read_buf(self.buffer).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], framing: Framing) -> (Vec<u8>, usize) {
        let (mut source, mut buffer) = (text, BytesMut::new());
        let mut body = BodyReader::new(&mut source, &mut buffer, framing);
        let mut found = Vec::new();
        while let Some(piece) = body.next().await.unwrap() {
            found.extend_from_slice(&piece);
        }
        (found, buffer.len() + source.len())
    }

    #[tokio::test]
    async fn bodies_end_where_they_should() {
        assert_eq!(read(b"hello, rest", Framing::Length(5)).await, (b"hello".to_vec(), 6));
        let chunks = b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\nrest";
        assert_eq!(read(chunks, Framing::Chunked).await, (b"hello".to_vec(), 4));
        assert_eq!(read(b"hello", Framing::UntilClose).await, (b"hello".to_vec(), 0));
        assert_eq!(read(b"rest", Framing::Length(0)).await, (vec![], 4));
    }
}
