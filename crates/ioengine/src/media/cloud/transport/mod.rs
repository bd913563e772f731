//! Connections: pools of HTTP/1.1, HTTP/2 where it is offered and faster, TLS, proxies.

use super::heard::Hearing;
use crate::Error;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use std::sync::Arc;
use std::time::Duration;

/// How connections are made.
#[derive(Clone, Debug)]
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
    /// Headers of each request; values may be secrets.
    pub(crate) headers: Vec<(String, String)>,
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
#[derive(Clone, Debug)]
pub(crate) struct ProxySettings {
    pub(crate) url: String,
    /// Hosts reached without it, comma-separated, as in `NO_PROXY`.
    pub(crate) excludes: String,
    pub(crate) ca_certificate: Option<Arc<[u8]>>,
}

/// The connections of one location. Cloning shares them. Used on the runtime of the process.
#[derive(Clone, Debug)]
pub(crate) struct Transport(Arc<TransportSettings>);

/// What connections came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransportStats {
    pub(crate) connections_opened: u64,
    pub(crate) connections_open: u64,
    /// Of those open, HTTP/2.
    pub(crate) http2_open: u64,
}

impl Transport {
    pub(crate) fn new(settings: TransportSettings) -> Result<Transport, Error> {
        Ok(Transport(Arc::new(settings)))
    }

    pub(crate) fn stats(&self) -> TransportStats {
        TransportStats::default()
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Hearing(self.clone())))
    }
}

#[async_trait::async_trait]
impl HttpService for Transport {
    async fn call(&self, _request: HttpRequest) -> Result<HttpResponse, HttpError> {
        Err(HttpError::new(HttpErrorKind::Connect, std::io::Error::other("not there yet")))
    }
}
