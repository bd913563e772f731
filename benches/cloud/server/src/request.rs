//! Requests, as far as the benches' readers make them.

use crate::Failure;
use std::ops::Range;

/// Headers of one request.
const HEADERS_MAX: usize = 64;

/// A request whose head has arrived whole. Those that are answered have no body.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) is_head: bool,
    /// Decoded, without its leading slash.
    pub(crate) path: String,
    /// What follows the question mark, as it came.
    pub(crate) query: String,
    /// Of the object; none where all of it is wanted.
    pub(crate) ranges: Vec<Wanted>,
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    /// False for methods that are refused.
    pub(crate) is_read: bool,
}

/// What a `Range` header asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// From a byte to a byte, the last one included.
    Bounded(u64, u64),
    /// From a byte to the end.
    From(u64),
    /// So many of the last bytes.
    Suffix(u64),
}

impl Wanted {
    /// The bytes of an object of this length; `None` where it has none of them.
    pub(crate) fn within(self, len: u64) -> Option<Range<u64>> {
        let range = match self {
            Wanted::Bounded(first, last) => first..len.min(last.saturating_add(1)),
            Wanted::From(first) => first..len,
            Wanted::Suffix(count) => len.saturating_sub(count)..len,
        };
        (range.start < range.end).then_some(range)
    }

    /// What a header asks for; nothing where it cannot be read, as if it were not there (RFC 9110 section 14.2).
    fn parse_all(text: &str) -> Option<Vec<Wanted>> {
        text.strip_prefix("bytes=")?.split(',').map(Wanted::parse).collect()
    }

    fn parse(text: &str) -> Option<Wanted> {
        let (first, last) = text.trim().split_once('-')?;
        match (first, last) {
            ("", last) => Some(Wanted::Suffix(last.parse().ok()?)),
            (first, "") => Some(Wanted::From(first.parse().ok()?)),
            (first, last) => Some(Wanted::Bounded(first.parse().ok()?, last.parse().ok()?)),
        }
    }
}

/// The first request of what has arrived and its length, or `None` where more has to arrive.
pub(crate) fn parse(arrived: &[u8]) -> Result<Option<(Request, usize)>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(len) = parsed.parse(arrived)? else { return Ok(None) };
    let header = |name: &str| {
        let found = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let method = parsed.method.unwrap_or_default();
    let (path, query) =
        parsed.path.unwrap_or_default().split_once('?').unwrap_or((parsed.path.unwrap_or_default(), ""));
    let request = Request {
        is_head: method == "HEAD",
        path: decoded(path.trim_start_matches('/')),
        query: query.to_owned(),
        ranges: header("range").and_then(Wanted::parse_all).unwrap_or_default(),
        if_match: header("if-match").map(str::to_owned),
        if_none_match: header("if-none-match").map(str::to_owned),
        is_read: method == "GET" || method == "HEAD",
    };
    Ok(Some((request, len)))
}

/// The value of a field of a query.
pub(crate) fn field(query: &str, name: &str) -> Option<String> {
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
    found.map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while place < bytes.len() {
        let code = text.get(place + 1..place + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[place], code) {
            (b'%', Some(code)) => {
                out.push(code);
                place += 3;
            }
            (byte, _) => {
                out.push(byte);
                place += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Wanted, field, parse};

    #[test]
    fn ranges_as_clients_write_them() {
        let all = |text| -> Vec<_> {
            let wanted = Wanted::parse_all(text).unwrap_or_default();
            wanted.into_iter().map(|wanted| wanted.within(100)).collect()
        };
        let range = |text| all(text).pop().flatten();
        assert_eq!(range("bytes=0-9"), Some(0..10));
        assert_eq!(range("bytes=90-500"), Some(90..100));
        assert_eq!(range("bytes=40-"), Some(40..100));
        assert_eq!(range("bytes=-7"), Some(93..100));
        assert_eq!(range("bytes=-700"), Some(0..100));
        assert_eq!(range("bytes=100-110"), None);
        assert_eq!(range("bytes=-0"), None);
        assert_eq!(all("bytes=0-9, -7,200-"), [Some(0..10), Some(93..100), None]);
        assert_eq!(all("bytes=0-9,x"), []);
    }

    #[test]
    fn requests_one_after_another() {
        let text =
            b"GET /a/b%20c?list-type=2&prefix=x%2Fy HTTP/1.1\r\nHost: h\r\nRANGE: bytes=1-2\r\n\r\nHEAD";
        let (request, len) = parse(text).unwrap().unwrap();
        assert_eq!(&text[len..], b"HEAD");
        assert_eq!(request.path, "a/b c");
        assert_eq!(request.ranges, [Wanted::Bounded(1, 2)]);
        assert_eq!(field(&request.query, "prefix").as_deref(), Some("x/y"));
        assert!(parse(b"GET / HTTP/1.1\r\nHost").unwrap().is_none());
        assert!(parse(b"\0\0\r\n\r\n").is_err());
    }
}
