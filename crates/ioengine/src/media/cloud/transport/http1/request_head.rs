//! Heads of requests, as they are written.

use super::super::failure::Failure;
use super::super::origin_name::OriginName;
use super::super::proxy::basic_authorization;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderName, Method};
use object_store::client::HttpRequest;

/// What the head of a request of ours takes, nearly always.
const HEAD_BYTES: usize = 512;

/// The head of a request in origin-form, with its `Host` and the length of its body.
///
/// # Errors
///
/// A failed request, for a host or a user that is no header value.
pub(super) fn head_of(request: &HttpRequest, origin: &OriginName) -> Result<Vec<u8>, Failure> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    head.extend_from_slice(request.method().as_str().as_bytes());
    head.extend_from_slice(b" ");
    // A query may come without a path.
    if !path.starts_with('/') {
        head.extend_from_slice(b"/");
    }
    head.extend_from_slice(path.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    line(&mut head, &HOST, origin.authority().as_bytes());
    for (name, value) in request.headers() {
        if !is_ours(name) {
            line(&mut head, name, value.as_bytes());
        }
    }
    let len = request.body().content_length();
    // Stores answer 411 to a write without a length, also where it is nothing that is written.
    if 0 < len || matches!(*request.method(), Method::PUT | Method::POST) {
        line(&mut head, &CONTENT_LENGTH, len.to_string().as_bytes());
    }
    if !request.headers().contains_key(AUTHORIZATION)
        && let Some(value) = basic_authorization(request.uri())
    {
        line(&mut head, &AUTHORIZATION, value.as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    Ok(head)
}

/// Headers that belong to the connection, and not to whoever makes the request.
fn is_ours(name: &HeaderName) -> bool {
    [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION].contains(name)
}

fn line(head: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    head.extend_from_slice(name.as_str().as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use object_store::client::HttpRequestBody;

    fn head(method: Method, uri: &str, body: &'static str) -> String {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in [("range", "bytes=0-1"), ("host", "other"), ("transfer-encoding", "chunked")] {
            request = request.header(name, value);
        }
        let request = request.body(HttpRequestBody::from(body.to_owned())).unwrap();
        let origin = OriginName::of(request.uri()).unwrap();
        String::from_utf8(head_of(&request, &origin).unwrap()).unwrap()
    }

    #[test]
    fn a_head_has_path_host_and_length() {
        for (method, uri, body, expected) in [
            (
                Method::GET,
                "http://Host/a%20b?x=1",
                "",
                "GET /a%20b?x=1 HTTP/1.1\r\nhost: host\r\nrange: bytes=0-1\r\n\r\n",
            ),
            (Method::GET, "http://host", "", "GET / HTTP/1.1\r\nhost: host\r\nrange: bytes=0-1\r\n\r\n"),
            (Method::GET, "http://host?x", "", "GET /?x HTTP/1.1\r\nhost: host\r\nrange: bytes=0-1\r\n\r\n"),
            (
                Method::PUT,
                "https://host:8443/a",
                "",
                "PUT /a HTTP/1.1\r\nhost: host:8443\r\nrange: bytes=0-1\r\ncontent-length: 0\r\n\r\n",
            ),
            (
                Method::DELETE,
                "http://host/a",
                "abc",
                "DELETE /a HTTP/1.1\r\nhost: host\r\nrange: bytes=0-1\r\ncontent-length: 3\r\n\r\n",
            ),
            (
                Method::GET,
                "http://us:pw@host/a",
                "",
                "GET /a HTTP/1.1\r\nhost: host\r\nrange: bytes=0-1\r\nauthorization: Basic dXM6cHc=\r\n\r\n",
            ),
        ] {
            assert_eq!(head(method, uri, body), expected);
        }
    }
}
