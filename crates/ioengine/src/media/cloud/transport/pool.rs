//! The HTTP/1.1 connections of one server.

use super::connect::{Arrivals, Stream};
use super::failure::Failure;
use super::origin_name::OriginName;
use super::place::Place;
use super::reaper::{IdleShelf, watch};
use crate::engine::lock;
use http::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use object_store::client::{HttpRequest, HttpRequestBody};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// The read buffer of a connection starts at 8 KiB, doubles while reads fill it, and stops here; a body's pieces are cut
/// from it, and pin it until they are dropped. Heads of answers are refused beyond it.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// How long a connection that came back may take to be ready for the next request. It is ready at once unless the server
/// answered before it had read all of the last request.
const READY_WAIT: Duration = Duration::from_millis(50);

/// The HTTP/1.1 connections of one server: at most so many at a time, whatever they do; callers beyond that wait in the
/// order in which they came. The connection that was used last is taken first, so that the others become idle and close.
///
/// What one connection holds: a socket, a task, 8 KiB to write heads from, and 8 KiB to read into, up to
/// [`BUFFER_BYTES_MAX`] while a body streams in; with TLS besides, rustls's buffers for a record (16 KiB at most) each way.
pub(super) struct Pool {
    places: Arc<Semaphore>,
    connections_max: usize,
    shelf: Mutex<Shelf>,
    idle_timeout: Duration,
}

#[derive(Default)]
struct Shelf {
    /// Oldest first.
    idle: VecDeque<(Connection, Instant)>,
    watched: bool,
}

/// A connection that is up.
pub(super) struct Connection {
    sender: SendRequest<HttpRequestBody>,
    driver: AbortHandle,
    arrivals: Arc<Arrivals>,
    place: Arc<Place>,
    /// Where the driver runs. Connections come back from any thread.
    runtime: Handle,
}

/// The right to one connection.
pub(super) struct Vacancy {
    pool: Arc<Pool>,
    place: OwnedSemaphorePermit,
}

/// One connection, for one request. Dropped without [`give_back`](Lease::give_back), the connection is closed, and its
/// place is free as soon as it is.
pub(super) struct Lease {
    pool: Arc<Pool>,
    connection: Connection,
    closing: Closing,
}

/// Closes a connection when it is dropped with the place still in it.
struct Closing {
    driver: AbortHandle,
    kept_in: Arc<Place>,
    place: Option<OwnedSemaphorePermit>,
}

/// A request that got no answer.
pub(super) struct Unanswered {
    pub(super) error: hyper::Error,
    pub(super) seen: Seen,
}

/// What a server knows of a request that it did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing: the request was not sent.
    Nothing,
    /// Perhaps all: it was sent, and no byte came back.
    Unknown,
    /// An answer began.
    Answered,
}

impl Pool {
    /// A pool of at most `connections_max` connections, at least one.
    pub(super) fn new(connections_max: usize, idle_timeout: Duration) -> Pool {
        let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(connections_max));
        Pool { places, connections_max, shelf: Mutex::default(), idle_timeout }
    }

    /// Waits for a place among the connections.
    ///
    /// # Errors
    ///
    /// None in practice: places are never taken away.
    pub(super) async fn vacancy(self: &Arc<Self>) -> Result<Vacancy, Failure> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|closed| Failure::connect(closed.to_string()))?;
        Ok(Vacancy { pool: Arc::clone(self), place })
    }

    /// A place among the connections, if one is free.
    pub(super) fn vacancy_now(self: &Arc<Self>) -> Option<Vacancy> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Vacancy { pool: Arc::clone(self), place })
    }

    /// Connections in use, idle, or being opened, that are fewer than these or than there may be.
    pub(super) fn lacking(&self, connections: usize) -> usize {
        let in_use = self.connections_max.saturating_sub(self.places.available_permits());
        let idle = lock(&self.shelf).idle.len();
        connections.min(self.connections_max).saturating_sub(in_use + idle)
    }

    /// Takes in a connection that no request opened. Dropped when all places are taken.
    pub(super) fn add(self: &Arc<Self>, connection: Connection) {
        if let Some(vacancy) = self.vacancy_now() {
            vacancy.fill(connection).give_back();
        }
    }

    /// True when no connection is kept.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.shelf).idle.is_empty()
    }

    fn take_newest(&self) -> Option<Connection> {
        lock(&self.shelf).idle.pop_back().map(|(connection, _)| connection)
    }

    fn put(self: &Arc<Self>, connection: Connection) {
        let runtime = connection.runtime.clone();
        let mut shelf = lock(&self.shelf);
        shelf.idle.push_back((connection, Instant::now()));
        let unwatched = !std::mem::replace(&mut shelf.watched, true);
        drop(shelf);
        if unwatched {
            watch(self, &runtime);
        }
    }
}

