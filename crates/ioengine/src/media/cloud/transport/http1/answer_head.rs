//! Heads of answers: status, headers, and how long the body is (RFC 9112 sections 4 to 6).

use super::Broken;
use bytes::{Buf, Bytes};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use httparse::{ParserConfig, Status};
use std::mem::MaybeUninit;

/// The head of an answer, and what follows it.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) head: Response<()>,
    pub(super) body: BodyLen,
    /// The connection serves another request when the body is over.
    pub(super) persists: bool,
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLen {
    Known(u64),
    /// Chunks say where.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// Longer heads are refused.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;

/// Heads of more headers are refused.
const HEADERS_MAX: usize = 100;

impl AnswerHead {
    /// Takes the head of the answer to a request of `method` off what came; `None` where it has not come whole. Heads that
    /// only say that the answer takes time are taken off as well.
    ///
    /// # Errors
    ///
    /// [`Broken::Malformed`] for what is no head.
    pub(super) fn take(unread: &mut Bytes, method: &Method) -> Result<Option<AnswerHead>, Broken> {
        while is_whole(unread) {
            let (len, head) = parse(unread)?;
            unread.advance(len);
            match head.status() {
                StatusCode::SWITCHING_PROTOCOLS => return Err(Broken::Malformed("another protocol")),
                status if status.is_informational() => {}
                _ => return AnswerHead::of(head, method).map(Some),
            }
        }
        if HEAD_BYTES_MAX <= unread.len() {
            return Err(Broken::Malformed("a head that is too long"));
        }
        Ok(None)
    }

    fn of(head: Response<()>, method: &Method) -> Result<AnswerHead, Broken> {
        let headers = head.headers();
        let is_old = head.version() == Version::HTTP_10;
        let body = match headers.contains_key(TRANSFER_ENCODING) {
            true if is_old || !is_only_chunked(headers) => {
                return Err(Broken::Malformed("a transfer coding that is none of ours"));
            }
            true => BodyLen::Chunked,
            false => content_length(headers)?.map_or(BodyLen::UntilClose, BodyLen::Known),
        };
        // A length beside chunks is a sign of somebody in between who believed the one or the other.
        let is_ambiguous = body == BodyLen::Chunked && headers.contains_key(CONTENT_LENGTH);
        let is_kept = if is_old { says(headers, "keep-alive") } else { !says(headers, "close") };
        let has_none = *method == Method::HEAD
            || matches!(head.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let body = if has_none { BodyLen::Known(0) } else { body };
        let persists = is_kept && !is_ambiguous && body != BodyLen::UntilClose;
        Ok(AnswerHead { head, body, persists })
    }
}

/// True when there is an empty line in what came: only then is a head worth parsing. Lines before it are no reason to wait:
/// what begins with one is no head.
fn is_whole(unread: &[u8]) -> bool {
    let mut ends = unread.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.any(|(end, _)| {
        let behind = unread.get(end + 1..).unwrap_or_default();
        behind.starts_with(b"\r\n") || behind.starts_with(b"\n")
    })
}

/// The head that bytes begin with, and its length.
fn parse(unread: &Bytes) -> Result<(usize, Response<()>), Broken> {
    let mut lines = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut found = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut found, unread, &mut lines);
    let len = match parsed.map_err(|_| Broken::Malformed("no head of an answer"))? {
        Status::Complete(len) => len,
        Status::Partial => return Err(Broken::Malformed("a head with an empty line in it")),
    };
    let mut head = Response::new(());
    *head.version_mut() = if found.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let status = found.code.and_then(|code| StatusCode::from_u16(code).ok());
    *head.status_mut() = status.ok_or(Broken::Malformed("a status that is none"))?;
    let mut headers = HeaderMap::with_capacity(found.headers.len());
    for line in found.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes());
        // A part of what came, and no copy.
        let value = HeaderValue::from_maybe_shared(unread.slice_ref(line.value));
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Broken::Malformed("a header that is none"));
        };
        headers.append(name, value);
    }
    *head.headers_mut() = headers;
    Ok((len, head))
}

/// Whether the one coding of a body is chunks.
fn is_only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = words(headers, &TRANSFER_ENCODING);
    codings.next().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) && codings.next().is_none()
}

/// The length that is stated, as often as it is stated.
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Broken> {
    let mut stated = None;
    for word in words(headers, &CONTENT_LENGTH) {
        let digits = std::str::from_utf8(word).ok().filter(|_| word.iter().all(u8::is_ascii_digit));
        let len: u64 = digits
            .and_then(|digits| digits.parse().ok())
            .ok_or(Broken::Malformed("a length that is no number"))?;
        if stated.is_some_and(|stated| stated != len) {
            return Err(Broken::Malformed("two lengths"));
        }
        stated = Some(len);
    }
    Ok(stated)
}

fn says(headers: &HeaderMap, option: &str) -> bool {
    words(headers, &CONNECTION).any(|word| word.eq_ignore_ascii_case(option.as_bytes()))
}

