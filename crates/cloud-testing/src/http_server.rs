//! HTTP over a listener: connections, protocols, TLS.

use crate::background::Background;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// HTTP/2 streams that a client may have open on one connection: more than any client here asks for.
const STREAMS_MAX: u32 = 10_000;

/// Answers requests.
pub(crate) trait Answer: Send + Sync + 'static {
    type Body: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Which versions a server speaks.
#[derive(Clone)]
pub(crate) enum Versions {
    Http1,
    /// HTTP/1.1, and HTTP/2 by prior knowledge.
    Plain,
    /// What the acceptor offers and the client picks.
    Tls(TlsAcceptor),
}

/// Serves HTTP on a free port of 127.0.0.1.
pub(crate) fn serve(
    background: &Background,
    versions: Versions,
    answer: impl Answer,
) -> io::Result<SocketAddr> {
    let answer = Arc::new(answer);
    background.listen(move |stream| {
        let (answer, versions) = (Arc::clone(&answer), versions.clone());
        async move {
            match versions {
                Versions::Tls(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(stream, answer, builder()).await;
                    }
                }
                Versions::Http1 => serve_connection(stream, answer, builder().http1_only()).await,
                Versions::Plain => serve_connection(stream, answer, builder()).await,
            }
        }
    })
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS_MAX);
    builder
}

async fn serve_connection<A: Answer>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: Arc<A>,
    builder: Builder<TokioExecutor>,
) {
    let service = service_fn(|request| {
        let answer = Arc::clone(&answer);
        async move { Ok::<_, Infallible>(answer.answer(request).await) }
    });
    // A connection that the client breaks is none of the server's business.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
