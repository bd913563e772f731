//! Servers on loopback: hyper's, with a handler of the test's, and raw ones that send what the test says.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(super) type Answer = Response<Full<Bytes>>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;
pub(super) type Handler = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// A server, until it is dropped.
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) accepted: Arc<AtomicUsize>,
    pub(super) open: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A handler of requests.
pub(super) fn handler<F, A>(answer: F) -> Handler
where
    F: Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    Arc::new(move |request| Box::pin(answer(request)))
}

pub(super) fn ok(body: impl Into<Bytes>) -> Answer {
    Response::new(Full::new(body.into()))
}

/// Hands each connection to `serve`, with its number.
pub(super) async fn raw<F, S>(serve: F) -> Server
where
    F: Fn(TcpStream, usize) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (accepted, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, opened) = (Arc::clone(&accepted), Arc::clone(&open));
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            opened.fetch_add(1, Ordering::SeqCst);
            let open = Open(Arc::clone(&opened));
            let served = serve(stream, number);
            tokio::spawn(async move {
                served.await;
                drop(open);
            });
        }
    });
    Server { port, accepted, open, task }
}

/// HTTP/1.1 without TLS.
pub(super) async fn plain(handler: Handler) -> Server {
    raw(move |stream, _| serve_http1(stream, Arc::clone(&handler))).await
}

/// HTTP/2 without TLS.
pub(super) async fn h2c(handler: Handler) -> Server {
    raw(move |stream, _| serve_http2(stream, Arc::clone(&handler), None)).await
}

/// HTTPS that speaks what ALPN gives.
pub(super) async fn tls(acceptor: TlsAcceptor, handler: Handler, streams_max: Option<u32>) -> Server {
    raw(move |stream, _| {
        let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                serve_http2(stream, handler, streams_max).await;
            } else {
                serve_http1(stream, handler).await;
            }
        }
    })
    .await
}

pub(super) async fn serve_http1<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    handler: Handler,
) {
    let service = service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    drop(served.await);
}

pub(super) async fn serve_http2<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    handler: Handler,
    streams_max: Option<u32>,
) {
    let service = service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder.max_concurrent_streams(streams_max);
    drop(builder.serve_connection(TokioIo::new(stream), service).await);
}

/// Reads one head, up to its empty line. Empty at the end of the connection.
pub(super) async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return String::new(),
        }
    }
    String::from_utf8(head).unwrap()
}

/// Writes; a client that is gone is no error of the server's.
pub(super) async fn write<S: AsyncWrite + Unpin>(stream: &mut S, text: &str) {
    drop(stream.write_all(text.as_bytes()).await);
    drop(stream.flush().await);
}