impl IdleShelf for Pool {
    fn prune(&self, now: Instant) -> Option<Duration> {
        let mut shelf = lock(&self.shelf);
        let kept = |since: Instant| self.idle_timeout.saturating_sub(now.saturating_duration_since(since));
        shelf.idle.retain(|(connection, since)| !connection.sender.is_closed() && !kept(*since).is_zero());
        let next = shelf.idle.front().map(|(_, since)| kept(*since));
        shelf.watched = next.is_some();
        next
    }

    fn unwatched(&self) {
        lock(&self.shelf).watched = false;
    }
}

impl Connection {
    /// Starts HTTP/1.1 on a stream.
    ///
    /// # Errors
    ///
    /// A failure to connect.
    pub(super) async fn start(stream: Stream, origin: &OriginName) -> Result<Connection, Failure> {
        let (arrivals, place) = (Arc::clone(&stream.arrivals), Arc::clone(&stream.place));
        let started = Builder::new().max_buf_size(BUFFER_BYTES_MAX).handshake(TokioIo::new(stream)).await;
        let (sender, driver) =
            started.map_err(|error| Failure::connect(format!("no HTTP with {origin}: {error}")))?;
        // What ends a connection is told to the request on it; between requests nobody needs to know.
        let driver = tokio::spawn(async move { drop(driver.await) }).abort_handle();
        Ok(Connection { sender, driver, arrivals, place, runtime: Handle::current() })
    }

    async fn is_usable(&mut self) -> bool {
        if self.sender.is_ready() {
            return true;
        }
        matches!(timeout(READY_WAIT, self.sender.ready()).await, Ok(Ok(())))
    }
}

impl Vacancy {
    /// Takes an idle connection, or stays vacant where none is left.
    pub(super) async fn reuse(self) -> Result<Lease, Vacancy> {
        while let Some(mut connection) = self.pool.take_newest() {
            if connection.is_usable().await {
                return Ok(self.fill(connection));
            }
            connection.driver.abort();
        }
        Err(self)
    }

    /// Puts a connection in.
    pub(super) fn fill(self, connection: Connection) -> Lease {
        let (driver, kept_in) = (connection.driver.clone(), Arc::clone(&connection.place));
        let closing = Closing { driver, kept_in, place: Some(self.place) };
        Lease { pool: self.pool, connection, closing }
    }
}

impl Lease {
    /// Sends a request in origin-form, with a `Host`, and waits for the head of its answer.
    ///
    /// # Errors
    ///
    /// What broke, and what the server may have seen of the request.
    pub(super) async fn send(&mut self, request: HttpRequest) -> Result<Response<Incoming>, Unanswered> {
        let arrivals = Arc::clone(&self.connection.arrivals);
        let before = arrivals.bytes();
        let sent = self.connection.sender.try_send_request(request).await;
        sent.map_err(|mut unsent| {
            let seen = match () {
                () if unsent.take_message().is_some() => Seen::Nothing,
                () if arrivals.bytes() == before => Seen::Unknown,
                () => Seen::Answered,
            };
            Unanswered { error: unsent.into_error(), seen }
        })
    }

    /// Puts the connection back for the next request.
    pub(super) fn give_back(self) {
        let Lease { pool, connection, mut closing } = self;
        let place = closing.place.take();
        // Before the place is free: who waits for it shall find the connection.
        pool.put(connection);
        drop(place);
    }

    /// Closes a connection that is of no use; its place stays.
    pub(super) fn vacate(self) -> Option<Vacancy> {
        let Lease { pool, connection, mut closing } = self;
        connection.driver.abort();
        closing.place.take().map(|place| Vacancy { pool, place })
    }

    /// The runtime that the connection lives on.
    pub(super) fn runtime(&self) -> &Handle {
        &self.connection.runtime
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.kept_in.keep(place);
            self.driver.abort();
        }
    }
}
