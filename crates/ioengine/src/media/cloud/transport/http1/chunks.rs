//! Bodies of unknown length, in chunks (RFC 9112 section 7.1).

use super::Broken;
use crate::storage_len;
use bytes::{Buf, Bytes};

/// What is left of a chunked body.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: At,
    /// Bytes of trailers that came.
    trailers: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// So many bytes of the chunk are left, at least one.
    Data(u64),
    DataEnd,
    Trailers,
    End,
}

/// What comes next of a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Piece(Bytes),
    /// More has to be read first.
    Wanting,
    End,
}

/// A line with the size of a chunk, and extensions that mean nothing here, is no longer.
const LINE_BYTES_MAX: usize = 4 << 10;

/// Trailers, which are read over, are no longer together.
const TRAILERS_BYTES_MAX: usize = 16 << 10;

impl Chunks {
    /// Takes the next piece off what came.
    ///
    /// # Errors
    ///
    /// [`Broken::Malformed`] for what is not chunked.
    pub(super) fn next(&mut self, unread: &mut Bytes) -> Result<Next, Broken> {
        loop {
            match self.at {
                At::Size => {
                    let Some(line) = line(unread)? else { return Ok(Next::Wanting) };
                    self.at = match size(&line)? {
                        0 => At::Trailers,
                        size => At::Data(size),
                    };
                }
                At::Data(_) if unread.is_empty() => return Ok(Next::Wanting),
                At::Data(left) => {
                    let len = usize::try_from(left).unwrap_or(usize::MAX).min(unread.len());
                    let left = left - storage_len(len);
                    self.at = if left == 0 { At::DataEnd } else { At::Data(left) };
                    return Ok(Next::Piece(unread.split_to(len)));
                }
                At::DataEnd if unread.len() < 2 => return Ok(Next::Wanting),
                At::DataEnd => {
                    if !unread.starts_with(b"\r\n") {
                        return Err(Broken::Malformed("a chunk that is longer than it said"));
                    }
                    unread.advance(2);
                    self.at = At::Size;
                }
                At::Trailers => {
                    let Some(line) = line(unread)? else { return Ok(Next::Wanting) };
                    self.trailers += line.len() + 2;
                    if TRAILERS_BYTES_MAX < self.trailers {
                        return Err(Broken::Malformed("more trailers than are read"));
                    }
                    if line.is_empty() {
                        self.at = At::End;
                    }
                }
                At::End => return Ok(Next::End),
            }
        }
    }

    /// True when nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.at == At::End
    }

    /// Bytes that are known to come at least.
    pub(super) fn expected(&self) -> u64 {
        match self.at {
            At::Data(left) => left,
            At::Size | At::DataEnd | At::Trailers | At::End => 0,
        }
    }
}

/// Takes a line off, without its end; none where it has not come whole.
fn line(unread: &mut Bytes) -> Result<Option<Bytes>, Broken> {
    let Some(end) = unread.iter().take(LINE_BYTES_MAX).position(|&byte| byte == b'\n') else {
        return match unread.len() {
            0..LINE_BYTES_MAX => Ok(None),
            _ => Err(Broken::Malformed("a line in a chunked body that is too long")),
        };
    };
    let mut line = unread.split_to(end + 1);
    if !line.ends_with(b"\r\n") {
        return Err(Broken::Malformed("a line in a chunked body that ends too early"));
    }
    line.truncate(end - 1);
    Ok(Some(line))
}

fn size(line: &[u8]) -> Result<u64, Broken> {
    let odd = || Broken::Malformed("a chunk whose size is no number");
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
    // Signs, which numbers in texts may have, are none of HTTP's.
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(odd());
    }
    let digits = std::str::from_utf8(digits).map_err(|_| odd())?;
    u64::from_str_radix(digits, 16).map_err(|_| odd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Reads a body that comes in parts of some length; returns it, and what came behind it.
    fn check(body: &[u8], part_len: impl Fn() -> usize) -> Result<(Vec<u8>, Vec<u8>), Broken> {
        let (mut chunks, mut unread, mut rest) = (Chunks::default(), Bytes::new(), body);
        let mut found = Vec::new();
        loop {
            match chunks.next(&mut unread)? {
                Next::Piece(piece) => found.extend_from_slice(&piece),
                Next::End => return Ok((found, [&unread, rest].concat())),
                Next::Wanting if rest.is_empty() => return Err(Broken::Closed),
                Next::Wanting => {
                    let (part, behind) = rest.split_at(part_len().clamp(1, rest.len()));
                    unread = [&unread, part].concat().into();
                    rest = behind;
                }
            }
        }
    }

    #[test]
    fn any_chunks_in_any_parts_are_the_body() {
        for seed in 0..500 {
            println!("seed {seed}");
            let mut random = Random::new(seed);
            let (mut body, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..random.below(6) {
                let len = usize::try_from(1 + random.below(40)).unwrap();
                let byte = random.below(256).to_le_bytes()[0];
                let extension =
                    ["", ";x=y", " ", "; name=\"a b\""][usize::try_from(random.below(4)).unwrap()];
                body.extend(format!("{len:X}{extension}\r\n").bytes());
                body.extend(vec![byte; len]);
                body.extend(b"\r\n");
                expected.extend(vec![byte; len]);
            }
            body.extend(if random.chance(2) { &b"0\r\n\r\n"[..] } else { b"00;a\r\nTrailer: x\r\n\r\n" });
            body.extend(b"HTTP");
            let random = std::cell::RefCell::new(random);
            let (found, behind) =
                check(&body, || usize::try_from(random.borrow_mut().below(9)).unwrap()).unwrap();
            assert_eq!(found, expected);
            assert_eq!(behind, b"HTTP");
            // No part of it is a whole body.
            for end in 0..body.len() - 4 {
                assert!(matches!(check(&body[..end], || 7), Err(Broken::Closed)), "{end}");
            }
        }
    }

    #[test]
    fn what_is_not_chunked_is_refused() {
        let long = [&b"1;"[..], &[b'x'; LINE_BYTES_MAX]].concat();
        let trailers = [&b"0\r\n"[..], &b"A: 123456789\r\n".repeat(2000)].concat();
        for body in [
            &b"\r\n"[..],
            b"x\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n0\r\n\r\n",
            b"1 1\r\n",
            b"0x1\r\n",
            b"1\na\r\n",
            b"1\r\nab\r\n",
            b"10000000000000000\r\n",
            &long,
            &trailers,
        ] {
            for part in [1, 100_000] {
                let result = check(body, || part);
                assert!(matches!(result, Err(Broken::Malformed(_))), "{result:?}");
            }
        }
    }
}
