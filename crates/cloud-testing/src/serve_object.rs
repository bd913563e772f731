//! Reading an object over HTTP: conditions, ranges, headers (RFC 9110, sections 13 and 14).

use crate::object_body::ObjectBody;
use crate::objects::Object;
use crate::requested_ranges::RequestedRanges;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderName, Response, StatusCode};
use std::ops::Range;

const BOUNDARY: &str = "swath-part";

/// Whether several ranges in one request are answered in one `multipart/byteranges` body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeveralRanges {
    /// As web servers do.
    Answered,
    /// As object stores do, which answer with the whole object.
    Ignored,
}

/// Answers a `GET` or `HEAD` of an object that exists. The body is there for both; the connection sends none for `HEAD`.
pub(crate) fn serve_object(
    object: &Object,
    headers: &HeaderMap,
    several: SeveralRanges,
) -> Response<ObjectBody> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(IF_MATCH).is_some_and(|tags| !names(tags, &object.etag)) {
        return empty(object, StatusCode::PRECONDITION_FAILED);
    }
    if text(IF_NONE_MATCH).is_some_and(|tags| names(tags, &object.etag)) {
        return empty(object, StatusCode::NOT_MODIFIED);
    }
    let len = object.content.len();
    let stale = text(IF_RANGE).is_some_and(|tag| tag != object.etag);
    let range = text(RANGE).filter(|_| !stale);
    match RequestedRanges::parse(range, len) {
        RequestedRanges::One(range) => one(object, range),
        RequestedRanges::Several(ranges) if several == SeveralRanges::Answered => multipart(object, &ranges),
        RequestedRanges::Unsatisfiable => {
            let mut answer = empty(object, StatusCode::RANGE_NOT_SATISFIABLE);
            set(&mut answer, CONTENT_RANGE, &format!("bytes */{len}"));
            answer
        }
        RequestedRanges::Whole | RequestedRanges::Several(_) => {
            let mut answer = empty(object, StatusCode::OK);
            answer.body_mut().push(&object.content, 0..len);
            answer
        }
    }
}

/// An answer of some status with a text as its body.
pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<ObjectBody> {
    let mut answer = Response::new(ObjectBody::of(text));
    *answer.status_mut() = status;
    answer
}

/// Sets a header; one that is no header's value is left out.
pub(crate) fn set(answer: &mut Response<ObjectBody>, name: HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        answer.headers_mut().insert(name, value);
    }
}

fn names(tags: &str, etag: &str) -> bool {
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag)
}

fn empty(object: &Object, status: StatusCode) -> Response<ObjectBody> {
    let mut answer = plain(status, Bytes::new());
    set(&mut answer, ETAG, &object.etag);
    set(&mut answer, LAST_MODIFIED, &httpdate::fmt_http_date(object.modified));
    set(&mut answer, ACCEPT_RANGES, "bytes");
    set(&mut answer, HeaderName::from_static("x-goog-generation"), &object.generation.to_string());
    answer
}

fn one(object: &Object, range: Range<u64>) -> Response<ObjectBody> {
    let mut answer = empty(object, StatusCode::PARTIAL_CONTENT);
    set(&mut answer, CONTENT_RANGE, &content_range(&range, object.content.len()));
    answer.body_mut().push(&object.content, range);
    answer
}

fn multipart(object: &Object, ranges: &[Range<u64>]) -> Response<ObjectBody> {
    let mut answer = empty(object, StatusCode::PARTIAL_CONTENT);
    set(&mut answer, CONTENT_TYPE, &format!("multipart/byteranges; boundary={BOUNDARY}"));
    let body = answer.body_mut();
    for range in ranges {
        let described = content_range(range, object.content.len());
        body.push_bytes(format!("\r\n--{BOUNDARY}\r\nContent-Range: {described}\r\n\r\n").into());
        body.push(&object.content, range.clone());
    }
    body.push_bytes(format!("\r\n--{BOUNDARY}--\r\n").into());
    answer
}

fn content_range(range: &Range<u64>, len: u64) -> String {
    format!("bytes {}-{}/{len}", range.start, range.end.saturating_sub(1))
}