/// The members of a header's list, also over several lines of it.
fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage_len;

    fn take(text: &str, method: &Method) -> Result<Option<(AnswerHead, Bytes)>, Broken> {
        let mut unread = Bytes::copy_from_slice(text.as_bytes());
        Ok(AnswerHead::take(&mut unread, method)?.map(|head| (head, unread)))
    }

    #[test]
    fn bodies_end_where_their_heads_say() {
        use BodyLen::{Chunked, Known, UntilClose};
        for (status, headers, method, expected) in [
            ("HTTP/1.1 200 OK", "Content-Length: 5\r\n", Method::GET, Some((Known(5), true))),
            (
                "HTTP/1.1 200",
                "content-length: 5, 5\r\nContent-Length:5\r\n",
                Method::GET,
                Some((Known(5), true)),
            ),
            (
                "HTTP/1.1 200 OK",
                "Content-Length: 5\r\nConnection: x, Close\r\n",
                Method::GET,
                Some((Known(5), false)),
            ),
            ("HTTP/1.0 200 OK", "Content-Length: 5\r\n", Method::GET, Some((Known(5), false))),
            (
                "HTTP/1.0 200 OK",
                "Content-Length: 5\r\nConnection: Keep-Alive\r\n",
                Method::GET,
                Some((Known(5), true)),
            ),
            ("HTTP/1.1 200 OK", "", Method::GET, Some((UntilClose, false))),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked\r\n", Method::GET, Some((Chunked, true))),
            (
                "HTTP/1.1 200 OK",
                "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
                Method::GET,
                Some((Chunked, false)),
            ),
            ("HTTP/1.1 200 OK", "Content-Length: 5\r\n", Method::HEAD, Some((Known(0), true))),
            ("HTTP/1.1 200 OK", "", Method::HEAD, Some((Known(0), true))),
            ("HTTP/1.1 204 No Content", "", Method::DELETE, Some((Known(0), true))),
            ("HTTP/1.1 304 Not Modified", "Content-Length: 9\r\n", Method::GET, Some((Known(0), true))),
            ("HTTP/1.1 200 OK", "Content-Length: +5\r\n", Method::GET, None),
            ("HTTP/1.1 200 OK", "Content-Length: 5\r\nContent-Length: 6\r\n", Method::GET, None),
            ("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999\r\n", Method::GET, None),
            ("HTTP/1.1 200 OK", "Content-Length: \r\n", Method::GET, None),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked\r\n", Method::GET, None),
            ("HTTP/1.0 200 OK", "Transfer-Encoding: chunked\r\n", Method::GET, None),
            ("HTTP/1.1 101 Other", "Upgrade: x\r\n", Method::GET, None),
            ("HTTP/1.1 99 Odd", "", Method::GET, None),
            ("HTTP/2 200 OK", "", Method::GET, None),
            ("ICY 200 OK", "", Method::GET, None),
            ("", "Content-Length: 5\r\n", Method::GET, None),
            ("HTTP/1.1 200 OK", "Name : x\r\n", Method::GET, None),
        ] {
            let text = format!("{status}\r\n{headers}\r\nbody");
            match (take(&text, &method), expected) {
                (Ok(Some((found, behind))), Some(expected)) => {
                    assert_eq!((found.body, found.persists), expected, "{text}");
                    assert_eq!(behind, "body");
                }
                (Err(Broken::Malformed(_)), None) => {}
                (found, expected) => panic!("{text}: {found:?} {expected:?}"),
            }
        }
    }

    #[test]
    fn heads_that_ask_for_patience_are_read_over() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                    HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nX: 1\r\nX: 2\r\nContent-Length: 2\r\n\r\nok";
        let (found, behind) = take(text, &Method::GET).unwrap().unwrap();
        assert_eq!((found.head.status().as_u16(), behind), (206, "ok".into()));
        assert_eq!(found.head.headers()["etag"], "\"a\"");
        assert_eq!(found.head.headers().get_all("x").iter().collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn a_part_of_a_head_is_none_and_too_much_of_one_an_error() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\n";
        for end in 0..text.len() {
            assert!(take(&text[..end], &Method::GET).unwrap().is_none(), "{end}");
        }
        assert!(take(text, &Method::GET).unwrap().is_some());
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert!(matches!(take(&long, &Method::GET), Err(Broken::Malformed(_))));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: 1\r\n".repeat(HEADERS_MAX + 1));
        assert!(matches!(take(&many, &Method::GET), Err(Broken::Malformed(_))));
    }
    /// What servers send is not trusted: whatever it is, it is a head, a part of one or an error.
    #[test]
    fn bytes_that_were_changed_are_never_more_than_wrong() {
        let head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial\r\nContent-Length: 12\r\nConnection: close\r\n\
                    Transfer-Encoding: chunked\r\nETag: \"a\"\r\n\r\n";
        for seed in 0..20_000 {
            let mut random = Random::new(seed);
            let mut bytes = head.as_bytes().to_vec();
            for _ in 0..=random.below(3) {
                let at = usize::try_from(random.below(storage_len(bytes.len()))).unwrap();
                match random.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, b"\r\n ,:0\x00\xff"[usize::try_from(random.below(8)).unwrap()]),
                    _ => bytes[at] = random.below(256).to_le_bytes()[0],
                }
            }
            drop(AnswerHead::take(&mut bytes.into(), &Method::GET));
        }
    }
}
