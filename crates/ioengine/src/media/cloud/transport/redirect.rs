//! Redirects: where to go, and what not to take along.

use super::failure::Failure;
use super::origin_name::OriginName;
use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION, REFERER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use object_store::client::HttpRequest;
use url::Url;

/// Redirects that one request follows.
pub(super) const REDIRECTS_MAX: usize = 10;

/// Headers that carry a secret by their name's beginning: tokens of S3, of logins and of machines, and keys that customers
/// encrypt with.
const SECRET_PREFIXES: [&str; 8] = [
    "x-amz-security-token",
    "x-amz-server-side-encryption-customer-",
    "x-amz-s3session-token",
    "x-amz-sso_bearer_token",
    "x-aws-ec2-metadata-token",
    "x-ms-encryption-key",
    "x-goog-encryption-",
    "x-identity-header",
];

/// Where an answer sends a request that is followed: GET and HEAD, on 301, 302, 303, 307 and 308 that say where. `None` for
/// all other answers, which are the caller's.
///
/// # Errors
///
/// A failed request, for a place that is no web address, and for one without TLS where the request came with.
pub(super) fn target<B>(request: &HttpRequest, answer: &Response<B>) -> Result<Option<Uri>, Failure> {
    let is_redirect = matches!(
        answer.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let Some(location) = answer.headers().get(LOCATION).filter(|_| is_redirect && is_read) else {
        return Ok(None);
    };
    let from = OriginName::of(request.uri())?;
    let failed = |problem: &str| Failure::request(format!("{from} redirects to {problem}"));
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| failed("what is no text"))?;
    let base = Url::parse(&request.uri().to_string()).map_err(|_| failed("what is no URL"))?;
    let joined = base.join(location).map_err(|_| failed("what is no URL"))?;
    let target: Uri = joined.as_str().parse().map_err(|_| failed("what is no URL"))?;
    let to = OriginName::of(&target)?;
    if from.is_secure() && !to.is_secure() {
        return Err(failed(&format!("{to}, which is not encrypted")));
    }
    Ok(Some(target))
}

/// Sends a request elsewhere. To another server it goes without its secrets: credentials, cookies, keys, and all that is
/// marked sensitive.
pub(super) fn follow(request: &mut HttpRequest, target: Uri) -> Result<(), Failure> {
    let is_other = OriginName::of(request.uri())? != OriginName::of(&target)?;
    *request.uri_mut() = target;
    if is_other {
        let headers = request.headers_mut();
        let is_left = |name: &&HeaderName| is_secret(headers, name);
        let left: Vec<HeaderName> = headers.keys().filter(is_left).cloned().collect();
        for name in left {
            headers.remove(name);
        }
    }
    Ok(())
}

fn is_secret(headers: &HeaderMap, name: &HeaderName) -> bool {
    [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, REFERER].contains(name)
        || SECRET_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix))
        || headers.get_all(name).iter().any(HeaderValue::is_sensitive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use object_store::client::HttpRequestBody;

    fn request(method: Method, uri: &str) -> HttpRequest {
        Request::builder().method(method).uri(uri).body(HttpRequestBody::empty()).unwrap()
    }

    fn to(request: &HttpRequest, status: u16, location: &str) -> Result<Option<Uri>, Failure> {
        target(request, &Response::builder().status(status).header(LOCATION, location).body(()).unwrap())
    }

    #[test]
    fn places_are_absolute_or_relative() {
        let get = request(Method::GET, "https://host/a/b?sig=1");
        for (location, expected) in [
            ("https://other/x", "https://other/x"),
            ("/x?y", "https://host/x?y"),
            ("c", "https://host/a/c"),
            ("//third/z", "https://third/z"),
        ] {
            assert_eq!(to(&get, 307, location).unwrap(), Some(expected.parse().unwrap()));
        }
    }

    #[test]
    fn only_redirects_of_reads_are_followed_and_none_out_of_tls() {
        let get = request(Method::GET, "https://host/a?sig=secret");
        assert_eq!(to(&get, 304, "/x").unwrap(), None);
        assert_eq!(to(&get, 200, "/x").unwrap(), None);
        assert_eq!(to(&request(Method::PUT, "https://host/a"), 307, "/x").unwrap(), None);
        for location in ["http://host/a?sig=secret", "ftp://host/secret", "http://"] {
            let message = to(&get, 302, location).unwrap_err().to_string();
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn secrets_stay_with_their_server() {
        let mut get = request(Method::GET, "https://host/a");
        for name in [
            "authorization",
            "cookie",
            "x-amz-security-token",
            "x-amz-sso_bearer_token",
            "x-aws-ec2-metadata-token",
            "range",
        ] {
            get.headers_mut().insert(name, HeaderValue::from_static("value"));
        }
        let mut marked = HeaderValue::from_static("secret");
        marked.set_sensitive(true);
        get.headers_mut().insert("x-api-key", marked);
        follow(&mut get, "https://host/b".parse().unwrap()).unwrap();
        assert_eq!(get.headers().len(), 7);
        follow(&mut get, "https://host:444/b".parse().unwrap()).unwrap();
        assert_eq!(get.headers().keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["range"]);
    }
}
