//! The HTTP/2 connections of one server.

use super::connect::{Arrivals, Stream};
use super::failure::Failure;
use super::origin_name::OriginName;
use super::reaper::{IdleShelf, watch};
use crate::engine::lock;
use h2::Reason;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
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

/// A connection on which nothing at all came for this long, while a request waited there until it was given up, is taken for
/// dead and gets no further requests. A server that only took its time costs us a connection anew.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// A connection on which requests wait, and nothing came for this long, is asked for a sign of life, and closed where none
/// comes for as long again: its requests fail then, however patient they are. Servers see few of these pings, as none is
/// sent while bytes come or nobody waits.
const PING_AFTER: Duration = Duration::from_secs(10);

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
    /// Of what the server sent.
    arrivals: Arc<Arrivals>,
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
    started: Instant,
    /// The answer came to its end, or said why it does not.
    ended: bool,
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
        let started = Instant::now();
        Some(StreamLease { streams: Arc::clone(self), connection, started, ended: false, is_reused })
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
        let arrivals = Arc::clone(&stream.arrivals);
        let started = builder().handshake(TokioIo::new(stream)).await;
        let (sender, driver) =
            started.map_err(|error| Failure::connect(format!("no HTTP/2 with {origin}: {error}")))?;
        // What ends a connection is told to the requests on it; between requests nobody needs to know.
        tokio::spawn(async move { drop(driver.await) });
        let runtime = Handle::current();
        let idle_since = Mutex::new(Instant::now());
        let (streams, used) = (AtomicUsize::new(0), AtomicBool::new(false));
        let connection = Multiplexed { sender, streams, arrivals, used, idle_since, runtime };
        lock(&self.shelf).connections.push(Arc::new(connection));
        self.watch_idle(&Handle::current());
        Ok(())
    }

    /// True when no connection is kept.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.shelf).connections.is_empty()
    }

    /// Gives a connection no further requests. It is closed when those that it has are over.
    fn retire(&self, connection: &Arc<Multiplexed>) {
        lock(&self.shelf).connections.retain(|one| !Arc::ptr_eq(one, connection));
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

    /// Frees the stream after an answer that came to its end, or failed by itself.
    pub(super) fn end(mut self) {
        self.ended = true;
    }

    /// True when nothing came on the whole connection for long, although this request waited.
    fn was_silent(&self) -> bool {
        let since = self.connection.arrivals.last().map_or(self.started, |last| last.max(self.started));
        !self.ended && SILENCE_MAX <= since.elapsed()
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        if self.was_silent() {
            self.streams.retire(&self.connection);
        }
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
        .max_concurrent_reset_streams(RESET_STREAMS_MAX)
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_AFTER)
        .keep_alive_while_idle(false);
    builder
}
