//! A wire with latency and a limited width, between any client and any server.

use crate::background::Background;
use crate::rate::Rate;
use bytes::{Bytes, BytesMut};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces under way on one connection in one direction: 16 MiB, more than 1 Gbit/s brings in 100 ms.
const PIECES_MAX: usize = 256;
/// How long before its bytes have passed a connection may ask for the limited link again: twice the timer's tick.
const AHEAD: Duration = Duration::from_millis(2);

/// Which way a wire's latency lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// Half of it each way, as wires have it.
    #[default]
    EachWayHalf,
    /// All of it on the way to the server: one timer's rounding (1 ms) instead of two.
    ToServer,
}

/// A wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpliceConfig {
    /// Time that a request and its answer take longer, together.
    pub latency: Duration,
    /// Which way it lies.
    pub delay: Delay,
    /// Bytes a second that all connections together bring from the server; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Threads that carry the bytes; zero is taken as one.
    pub threads: usize,
}

/// What a wire carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpliceCounts {
    /// Connections that were opened.
    pub connections: u64,
    /// Connections that are open now.
    pub connections_open: u64,
    /// Bytes from clients to the server.
    pub bytes_to_server: u64,
    /// Bytes from the server to clients.
    pub bytes_to_clients: u64,
}

/// Carries connections to a server, later and slower. It looks at no byte, so it carries TLS and HTTP/2 too.
///
/// Latency counts from when bytes arrive, also on the way out of a queue: more bytes do not make it longer. Each
/// connection has two tasks and at most 16 MiB under way in each direction; beyond that it stops reading.
pub struct Splice {
    address: SocketAddr,
    counts: Arc<Counts>,
    _background: Background,
}

#[derive(Default)]
struct Counts {
    opened: AtomicU64,
    open: AtomicU64,
    to_server: AtomicU64,
    to_clients: AtomicU64,
}

impl Splice {
    /// Starts a wire to a server.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(server: SocketAddr, config: SpliceConfig) -> io::Result<Splice> {
        let background = Background::start(config.threads)?;
        let counts = Arc::new(Counts::default());
        let rate = config.bytes_per_second.map(|rate| Arc::new(Rate::new(rate)));
        let kept = Arc::clone(&counts);
        let address = background.listen(move |client| {
            let (counts, rate) = (Arc::clone(&kept), rate.clone());
            async move {
                counts.opened.fetch_add(1, Ordering::Relaxed);
                counts.open.fetch_add(1, Ordering::Relaxed);
                let _ = carry(client, server, config, rate, &counts).await;
                counts.open.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        Ok(Splice { address, counts, _background: background })
    }

    /// Where the wire begins.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was carried so far.
    pub fn counts(&self) -> SpliceCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SpliceCounts {
            connections: load(&self.counts.opened),
            connections_open: load(&self.counts.open),
            bytes_to_server: load(&self.counts.to_server),
            bytes_to_clients: load(&self.counts.to_clients),
        }
    }
}

async fn carry(
    client: TcpStream,
    server: SocketAddr,
    config: SpliceConfig,
    rate: Option<Arc<Rate>>,
    counts: &Counts,
) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    let (up, down) = match config.delay {
        Delay::EachWayHalf => (config.latency / 2, config.latency - config.latency / 2),
        Delay::ToServer => (config.latency, Duration::ZERO),
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = one_way(from_client, to_server, up, None, &counts.to_server);
    let down = one_way(from_server, to_client, down, rate, &counts.to_clients);
    tokio::try_join!(up, down)?;
    Ok(())
}

/// Carries one direction until its source ends, and then ends its target.
async fn one_way(
    source: OwnedReadHalf,
    target: OwnedWriteHalf,
    delay: Duration,
    rate: Option<Arc<Rate>>,
    count: &AtomicU64,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    tokio::try_join!(take(source, sender, delay, rate), give(target, receiver, count))?;
    Ok(())
}

async fn take(
    mut source: OwnedReadHalf,
    sender: mpsc::Sender<(Instant, Bytes)>,
    delay: Duration,
    rate: Option<Arc<Rate>>,
) -> io::Result<()> {
    loop {
        // No buffer while nothing arrives: thousands of idle connections cost nothing.
        source.readable().await?;
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        if source.read_buf(&mut piece).await? == 0 {
            return Ok(());
        }
        let piece = shrunk(piece);
        let now = Instant::now();
        let passed = rate.as_ref().map_or(now, |rate| rate.reserve(piece.len(), now));
        if sender.send((passed + delay, piece)).await.is_err() {
            return Ok(());
        }
        // One connection takes the limited link a little ahead and no more, so that all get their turn.
        if now + AHEAD < passed {
            sleep_until(passed.checked_sub(AHEAD).unwrap_or(passed)).await;
        }
    }
}

/// Small pieces are copied, so that a request of some hundred bytes does not hold 64 KiB while it waits.
fn shrunk(piece: BytesMut) -> Bytes {
    if piece.len() < PIECE_BYTES / 4 { Bytes::copy_from_slice(&piece) } else { piece.freeze() }
}

async fn give(
    mut target: OwnedWriteHalf,
    mut receiver: mpsc::Receiver<(Instant, Bytes)>,
    count: &AtomicU64,
) -> io::Result<()> {
    while let Some((due, piece)) = receiver.recv().await {
        if Instant::now() < due {
            sleep_until(due).await;
        }
        target.write_all(&piece).await?;
        count.fetch_add(u64::try_from(piece.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
    target.shutdown().await
}
