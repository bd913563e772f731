//! Connections: pools of HTTP/1.1, HTTP/2 where it is offered and faster, TLS, proxies.

mod body;
mod connect;
mod counts;
mod excludes;
mod failure;
mod http1;
mod http2;
mod names;
mod origin;
mod origin_name;
mod pool;
mod proxy;
mod reaper;
mod redirect;
mod request;
#[cfg(test)]
mod tests;
mod tls;
mod trial;
mod trust_all;

use super::heard::Hearing;
use crate::engine::lock;
use crate::{Error, ErrorKind};
use connect::Dialer;
use counts::Counts;
use failure::Failure;
use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use names::Names;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use origin::Origin;
use origin_name::OriginName;
use proxy::Proxy;
use redirect::REDIRECTS_MAX;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tls::{Tls, Trust};

/// Servers that are remembered; beyond, those without connections are forgotten.
const ORIGINS_MAX: usize = 64;

/// How connections are made.
#[derive(Clone)]
pub(crate) struct TransportSettings {
    pub(crate) version: HttpVersion,
    pub(crate) connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub(crate) idle_timeout: Duration,
    /// Connections to one host at most.
    pub(crate) connections_max: usize,
    pub(crate) allow_invalid_certificates: bool,
    /// PEM of certificates to trust besides the system's.
    pub(crate) root_certificates: Vec<Arc<[u8]>>,
    pub(crate) proxy: Option<ProxySettings>,
    pub(crate) user_agent: Option<String>,
}

/// Which HTTP to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    /// HTTP/1.1, and HTTP/2 where the server offers it and a short measurement prefers it.
    #[default]
    Auto,
    Http1,
    /// HTTP/2 by ALPN over TLS, by prior knowledge without.
    Http2,
}

/// A proxy that requests go through (`CONNECT`).
#[derive(Clone)]
pub(crate) struct ProxySettings {
    /// `http://` or `https://`, with user and password where the proxy asks for them.
    pub(crate) url: String,
    /// Hosts reached without it, comma-separated, as in `NO_PROXY`.
    pub(crate) excludes: String,
    /// PEM of a certificate to trust besides the system's, for an https proxy.
    pub(crate) ca_certificate: Option<Arc<[u8]>>,
}

/// The connections of one location. Cloning shares them. Used on the runtime of the process; nothing runs, and no file is
/// read, before the first request.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    settings: TransportSettings,
    user_agent: HeaderValue,
    tls: Arc<Tls>,
    proxy: Option<Arc<Proxy>>,
    counts: Arc<Counts>,
    origins: Mutex<HashMap<OriginName, Arc<Origin>>>,
}

/// What connections came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransportStats {
    pub(crate) connections_opened: u64,
    pub(crate) connections_open: u64,
    /// Of those open, HTTP/2.
    pub(crate) http2_open: u64,
}

impl Transport {
    /// Connections as settings say.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for names of us, certificates or proxies that cannot be used.
    pub(crate) fn new(settings: TransportSettings) -> Result<Transport, Error> {
        let trust = if settings.allow_invalid_certificates { Trust::Anyone } else { Trust::Roots };
        let proxy = settings.proxy.as_ref().map(Proxy::new).transpose()?;
        let user_agent = settings.user_agent.as_deref();
        Ok(Transport(Arc::new(Inner {
            user_agent: agent(user_agent.unwrap_or(concat!("swath/", env!("CARGO_PKG_VERSION"))))?,
            tls: Arc::new(Tls::new(trust, &settings.root_certificates)?),
            proxy: proxy.map(Arc::new),
            counts: Arc::default(),
            origins: Mutex::default(),
            settings,
        })))
    }

    /// Requests to a server that are certain to have room on connections at once: HTTP/1.1 has one request a connection, and
    /// is what most object stores speak where HTTP/2 was not asked for. `None` where it was.
    pub(crate) fn requests_max(&self) -> Option<usize> {
        let one_each = self.0.settings.version != HttpVersion::Http2;
        one_each.then_some(self.0.settings.connections_max)
    }

