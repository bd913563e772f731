//! Answers with several ranges in one body (RFC 9110 section 14.6, RFC 2046 section 5.1). Pure.

/// Reads a `multipart/byteranges` body as it comes, in pieces of any length, and hands on the bytes of its parts.
#[derive(Debug)]
pub(super) struct ByteRanges {
    /// `--` and the boundary.
    delimiter: Vec<u8>,
    state: State,
    /// The line that is being read, without its end. Bounded by [`LINE_BYTES_MAX`].
    line: Vec<u8>,
    /// Bytes of headers of this part so far.
    header_bytes: usize,
    /// What the headers of this part told.
    found: Option<Part>,
    /// Bytes of the whole object, as far as parts told.
    size: Option<u64>,
}

/// A part's bytes of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) len: u64,
    /// Bytes of the whole object, where the server says so.
    pub(super) size: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a delimiter.
    Between,
    Headers,
    /// So many bytes of the part are to come, from this offset of the object on.
    Body {
        offset: u64,
        left: u64,
    },
    /// Behind the last delimiter: what follows means nothing.
    Done,
}

/// No sound header of a part is longer.
const LINE_BYTES_MAX: usize = 4096;

/// Nor are all headers of one part, nor what stands between two parts.
const HEADER_BYTES_MAX: usize = 16 << 10;

impl ByteRanges {
    /// A reader of bodies of this `Content-Type`; `None` where that is no such body, or names no boundary.
    pub(super) fn of(content_type: &str) -> Option<ByteRanges> {
        let (kind, parameters) = content_type.split_once(';')?;
        if !kind.trim().eq_ignore_ascii_case("multipart/byteranges") {
            return None;
        }
        let boundary = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
        })?;
        // RFC 2046 section 5.1.1.
        if boundary.is_empty() || 70 < boundary.len() {
            return None;
        }
        let delimiter = [b"--", boundary.as_bytes()].concat();
        Some(ByteRanges::new(delimiter, State::Between, None))
    }

    /// A reader of a body that is one part, without anything around it.
    pub(super) fn of_one(part: Part) -> ByteRanges {
        let state = State::Body { offset: part.offset, left: part.len };
        ByteRanges::new(Vec::new(), state, part.size)
    }

    fn new(delimiter: Vec<u8>, state: State, size: Option<u64>) -> ByteRanges {
        ByteRanges { delimiter, state, line: Vec::new(), header_bytes: 0, found: None, size }
    }

    /// True where a part told that the object ends before this offset.
    pub(super) fn ends_before(&self, offset: u64) -> bool {
        self.size.is_some_and(|size| size < offset)
    }

    /// True once the closing delimiter was read.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Reads on. `take` gets bytes of parts in the order in which they come, with their offsets in the object.
    ///
    /// # Errors
    ///
    /// What is wrong with the body; it cannot be read on then.
    pub(super) fn read(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(u64, &[u8]),
    ) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Done => return Ok(()),
                State::Body { offset, left } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    let (body, rest) = bytes.split_at(here);
                    take(*offset, body);
                    *offset += crate::storage_len(here);
                    *left -= crate::storage_len(here);
                    if *left == 0 {
                        // Without a delimiter there is no other part.
                        let alone = self.delimiter.is_empty();
                        self.begin(if alone { State::Done } else { State::Between });
                    }
                    bytes = rest;
                }
                State::Between | State::Headers => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (piece, rest) = match end {
                        Some(end) => (&bytes[..end], &bytes[end + 1..]),
                        None => (bytes, &[][..]),
                    };
                    self.header_bytes += piece.len() + 1;
                    if LINE_BYTES_MAX < self.line.len() + piece.len() || HEADER_BYTES_MAX < self.header_bytes
                    {
                        return Err("the headers of a part are too long");
                    }
                    self.line.extend_from_slice(piece);
                    if end.is_some() {
                        self.end_line()?;
                    }
                    bytes = rest;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.header_bytes = 0;
        self.found = None;
    }

    fn end_line(&mut self) -> Result<(), &'static str> {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        match self.state {
            State::Between => {
                if let Some(behind) = text.strip_prefix(&self.delimiter[..]) {
                    match behind.trim_ascii() {
                        b"" => self.begin(State::Headers),
                        b"--" => self.begin(State::Done),
                        // A longer boundary than ours: not a delimiter.
                        _ => {}
                    }
                }
            }
            State::Headers if text.is_empty() => {
                let part = self.found.ok_or("a part does not say which bytes it has")?;
                self.begin(State::Body { offset: part.offset, left: part.len });
            }
            State::Headers => {
                let header = std::str::from_utf8(text).map_err(|_| "a part has headers that are no text")?;
                if let Some((name, value)) = header.split_once(':')
                    && name.trim().eq_ignore_ascii_case("content-range")
                {
                    let part = content_range(value).ok_or("a part says nonsense of its bytes")?;
                    self.size = part.size.or(self.size);
                    self.found = Some(part);
                }
            }
            State::Body { .. } | State::Done => {}
        }
        // The line's memory is used again.
        self.line = line;
        self.line.clear();
        Ok(())
    }
}

