//! Heads of requests, as HTTP/2 wants them, and which requests may be sent twice.

use super::failure::Failure;
use super::origin_name::OriginName;
use super::proxy::basic_authorization;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Uri, Version};
use object_store::client::HttpRequest;

/// A copy of a request with scheme and authority, and without what HTTP/2 has no place for.
///
/// # Errors
///
/// A failed request, for a host that is no authority.
pub(super) fn for_http2(request: &HttpRequest, origin: &OriginName) -> Result<HttpRequest, Failure> {
    let no_host = || Failure::uri(request.uri(), "a host that is none");
    let mut copy = copy(request)?;
    *copy.version_mut() = Version::HTTP_2;
    *copy.uri_mut() = Uri::builder()
        .scheme(Scheme::clone(origin.scheme()))
        .authority(Authority::try_from(origin.authority()).map_err(|_| no_host())?)
        .path_and_query(path(request.uri()))
        .build()
        .map_err(|_| no_host())?;
    copy.headers_mut().remove(HOST);
    Ok(copy)
}

/// Whether a request may be sent twice where it is not known whether the first one arrived: reads, and writes that nothing
/// but their content decides. A write on a condition is not: it would meet its own first arrival, and report a stranger's.
pub(super) fn may_repeat(request: &HttpRequest) -> bool {
    let conditions = ["if-match", "if-none-match", "x-goog-if-generation-match"];
    let is_conditional = conditions.iter().any(|name| request.headers().contains_key(*name));
    request.method().is_safe() || (request.method().is_idempotent() && !is_conditional)
}

fn copy(request: &HttpRequest) -> Result<HttpRequest, Failure> {
    let mut copy = Request::new(request.body().clone());
    *copy.method_mut() = request.method().clone();
    *copy.headers_mut() = request.headers().clone();
    let headers = copy.headers_mut();
    // hyper states no length for a body that is empty, and stores answer 411 to that.
    let is_write = matches!(*request.method(), Method::PUT | Method::POST);
    if is_write && request.body().content_length() == 0 && !headers.contains_key(CONTENT_LENGTH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
    }
    if let Some(value) = basic_authorization(request.uri()).filter(|_| !headers.contains_key(AUTHORIZATION)) {
        let value = HeaderValue::try_from(value);
        let mut value = value.map_err(|_| Failure::uri(request.uri(), "a user that is no header"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(copy)
}

fn path(uri: &Uri) -> PathAndQuery {
    uri.path_and_query()
        .filter(|path| !path.as_str().is_empty())
        .cloned()
        .unwrap_or(PathAndQuery::from_static("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::client::HttpRequestBody;

    fn request(method: Method, uri: &str) -> (HttpRequest, OriginName) {
        let request = Request::builder().method(method).uri(uri).body(HttpRequestBody::empty()).unwrap();
        let origin = OriginName::of(request.uri()).unwrap();
        (request, origin)
    }

    #[test]
    fn http2_has_the_whole_address() {
        let (request, origin) = request(Method::PUT, "https://user:secret@Host:8443/a%20b?x=1");
        let two = for_http2(&request, &origin).unwrap();
        assert_eq!(two.uri(), "https://host:8443/a%20b?x=1");
        assert_eq!(two.headers()[CONTENT_LENGTH], "0");
        assert!(two.headers()[AUTHORIZATION].is_sensitive());
        assert!(!two.headers().contains_key(HOST));
    }

    #[test]
    fn reads_and_plain_writes_may_be_repeated() {
        for (method, condition, expected) in [
            (Method::GET, Some("if-match"), true),
            (Method::HEAD, None, true),
            (Method::PUT, None, true),
            (Method::PUT, Some("if-none-match"), false),
            (Method::DELETE, Some("x-goog-if-generation-match"), false),
            (Method::POST, None, false),
        ] {
            let (mut request, _) = request(method.clone(), "http://host/");
            if let Some(name) = condition {
                request.headers_mut().insert(name, HeaderValue::from_static("*"));
            }
            assert_eq!(may_repeat(&request), expected, "{method} {condition:?}");
        }
    }

    #[test]
    fn no_path_is_the_root() {
        let (request, origin) = request(Method::GET, "http://host");
        assert_eq!(for_http2(&request, &origin).unwrap().uri().path(), "/");
        assert!(!for_http2(&request, &origin).unwrap().headers().contains_key(CONTENT_LENGTH));
    }
}
