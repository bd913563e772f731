//! Answers to requests: a head, and the pieces of a body.

use crate::Server;
use crate::listing::listing;
use crate::objects::Object;
use crate::request::{Request, Wanted, field};
use bytes::Bytes;
use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// An answer, ready to be sent.
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<Bytes>,
}

/// When everything was last changed.
const LAST_MODIFIED: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

impl Answer {
    fn new(status: &str, headers: &str, body: Vec<Bytes>, len: u64) -> Answer {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{headers}\r\n");
        Answer { head, body }
    }

    fn plain(status: &str, text: String) -> Answer {
        let body = Bytes::from(text);
        let len = body.len() as u64;
        Answer::new(status, "Content-Type: application/xml\r\n", vec![body], len)
    }

    fn refusal(status: &str, code: &str) -> Answer {
        let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code></Error>");
        Answer::plain(status, text)
    }

    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// Tells a client that too much is asked of the server.
pub(crate) fn throttled() -> Answer {
    Answer::refusal("503 Slow Down", "SlowDown")
}

/// Answers a request.
pub(crate) fn answer(server: &Server, request: &Request) -> Answer {
    if !request.is_read {
        return Answer::refusal("405 Method Not Allowed", "MethodNotAllowed");
    }
    let bucket = request.path.trim_end_matches('/');
    if field(&request.query, "list-type").is_some() && !bucket.contains('/') {
        server.counters.listings.fetch_add(1, Ordering::Relaxed);
        return Answer::plain("200 OK", listing(&server.objects, bucket, &request.query));
    }
    let mut answer = object(server, request);
    if request.is_head {
        answer.body.clear();
    }
    answer
}

fn object(server: &Server, request: &Request) -> Answer {
    let Some(object) = server.objects.find(&request.path) else {
        return Answer::refusal("404 Not Found", "NoSuchKey");
    };
    let len = object.len();
    // Objects do not change while they are served.
    let tag = format!("\"{len:x}\"");
    if request.if_match.as_ref().is_some_and(|wanted| *wanted != tag && wanted != "*") {
        return Answer::refusal("412 Precondition Failed", "PreconditionFailed");
    }
    let headers = format!("ETag: {tag}\r\nLast-Modified: {LAST_MODIFIED}\r\nAccept-Ranges: bytes\r\n");
    if request.if_none_match.as_ref().is_some_and(|known| *known == tag) {
        return Answer::new("304 Not Modified", &headers, Vec::new(), 0);
    }
    if request.ranges.is_empty() {
        let headers = format!("{headers}{BYTES}\r\n");
        return Answer::new("200 OK", &headers, object.bytes(0..len), len);
    }
    let suffixes = request.ranges.iter().filter(|wanted| matches!(wanted, Wanted::Suffix(_))).count();
    server.counters.suffixes.fetch_add(suffixes as u64, Ordering::Relaxed);
    let ranges: Vec<Range<u64>> = request.ranges.iter().filter_map(|wanted| wanted.within(len)).collect();
    match ranges.as_slice() {
        [] => Answer::refusal("416 Range Not Satisfiable", "InvalidRange"),
        [range] => one_range(&object, range, headers),
        ranges => several_ranges(&object, ranges, &headers),
    }
}

/// What objects are.
const BYTES: &str = "Content-Type: application/octet-stream";

fn one_range(object: &Object<'_>, range: &Range<u64>, mut headers: String) -> Answer {
    let _infallible = write!(headers, "{BYTES}\r\n{}\r\n", content_range(range, object.len()));
    Answer::new("206 Partial Content", &headers, object.bytes(range.clone()), range.end - range.start)
}

/// Several ranges in one body (RFC 9110 section 14.6), as web servers send them.
fn several_ranges(object: &Object<'_>, ranges: &[Range<u64>], headers: &str) -> Answer {
    let mut body = Vec::with_capacity(2 * ranges.len() + 1);
    for range in ranges {
        let head = content_range(range, object.len());
        body.push(Bytes::from(format!("\r\n--{DELIMITER}\r\n{BYTES}\r\n{head}\r\n\r\n")));
        body.extend(object.bytes(range.clone()));
    }
    body.push(Bytes::from(format!("\r\n--{DELIMITER}--\r\n")));
    let len = body.iter().map(|piece| piece.len() as u64).sum();
    let headers = format!("{headers}Content-Type: multipart/byteranges; boundary={DELIMITER}\r\n");
    Answer::new("206 Partial Content", &headers, body, len)
}

/// Between the parts of a body; nothing looks for it within their bytes, whose length is told.
const DELIMITER: &str = "00000000000000000042";

fn content_range(range: &Range<u64>, len: u64) -> String {
    format!("Content-Range: bytes {}-{}/{len}", range.start, range.end - 1)
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Object, one_range, several_ranges};

    #[test]
    fn several_ranges_are_parts_of_one_body() {
        let bytes = Bytes::from_static(b"0123456789");
        let object = Object::Stored(&bytes);
        let answer = several_ranges(&object, &[1..3, 8..10], "");
        let body = answer.body.concat();
        assert!(answer.head.contains(&format!("Content-Length: {}\r\n", body.len())));
        let text = String::from_utf8(body).unwrap();
        assert!(text.contains("Content-Range: bytes 1-2/10\r\n\r\n12\r\n--"), "{text}");
        assert!(text.contains("Content-Range: bytes 8-9/10\r\n\r\n89\r\n--"), "{text}");
        let answer = one_range(&object, &(4..6), String::new());
        assert_eq!(answer.body.concat(), b"45");
        assert!(answer.head.contains("Content-Range: bytes 4-5/10\r\n"));
    }
}
