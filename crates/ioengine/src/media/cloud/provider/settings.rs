//! How connections are made, from options and environment; and which options contradict each other.

use super::place::{Service, unsupported};
use super::{Context, proxy};
use crate::media::cloud::transport::{HttpVersion, TransportSettings};
use crate::media::cloud::{CloudOptions, CloudSettings};
use crate::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// As object_store has it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// S3 closes connections that are not used for some 20 s; one that is closed just when it is used costs a retry.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Connections to one host that can be asked for.
const CONNECTIONS_LIMIT: u64 = 65_536;

/// Bytes of a file of certificates at most.
const CERTIFICATES_LEN_MAX: u64 = 16 << 20;

/// Options that give credentials.
const CREDENTIALS: [&str; 12] = [
    "access_key_id",
    "secret_access_key",
    "token",
    "service_account",
    "service_account_key",
    "application_credentials",
    "account_key",
    "sas_token",
    "client_secret",
    "credential",
    "username",
    "password",
];

/// Checks that options do not contradict each other.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) with the names of two that do.
pub(super) fn check(options: &CloudOptions, service: Service) -> Result<(), Error> {
    let anonymous = options.truth("skip_signature")? || options.get("token_source") == Some("anon");
    let own = options.credentials().map(|_| "credentials");
    let mut given = CREDENTIALS.iter().copied().filter(|name| options.get(name).is_some()).chain(own);
    if let (true, Some(name)) = (anonymous && service != Service::Web, given.next()) {
        return Err(unsupported(format!("anon (no signature) and {name} are given: only one can be meant")));
    }
    let mut keys = CREDENTIALS.iter().filter(|name| options.get(name).is_some());
    if let (Some(_), Some(name)) = (own, keys.next()) {
        return Err(unsupported(format!(
            "a source of credentials and {name} are given: only one can be meant"
        )));
    }
    if options.truth("http1_only")? && options.truth("http2_only")? {
        return Err(unsupported("http1_only and http2_only are given: only one can be meant"));
    }
    if options.truth("disable_system_certificates")? {
        return Err(unsupported(
            "disable_system_certificates is not supported: the system's certificates are trusted",
        ));
    }
    Ok(())
}

/// How connections to an endpoint are made. The headers that options give are not among them: those go to the service only,
/// and not to where its tokens come from.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for values that cannot be used; [`PermissionDenied`](
/// ErrorKind::PermissionDenied) for files of certificates that cannot be read.
pub(super) fn transport(context: Context<'_>, endpoint: &str) -> Result<TransportSettings, Error> {
    let options = context.options;
    if endpoint.starts_with("http:") && options.get("allow_http").is_some() && !options.truth("allow_http")? {
        return Err(unsupported("the URL or the endpoint has http, and allow_http=False is given"));
    }
    // Where nothing is said, as many as there may be requests at once: HTTP/1.1 has one request a connection.
    let requests = CloudSettings::from_options(options)?.workable().concurrency_max;
    let connections = options.number("connections_max")?.unwrap_or(crate::storage_len(requests));
    if connections == 0 || CONNECTIONS_LIMIT < connections {
        return Err(unsupported(format!("connections_max should be from 1 to {CONNECTIONS_LIMIT}")));
    }
    let verify = options.get("verify").unwrap_or("true");
    let trusts_all =
        options.truth("allow_invalid_certificates")? || matches!(verify, "False" | "false" | "0");
    Ok(TransportSettings {
        version: version(options)?,
        connect_timeout: options.duration("connect_timeout")?.unwrap_or(CONNECT_TIMEOUT),
        idle_timeout: options.duration("pool_idle_timeout")?.unwrap_or(IDLE_TIMEOUT),
        connections_max: crate::memory_len(connections)?,
        allow_invalid_certificates: trusts_all,
        root_certificates: root_certificates(context, verify)?,
        proxy: proxy::settings(options, context.environment, endpoint)?,
        user_agent: options.get("user_agent").map(str::to_owned),
    })
}

fn version(options: &CloudOptions) -> Result<HttpVersion, Error> {
    if options.truth("http2_only")? {
        return Ok(HttpVersion::Http2);
    }
    if options.truth("http1_only")? {
        return Ok(HttpVersion::Http1);
    }
    match options.get("http_version").map(str::to_ascii_lowercase).as_deref() {
        None | Some("auto") => Ok(HttpVersion::Auto),
        Some("1" | "1.1" | "http1" | "http/1.1") => Ok(HttpVersion::Http1),
        Some("2" | "2.0" | "http2" | "http/2") => Ok(HttpVersion::Http2),
        Some(_) => Err(unsupported("the option \"http_version\" should be auto, 1.1 or 2")),
    }
}

/// Certificates to trust besides the system's: by option as a file or as PEM itself, by `verify` as requests and boto have
/// it, by `AWS_CA_BUNDLE`.
fn root_certificates(context: Context<'_>, verify: &str) -> Result<Vec<Arc<[u8]>>, Error> {
    let option = context.options.get("root_certificate");
    let is_file = !matches!(verify.to_ascii_lowercase().as_str(), "true" | "false" | "1" | "0" | "none" | "");
    let by_verify = is_file.then_some(verify);
    let variable = match context.place.service {
        Service::Amazon => context.environment.get("AWS_CA_BUNDLE"),
        _ => None,
    };
    option.or(by_verify).or(variable).map(|text| pem(context, text)).into_iter().collect()
}

/// PEM as it is, or that of a file.
pub(super) fn pem(context: Context<'_>, text: &str) -> Result<Arc<[u8]>, Error> {
    if text.contains("-----BEGIN") {
        return Ok(text.as_bytes().into());
    }
    let path = context.environment.path(text);
    let failed = |how: &dyn std::fmt::Display| {
        Error::new(ErrorKind::PermissionDenied, format!("certificates in {}: {how}", path.display()))
    };
    let len = std::fs::metadata(&path).map_err(|error| failed(&error.kind()))?.len();
    if CERTIFICATES_LEN_MAX < len {
        return Err(failed(&"more than 16 MiB"));
    }
    std::fs::read(&path).map(Arc::from).map_err(|error| failed(&error.kind()))
}
