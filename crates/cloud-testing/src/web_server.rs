//! A static web server.

use crate::background::Background;
use crate::http_server::{Answer, Versions, serve};
use crate::object_body::ObjectBody;
use crate::objects::Objects;
use crate::serve_object::{SeveralRanges, plain, serve_object};
use crate::tls::Certificate;
use bytes::Bytes;
use http::{Method, StatusCode};
use hyper::body::Incoming;
use hyper::{Request, Response};
use percent_encoding::percent_decode_str;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a web server speaks.
#[derive(Clone)]
pub enum WebProtocol {
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/1.1, and HTTP/2 without TLS for clients that know beforehand.
    Http1AndHttp2,
    /// HTTP/1.1 over TLS.
    Http1Tls(Certificate),
    /// HTTP/2 over TLS, and HTTP/1.1 for clients that do not offer HTTP/2.
    Http2Tls(Certificate),
}

/// A static web server with entity tags, `If-Match`, and every form of range. It lists nothing and takes no writes.
pub struct WebServer {
    address: SocketAddr,
    scheme: &'static str,
    objects: Objects,
    requests: Arc<AtomicU64>,
    _background: Background,
}

impl WebServer {
    /// Starts a server of some objects, on so many threads.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(objects: Objects, protocol: &WebProtocol, threads: usize) -> io::Result<WebServer> {
        let background = Background::start(threads)?;
        let tls = |certificate: &Certificate, names: &[&[u8]]| -> io::Result<Versions> {
            Ok(Versions::Tls(certificate.server(names)?.into()))
        };
        let (scheme, versions) = match protocol {
            WebProtocol::Http1 => ("http", Versions::Http1),
            WebProtocol::Http1AndHttp2 => ("http", Versions::Plain),
            WebProtocol::Http1Tls(certificate) => ("https", tls(certificate, &[b"http/1.1"])?),
            WebProtocol::Http2Tls(certificate) => ("https", tls(certificate, &[b"h2", b"http/1.1"])?),
        };
        let requests = Arc::new(AtomicU64::new(0));
        let site = Site { objects: objects.clone(), requests: Arc::clone(&requests) };
        let address = serve(&background, versions, site)?;
        Ok(WebServer { address, scheme, objects, requests, _background: background })
    }

    /// Starts a server of HTTP/1.1 and HTTP/2 without TLS, on one thread.
    ///
    /// # Errors
    ///
    /// As [`start`](WebServer::start).
    pub fn plain(objects: Objects) -> io::Result<WebServer> {
        WebServer::start(objects, &WebProtocol::Http1AndHttp2, 1)
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// What is served; shared with the server.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Requests that were answered so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

struct Site {
    objects: Objects,
    requests: Arc<AtomicU64>,
}

impl Answer for Site {
    type Body = ObjectBody;

    async fn answer(&self, request: Request<Incoming>) -> Response<ObjectBody> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, Bytes::new());
        }
        let path = request.uri().path().trim_start_matches('/');
        let found = percent_decode_str(path).decode_utf8().ok().and_then(|key| self.objects.get(&key));
        match found {
            Some(object) => serve_object(&object, request.headers(), SeveralRanges::Answered),
            None => plain(StatusCode::NOT_FOUND, "no such file"),
        }
    }
}
