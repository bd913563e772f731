//! Making a connection: name, TCP, proxy, TLS.

use super::counts::{Counts, OpenConnection};
use super::failure::Failure;
use super::names::Names;
use super::origin_name::OriginName;
use super::place::Place;
use super::proxy::Proxy;
use super::tls::Tls;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{self, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

/// A stream of bytes to and from a server, plain or encrypted.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// TLS may lie over TLS (an https proxy), so that the type is open.
pub(super) type BoxIo = Box<dyn Io>;

/// The newest HTTP that one side would speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    Http1,
    /// HTTP/2, or HTTP/1.1 where the other side prefers that. Without TLS nobody is asked: HTTP/2 it is.
    Http2,
}

/// Makes connections to one server.
pub(super) struct Dialer {
    pub(super) origin: OriginName,
    /// A proxy, and not the server, is what is connected to.
    pub(super) proxy: Option<Arc<Proxy>>,
    /// Of the server, or of its proxy.
    pub(super) names: Names,
    pub(super) tls: Arc<Tls>,
    /// Over name, TCP, proxy and TLS together.
    pub(super) connect_timeout: Duration,
    pub(super) counts: Arc<Counts>,
}

/// A connection that is up, and what it speaks.
pub(super) struct Dialed {
    pub(super) stream: Stream,
    pub(super) speaks: Offer,
}

impl Dialer {
    /// Connects.
    ///
    /// # Errors
    ///
    /// A failure to connect: all addresses refused, the proxy or TLS did, or the time was over.
    pub(super) async fn dial(&self, offer: Offer) -> Result<Dialed, Failure> {
        let limit = self.connect_timeout;
        let dialed = timeout(limit, self.dial_until(Instant::now() + limit, offer)).await;
        let (io, speaks) = dialed.map_err(|_| self.failure(&format!("not connected within {limit:?}")))??;
        Ok(Dialed { stream: Stream::new(io, self.counts.opened(speaks)), speaks })
    }

    async fn dial_until(&self, end: Instant, offer: Offer) -> Result<(BoxIo, Offer), Failure> {
        let mut io: BoxIo = Box::new(self.connect_tcp(end).await?);
        if let Some(proxy) = &self.proxy {
            io = proxy.tunnel(io, &self.origin).await?;
        }
        match self.origin.is_secure() {
            true => self.tls.encrypt(io, &self.origin.host, offer).await,
            false => Ok((io, offer)),
        }
    }

    /// Tries the addresses in turn, each for its share of the time that is left, so that one that swallows packets leaves
    /// some for the next.
    async fn connect_tcp(&self, end: Instant) -> Result<TcpStream, Failure> {
        let addresses = self.names.addresses().await?;
        let mut problem = "no address".to_owned();
        for (tried, &address) in addresses.iter().enumerate() {
            let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            let share = end.saturating_duration_since(Instant::now()) / left;
            match connect_address(address, Instant::now() + share).await {
                Ok(stream) => return Ok(stream),
                Err(error) => problem = format!("{address}: {error}"),
            }
            self.names.put_last(address);
        }
        Err(self.failure(&problem))
    }

    fn failure(&self, problem: &str) -> Failure {
        let through = self.proxy.as_ref().map(|proxy| format!(" through the proxy {}", proxy.name));
        Failure::connect(format!(
            "cannot connect to {}{}: {problem}",
            self.origin,
            through.unwrap_or_default()
        ))
    }
}

async fn connect_address(address: SocketAddr, end: Instant) -> io::Result<TcpStream> {
    let stream = timeout_at(end, TcpStream::connect(address)).await;
    let stream = stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    // Requests are small and each is written at once: there is nothing to wait for.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection's bytes. Dropping it closes the connection; only then is it no longer counted, and its place free.
pub(super) struct Stream {
    io: BoxIo,
    /// Bytes that the server sent, after TLS.
    pub(super) received: Arc<AtomicU64>,
    pub(super) place: Arc<Place>,
    _open: OpenConnection,
}

impl Stream {
    fn new(io: BoxIo, open: OpenConnection) -> Stream {
        Stream { io, received: Arc::default(), place: Arc::default(), _open: open }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buffer);
        let count = buffer.filled().len().saturating_sub(before);
        self.received.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
