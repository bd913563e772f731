//! Making a connection: name, TCP, proxy, TLS.

use super::counts::{Counts, OpenConnection};
use super::failure::Failure;
use super::names::Names;
use super::origin_name::OriginName;
use super::proxy::Proxy;
use super::tls::Tls;
use crate::fork;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{self, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

/// A stream of bytes to and from a server, plain or encrypted.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Io for T {}

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

/// What came from a server on one connection, after TLS.
#[derive(Debug)]
pub(super) struct Arrivals {
    bytes: AtomicU64,
    opened: std::time::Instant,
    /// When the last bytes came, in milliseconds after the opening, and one more; 0 before the first.
    last: AtomicU64,
}

impl Arrivals {
    fn new() -> Arrivals {
        Arrivals { bytes: AtomicU64::new(0), opened: std::time::Instant::now(), last: AtomicU64::new(0) }
    }

    fn note(&self, count: usize) {
        self.bytes.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
        let millis = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis.saturating_add(1), Ordering::Relaxed);
    }

    /// Bytes that came so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// When the last bytes came, to a millisecond; `None` before the first.
    pub(super) fn last(&self) -> Option<std::time::Instant> {
        let millis = self.last.load(Ordering::Relaxed).checked_sub(1)?;
        self.opened.checked_add(Duration::from_millis(millis))
    }
}

/// A connection's bytes. Dropping it closes the connection; only then is it no longer counted.
pub(super) struct Stream {
    io: BoxIo,
    pub(super) arrivals: Arc<Arrivals>,
    /// Of the process that made it, among its forks.
    generation: u64,
    _open: OpenConnection,
}

impl Stream {
    pub(super) fn new(io: BoxIo, open: OpenConnection) -> Stream {
        Stream { io, arrivals: Arc::new(Arrivals::new()), generation: fork::generation(), _open: open }
    }
}

impl Drop for Stream {
    /// Says goodbye: a forked child has a copy of the socket, so that closing ours would tell the server nothing. Where that
    /// would block, the socket is closed as it is. The child leaves its parent's connections alone.
    fn drop(&mut self) {
        if self.generation == fork::generation() {
            // What fails is closed right after.
            let _ = Pin::new(&mut self.io).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
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
        if 0 < count {
            self.arrivals.note(count);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_server_sees_the_end_although_another_holds_the_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        // As a forked child has it.
        let copy = socket.try_clone().unwrap();
        socket.set_nonblocking(true).unwrap();
        let io = Box::new(TcpStream::from_std(socket).unwrap());
        drop(Stream::new(io, Arc::<Counts>::default().opened(Offer::Http1)));
        assert_eq!(timeout(Duration::from_secs(30), server.read(&mut [0])).await.unwrap().unwrap(), 0);
        drop(copy);
    }
}
