//! The HTTP/1.1 connections of one server.

use super::failure::Failure;
use super::http1::Connection;
use super::reaper::{IdleShelf, watch};
use crate::engine::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The HTTP/1.1 connections of one server: at most so many at a time, whatever they do; callers beyond that wait in the
/// order in which they came. The connection that was used last is taken first, so that the others become idle and close. One
/// that its server closed meanwhile is found out when it is taken, or when its time is over.
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

/// The right to one connection.
pub(super) struct Vacancy {
    pool: Arc<Pool>,
    place: OwnedSemaphorePermit,
}

/// One connection, for one request. Dropped without [`give_back`](Lease::give_back), the connection is closed, and then its
/// place is free.
pub(super) struct Lease {
    pool: Arc<Pool>,
    pub(super) connection: Connection,
    place: OwnedSemaphorePermit,
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
        shelf.idle.retain_mut(|(connection, since)| !kept(*since).is_zero() && connection.is_quiet());
        let next = shelf.idle.front().map(|(_, since)| kept(*since));
        shelf.watched = next.is_some();
        next
    }

    fn unwatched(&self) {
        lock(&self.shelf).watched = false;
    }
}

impl Vacancy {
    /// Takes an idle connection, or stays vacant where none is left.
    pub(super) fn reuse(self) -> Result<Lease, Vacancy> {
        while let Some(mut connection) = self.pool.take_newest() {
            if connection.is_quiet() {
                return Ok(self.fill(connection));
            }
        }
        Err(self)
    }

    /// Puts a connection in.
    pub(super) fn fill(self, connection: Connection) -> Lease {
        Lease { pool: self.pool, connection, place: self.place }
    }
}

impl Lease {
    /// Puts the connection back for the next request, or closes it where it serves none.
    pub(super) fn give_back(self) {
        let Lease { pool, mut connection, place } = self;
        // Before the place is free: who waits for it shall find the connection, or the room for another.
        if connection.is_reusable() {
            connection.rest();
            pool.put(connection);
        } else {
            drop(connection);
        }
        drop(place);
    }

    /// Closes a connection that is of no use; its place stays.
    pub(super) fn vacate(self) -> Vacancy {
        let Lease { pool, connection, place } = self;
        drop(connection);
        Vacancy { pool, place }
    }
}
