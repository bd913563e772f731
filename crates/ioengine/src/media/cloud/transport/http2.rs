//! The HTTP/2 connections of one server.

use super::connect::Stream;
use super::failure::Failure;
use super::origin_name::OriginName;
use super::reaper::{IdleShelf, watch};
use crate::engine::lock;
use h2::Reason;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use object_store::client::HttpRequestBody;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Connections to one server at most: loss and a slow window on one hold up an eighth of the requests.
const CONNECTIONS_MAX: usize = 8;

/// Streams on each connection before another is opened. Beyond all of them, connections fill up evenly to what the server
/// allows, and then requests wait inside.
const STREAMS_FEW: usize = 12;

/// Fixed windows, and not hyper's adaptive ones: those begin at 64 KiB and take round trips to grow, and measure by pings,
/// which servers count as abuse. A stream's window holds a range read whole; a connection's bounds what may lie unread:
/// 8 connections hold 64 MiB at most.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

/// Fewer and larger frames than the 16 KiB of the default: one copy and one wake-up each.
const FRAME_BYTES_MAX: u32 = 64 << 10;

/// Streams that were given up, whose late frames are still recognised.
const RESET_STREAMS_MAX: usize = 256;

/// How long no further connection is opened after one failed to, while others serve.
const PAUSE: Duration = Duration::from_secs(1);

/// The HTTP/2 connections of one server. Requests go to the one with the fewest streams.
pub(super) struct Streams {
    shelf: Mutex<Shelf>,
    connections_max: usize,
    idle_timeout: Duration,
}

#[derive(Default)]
struct Shelf {
    connections: Vec<Arc<Multiplexed>>,
    opening: usize,
    paused_until: Option<Instant>,
    watched: bool,
}

/// One connection.
struct Multiplexed {
    sender: SendRequest<HttpRequestBody>,
    streams: AtomicUsize,
    /// A stream ended on it.
    used: AtomicBool,
    /// When the last stream ended, while there is none.
    idle_since: Mutex<Instant>,
    runtime: Handle,
}

/// A connection's use by one request, until its body ended or was dropped.
pub(super) struct StreamLease {
    streams: Arc<Streams>,
    connection: Arc<Multiplexed>,
    /// Another request was there before: the server may have closed the connection meanwhile.
    pub(super) is_reused: bool,
}

/// Leave to open one connection more.
pub(super) struct Opening(Arc<Streams>);

impl Streams {
    pub(super) fn new(connections_max: usize, idle_timeout: Duration) -> Streams {
        let connections_max = connections_max.clamp(1, CONNECTIONS_MAX);
        Streams { shelf: Mutex::default(), connections_max, idle_timeout }
    }

    /// A stream on the connection with the fewest, if there is a connection.
    pub(super) fn take(self: &Arc<Self>) -> Option<StreamLease> {
        let mut shelf = lock(&self.shelf);
        shelf.connections.retain(|connection| !connection.sender.is_closed());
        let fewest =
            shelf.connections.iter().min_by_key(|connection| connection.streams.load(Ordering::Relaxed))?;
        let connection = Arc::clone(fewest);
        let is_reused = connection.used.load(Ordering::Relaxed);
        connection.streams.fetch_add(1, Ordering::Relaxed);
        Some(StreamLease { streams: Arc::clone(self), connection, is_reused })
    }

    /// Leave to open another connection, when those that are there have more than a few streams each.
    pub(super) fn opening(self: &Arc<Self>) -> Option<Opening> {
        let mut shelf = lock(&self.shelf);
        let there = shelf.connections.len() + shelf.opening;
        let streams: usize = shelf.connections.iter().map(|one| one.streams.load(Ordering::Relaxed)).sum();
        let paused = shelf.paused_until.is_some_and(|until| Instant::now() < until);
        if paused || streams.div_ceil(STREAMS_FEW).min(self.connections_max) <= there {
            return None;
        }
        shelf.opening += 1;
        Some(Opening(Arc::clone(self)))
    }

    /// Starts HTTP/2 on a stream, and takes the connection in.
    ///
    /// # Errors
    ///
    /// A failure to connect.
    pub(super) async fn start(self: &Arc<Self>, stream: Stream, origin: &OriginName) -> Result<(), Failure> {
        let started = builder().handshake(TokioIo::new(stream)).await;
        let (sender, driver) =
            started.map_err(|error| Failure::connect(format!("no HTTP/2 with {origin}: {error}")))?;
        // What ends a connection is told to the requests on it; between requests nobody needs to know.
        tokio::spawn(async move { drop(driver.await) });
        let runtime = Handle::current();
        let idle_since = Mutex::new(Instant::now());
        let (streams, used) = (AtomicUsize::new(0), AtomicBool::new(false));
        let connection = Multiplexed { sender, streams, used, idle_since, runtime };
        lock(&self.shelf).connections.push(Arc::new(connection));
        self.watch_idle(&Handle::current());
        Ok(())
    }

    /// True when no connection is kept.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.shelf).connections.is_empty()
    }

    fn watch_idle(self: &Arc<Self>, runtime: &Handle) {
        if !std::mem::replace(&mut lock(&self.shelf).watched, true) {
            watch(self, runtime);
        }
    }
}

impl IdleShelf for Streams {
    fn prune(&self, now: Instant) -> Option<Duration> {
        let mut shelf = lock(&self.shelf);
        shelf
            .connections
            .retain(|one| !one.sender.is_closed() && !one.left(now, self.idle_timeout).is_zero());
        // A connection with streams on it has all its time; it is looked at again then.
        let next = shelf.connections.iter().map(|one| one.left(now, self.idle_timeout)).min();
        shelf.watched = next.is_some();
        next
    }

    fn unwatched(&self) {
        lock(&self.shelf).watched = false;
    }
}

impl Multiplexed {
    /// How long the connection is kept from now on, if nothing happens to it.
    fn left(&self, now: Instant, idle_timeout: Duration) -> Duration {
        match self.streams.load(Ordering::Relaxed) {
            0 => idle_timeout.saturating_sub(now.saturating_duration_since(*lock(&self.idle_since))),
            _ => idle_timeout,
        }
    }
}

impl StreamLease {
    /// What sends the request.
    pub(super) fn sender(&self) -> SendRequest<HttpRequestBody> {
        self.connection.sender.clone()
    }

    /// True when the connection is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.connection.sender.is_closed()
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        *lock(&self.connection.idle_since) = Instant::now();
        self.connection.used.store(true, Ordering::Relaxed);
        self.connection.streams.fetch_sub(1, Ordering::Relaxed);
        self.streams.watch_idle(&self.connection.runtime);
    }
}

impl Opening {
    /// Says how it went.
    pub(super) fn ended(self, result: &Result<(), Failure>) {
        if result.is_err() {
            lock(&self.0.shelf).paused_until = Some(Instant::now() + PAUSE);
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        lock(&self.0.shelf).opening -= 1;
    }
}

/// Whether a server says itself that it did not look at the request: it may be sent again, whatever it is.
pub(super) fn was_refused(error: &hyper::Error) -> bool {
    super::failure::sources(error)
        .filter_map(|cause| cause.downcast_ref::<h2::Error>())
        .any(|cause| cause.reason() == Some(Reason::REFUSED_STREAM))
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        // Before the server has said how many it takes: what goes beyond is refused, and has to be sent again.
        .initial_max_send_streams(STREAMS_FEW)
        .max_concurrent_reset_streams(RESET_STREAMS_MAX);
    builder
}
