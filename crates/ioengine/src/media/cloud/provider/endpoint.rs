//! URLs of services that options and environment give.

use super::place::unsupported;
use crate::Error;
use std::sync::Arc;
use url::Url;

/// A URL of a service: with a scheme, without user, password and query, and without a slash at its end. One without a
/// scheme gets `https`, or `http` where options say `use_ssl=False`.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for what is none. It is not told: it may hold a password.
pub(super) fn endpoint(text: &str, default_scheme: &str) -> Result<String, Error> {
    let text = text.trim();
    let full = if text.contains("://") { text.to_owned() } else { format!("{default_scheme}://{text}") };
    let url = Url::parse(&full).map_err(|error| unsupported(format!("the endpoint is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(unsupported("the endpoint should be a URL with http or https"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(unsupported("the endpoint should be a URL without user, password and query"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Scheme, host and port.
pub(super) fn origin(endpoint: &str) -> Arc<str> {
    match Url::parse(endpoint) {
        Ok(url) => url.origin().ascii_serialization().into(),
        // It has been parsed before; as it is, it still names one service only.
        Err(_) => endpoint.into(),
    }
}

/// The endpoint with a bucket as the first part of its host.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for hosts that are addresses.
pub(super) fn with_bucket_in_host(endpoint: &str, bucket: &str) -> Result<String, Error> {
    let no_name =
        || unsupported("a bucket cannot be part of the endpoint's host, which is an address: use path style");
    let mut url = Url::parse(endpoint).map_err(|_| no_name())?;
    let host = url.domain().ok_or_else(no_name)?.to_owned();
    if !host.starts_with(&format!("{bucket}.")) {
        url.set_host(Some(&format!("{bucket}.{host}"))).map_err(|_| no_name())?;
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        assert_eq!(endpoint("http://localhost:9000/", "https").unwrap(), "http://localhost:9000");
        assert_eq!(endpoint("minio.example.com", "https").unwrap(), "https://minio.example.com");
        assert_eq!(endpoint("localhost:9000", "http").unwrap(), "http://localhost:9000");
        assert_eq!(endpoint("http://h/path/", "https").unwrap(), "http://h/path");
        assert_eq!(&*origin("http://h:81/path"), "http://h:81");
        for wrong in ["http://u:S3CRET@h", "ftp://h", "http://", "https://h?sig=S3CRET", ""] {
            let error = endpoint(wrong, "https").unwrap_err();
            assert!(!error.message().contains("S3CRET"), "{error}");
        }
    }

    #[test]
    fn buckets_in_hosts() {
        assert_eq!(with_bucket_in_host("https://h:8", "b").unwrap(), "https://b.h:8");
        assert_eq!(with_bucket_in_host("https://b.h", "b").unwrap(), "https://b.h");
        assert!(with_bucket_in_host("http://127.0.0.1:9000", "b").is_err());
    }
}
