//! What of a request is signed, in the form that both ends bring it to.

use super::failed;
use crate::media::cloud::transport::host_of;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, USER_AGENT};
use http::{HeaderName, HeaderValue};
use object_store::client::{HttpError, HttpRequest};
use ring::digest::{Digest, SHA256, digest};
use url::form_urlencoded;

/// A canonical request's digest, and the names of the headers in it.
pub(super) struct Canonical {
    pub(super) digest: Digest,
    /// In order, with `;` in between.
    pub(super) signed_headers: String,
}

/// What a canonical request of ours takes, nearly always, session tokens aside.
const REQUEST_BYTES: usize = 768;

impl Canonical {
    /// Of a request as it is sent, whose body has this digest. All headers count but those that connections set; of paths the
    /// letters that are sent, which S3 wants encoded once.
    ///
    /// # Errors
    ///
    /// A failed request for a URI without a host.
    pub(super) fn of(request: &HttpRequest, payload: &str) -> Result<Canonical, HttpError> {
        let host = host_of(request.uri()).ok_or_else(|| failed("the request names no host".into()))?;
        let mut headers: Vec<(&str, &[u8])> = Vec::with_capacity(request.headers().len() + 1);
        headers.push(("host", host.as_bytes()));
        let signed = request.headers().iter().filter(|(name, _)| is_signed(name));
        headers.extend(
            signed.map(|(name, value): (&HeaderName, &HeaderValue)| (name.as_str(), value.as_bytes())),
        );
        // Stable: values of one name stay in order.
        headers.sort_by_key(|(name, _)| *name);
        let mut text = Vec::with_capacity(REQUEST_BYTES);
        text.extend_from_slice(request.method().as_str().as_bytes());
        text.push(b'\n');
        text.extend_from_slice(request.uri().path().as_bytes());
        text.push(b'\n');
        if let Some(query) = request.uri().query() {
            push_query(&mut text, query);
        }
        text.push(b'\n');
        let signed_headers = push_headers(&mut text, &headers);
        text.push(b'\n');
        text.extend_from_slice(signed_headers.as_bytes());
        text.push(b'\n');
        text.extend_from_slice(payload.as_bytes());
        Ok(Canonical { digest: digest(&SHA256, &text), signed_headers })
    }
}

/// Headers that proxies may change, or that say the signature itself, are not.
fn is_signed(name: &HeaderName) -> bool {
    ![http::header::HOST, AUTHORIZATION, CONTENT_LENGTH, USER_AGENT].contains(name)
}

/// Appends `name:value` lines of headers in order, and tells their names.
fn push_headers(text: &mut Vec<u8>, headers: &[(&str, &[u8])]) -> String {
    let mut names = String::with_capacity(128);
    let mut before = "";
    for (name, value) in headers {
        if *name == before {
            // Over the end of the line before.
            text.pop();
            text.push(b',');
        } else {
            if !names.is_empty() {
                names.push(';');
            }
            names.push_str(name);
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
        }
        push_trimmed(text, value);
        text.push(b'\n');
        before = name;
    }
    names
}

/// Appends the words of a value, with one space between two.
fn push_trimmed(text: &mut Vec<u8>, value: &[u8]) {
    if !value.contains(&b' ') && !value.contains(&b'\t') {
        return text.extend_from_slice(value);
    }
    let words = value.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    for (index, word) in words.enumerate() {
        if index != 0 {
            text.push(b' ');
        }
        text.extend_from_slice(word);
    }
}

/// Appends names and values of a query, encoded, in order.
fn push_query(text: &mut Vec<u8>, query: &str) {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (encoded(name.as_bytes()), encoded(value.as_bytes())))
        .collect();
    pairs.sort_unstable();
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index != 0 {
            text.push(b'&');
        }
        text.extend_from_slice(name);
        text.push(b'=');
        text.extend_from_slice(value);
    }
}

/// All but the letters that RFC 3986 leaves unreserved, percent-encoded.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(*byte),
            _ => text.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
    text
}
