//! Answers to requests: a head, and the pieces of a body.

use crate::Server;
use crate::listing::listing;
use crate::request::{Request, Wanted, field};
use bytes::Bytes;
use std::fmt::Write;
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
    let mut headers = format!(
        "ETag: {tag}\r\nLast-Modified: {LAST_MODIFIED}\r\nAccept-Ranges: bytes\r\nContent-Type: application/octet-stream\r\n"
    );
    if request.if_none_match.as_ref().is_some_and(|known| *known == tag) {
        return Answer::new("304 Not Modified", &headers, Vec::new(), 0);
    }
    let Some(wanted) = request.range else {
        return Answer::new("200 OK", &headers, object.bytes(0..len), len);
    };
    if matches!(wanted, Wanted::Suffix(_)) {
        server.counters.suffixes.fetch_add(1, Ordering::Relaxed);
    }
    let Some(range) = wanted.within(len) else {
        return Answer::refusal("416 Range Not Satisfiable", "InvalidRange");
    };
    let _infallible = write!(headers, "Content-Range: bytes {}-{}/{len}\r\n", range.start, range.end - 1);
    let bytes = range.end - range.start;
    Answer::new("206 Partial Content", &headers, object.bytes(range), bytes)
}