/// The bytes that a `Content-Range` names (RFC 9110 section 14.4): `bytes 0-499/1234`. At least one.
pub(super) fn content_range(value: &str) -> Option<Part> {
    let (unit, rest) = value.trim().split_once(' ')?;
    let (range, size) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (offset, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let size: Option<u64> = match size.trim() {
        "*" => None,
        size => Some(size.parse().ok()?),
    };
    let len = last.checked_sub(offset)?.checked_add(1)?;
    let fits = size.is_none_or(|size| last < size);
    (unit.eq_ignore_ascii_case("bytes") && fits).then_some(Part { offset, len, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/byteranges; boundary=THIS";

    fn body(parts: &[(u64, &[u8])]) -> Vec<u8> {
        let mut body = b"preamble\r\n".to_vec();
        for (offset, bytes) in parts {
            let last = offset + bytes.len() as u64 - 1;
            body.extend_from_slice(
                format!(
                    "\r\n--THIS\r\nContent-Type: a/b\r\ncontent-RANGE: bytes {offset}-{last}/9999\r\n\r\n"
                )
                .as_bytes(),
            );
            body.extend_from_slice(bytes);
        }
        body.extend_from_slice(b"\r\n--THIS--\r\nepilogue");
        body
    }

    /// Bytes by their offsets.
    type Came = Vec<(u64, u8)>;

    /// All bytes that came, and whether the body was whole.
    fn read(body: &[u8], step: usize) -> Result<(Came, bool), &'static str> {
        let (mut reader, mut got) = (ByteRanges::of(TYPE).unwrap(), Vec::new());
        for piece in body.chunks(step) {
            reader.read(piece, |offset, bytes| {
                got.extend((offset..).zip(bytes.iter().copied()));
            })?;
        }
        Ok((got, reader.is_done()))
    }

    #[test]
    fn parts_are_read_whatever_the_pieces() {
        // Bytes that look like delimiters are bytes.
        let body = body(&[(7, b"abc"), (100, b"\r\n--THIS--\r\n"), (5, b"x")]);
        let wanted: Vec<(u64, u8)> =
            (7..).zip(*b"abc").chain((100..).zip(*b"\r\n--THIS--\r\n")).chain((5..).zip(*b"x")).collect();
        for step in 1..body.len() + 1 {
            assert_eq!(read(&body, step).unwrap(), (wanted.clone(), true), "{step}");
        }
    }

    #[test]
    fn a_body_that_ends_early_is_not_done() {
        let body = body(&[(7, b"abc"), (100, b"def")]);
        for len in 0..body.len() - b"\r\nepilogue".len() {
            let (got, done) = read(&body[..len], 5).unwrap();
            assert!(got.len() <= 6 && !done, "{len}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for wrong in [
            "--THIS\r\nContent-Type: a/b\r\n\r\nabc",
            "--THIS\r\nContent-Range: bytes 5-4/10\r\n\r\n",
            "--THIS\r\nContent-Range: bytes 5-14/10\r\n\r\n",
            "--THIS\r\nContent-Range: pages 1-2/10\r\n\r\n",
            "--THIS\r\nContent-Range: bytes 0-18446744073709551615/*\r\n\r\n",
            &"x".repeat(5000),
            &"--THAT\r\n".repeat(5000),
        ] {
            assert!(read(wrong.as_bytes(), 7).is_err(), "{wrong:.60}");
        }
    }

    #[test]
    fn boundaries_are_found() {
        for sound in ["multipart/byteranges; boundary=a", "Multipart/ByteRanges;charset=x; BOUNDARY=\"a b\""]
        {
            assert!(ByteRanges::of(sound).is_some(), "{sound}");
        }
        let long = format!("multipart/byteranges; boundary={}", "a".repeat(71));
        for wrong in ["text/html", "multipart/mixed; boundary=a", "multipart/byteranges; x=a", &long] {
            assert!(ByteRanges::of(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn content_ranges_are_taken_apart() {
        assert_eq!(content_range(" bytes 0-0/1"), Some(Part { offset: 0, len: 1, size: Some(1) }));
        assert_eq!(content_range("bytes 10-19/*"), Some(Part { offset: 10, len: 10, size: None }));
        for wrong in ["", "bytes */10", "bytes 1-/10", "bytes -1/10", "1-2/3", "bytes 1-2"] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }
}
