//! How many connections there are.

use super::TransportStats;
use super::connect::Offer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of all connections of one transport.
#[derive(Debug, Default)]
pub(super) struct Counts {
    opened: AtomicU64,
    open: AtomicU64,
    http2_open: AtomicU64,
}

/// A connection that is open, counted until it is dropped.
pub(super) struct OpenConnection {
    counts: Arc<Counts>,
    speaks: Offer,
}

impl Counts {
    /// Counts a connection from now until what is returned is dropped.
    pub(super) fn opened(self: &Arc<Self>, speaks: Offer) -> OpenConnection {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        if speaks == Offer::Http2 {
            self.http2_open.fetch_add(1, Ordering::Relaxed);
        }
        OpenConnection { counts: Arc::clone(self), speaks }
    }

    pub(super) fn stats(&self) -> TransportStats {
        TransportStats {
            connections_opened: self.opened.load(Ordering::Relaxed),
            connections_open: self.open.load(Ordering::Relaxed),
            http2_open: self.http2_open.load(Ordering::Relaxed),
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        if self.speaks == Offer::Http2 {
            self.counts.http2_open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