    /// True where fewer connections than these to a server, named by scheme, host and port, are open or being opened, as far
    /// as that is for [`prepare`](Transport::prepare) to change.
    pub(crate) fn lacks(&self, server: &str, connections: usize) -> bool {
        let Some(name) = named(server) else { return false };
        let known = lock(&self.0.origins).get(&name).map(Arc::clone);
        known.is_some_and(|origin| 0 < origin.lacking(connections))
    }

    /// Opens connections to a server that was reached before and has fewer than these. What goes wrong shows when they are
    /// missed.
    pub(crate) fn prepare(&self, server: &str, connections: usize) {
        if let Some(name) = named(server) {
            self.0.origin(name).prepare(connections);
        }
    }

    /// What connections came to so far.
    pub(crate) fn stats(&self) -> TransportStats {
        self.0.counts.stats()
    }
}

impl Inner {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, Failure> {
        if !request.headers().contains_key(USER_AGENT) {
            request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        }
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.origin(OriginName::of(request.uri())?).send(&request).await?;
            match redirect::target(&request, &answer)? {
                Some(target) => redirect::follow(&mut request, target)?,
                None => return Ok(answer.map(HttpResponseBody::new)),
            }
        }
        let last = OriginName::of(request.uri())?;
        Err(Failure::request(format!("more than {REDIRECTS_MAX} redirects, the last to {last}")))
    }

    fn origin(&self, name: OriginName) -> Arc<Origin> {
        let mut origins = lock(&self.origins);
        if let Some(origin) = origins.get(&name) {
            return Arc::clone(origin);
        }
        if ORIGINS_MAX <= origins.len() {
            origins.retain(|_, origin| 1 < Arc::strong_count(origin) || !origin.is_unused());
        }
        let origin = Arc::new(self.new_origin(name.clone()));
        origins.insert(name, Arc::clone(&origin));
        origin
    }

    fn new_origin(&self, name: OriginName) -> Origin {
        let proxy = self.proxy.as_ref().filter(|proxy| proxy.serves(&name));
        let nearest = proxy.map_or(&name, |proxy| &proxy.name);
        let dialer = Dialer {
            names: Names::new(&nearest.host, nearest.port),
            proxy: proxy.cloned(),
            tls: Arc::clone(&self.tls),
            connect_timeout: self.settings.connect_timeout,
            counts: Arc::clone(&self.counts),
            origin: name,
        };
        Origin::new(dialer, self.settings.version, self.settings.connections_max, self.settings.idle_timeout)
    }
}

impl HttpConnector for Transport {
    /// The same connections, whatever the options say: those are in the settings.
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Hearing(self.clone())))
    }
}

#[async_trait::async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        Ok(self.0.call(request).await?)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Transport").field(&self.0.settings).finish()
    }
}

impl fmt::Debug for TransportSettings {
    /// Without certificates.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TransportSettings")
            .field("version", &self.version)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("connections_max", &self.connections_max)
            .field("allow_invalid_certificates", &self.allow_invalid_certificates)
            .field("root_certificates", &self.root_certificates.len())
            .field("proxy", &self.proxy)
            .field("user_agent", &self.user_agent)
            .finish()
    }
}

impl fmt::Debug for ProxySettings {
    /// Without the URL, which may hold a password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ProxySettings").field("excludes", &self.excludes).finish_non_exhaustive()
    }
}

/// The value of `Host` that a request to a URI is sent with; `None` for URIs that lead to no web server.
pub(crate) fn host_of(uri: &Uri) -> Option<String> {
    OriginName::of(uri).ok().map(|name| name.authority())
}

fn named(server: &str) -> Option<OriginName> {
    OriginName::of(&server.parse().ok()?).ok()
}

fn agent(value: &str) -> Result<HeaderValue, Error> {
    let message = "wanted a user agent that can be sent, found other characters";
    HeaderValue::try_from(value).map_err(|_| Error::new(ErrorKind::Unsupported, message))
}
