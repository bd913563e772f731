//! A proxy that understands HTTP/1.1 as far as it must to break it.

mod alter;
mod body;
mod counts;
mod exchange;
mod fault;
mod head;
mod link;

pub use counts::{ProxyCounts, RequestSeen};
pub use fault::{Fault, Faults};
pub use link::Link;

use crate::background::Background;
use crate::rate::Rate;
use counts::Counts;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Stands in front of a server that speaks HTTP/1.1 without TLS, and does to each request what its [`Faults`] say. What
/// it lets through is unchanged, signed headers included.
pub struct FaultProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    _background: Background,
}

/// What a proxy's connections share.
struct Shared {
    server: SocketAddr,
    link: Link,
    rate: Option<Rate>,
    faults: Mutex<Faults>,
    counts: Counts,
}

impl FaultProxy {
    /// Starts a proxy without faults.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(server: SocketAddr, link: Link) -> io::Result<FaultProxy> {
        let background = Background::start(1)?;
        let shared = Arc::new(Shared {
            server,
            link,
            rate: link.bytes_per_second.map(Rate::new),
            faults: Mutex::new(Faults::none()),
            counts: Counts::default(),
        });
        let kept = Arc::clone(&shared);
        let address = background.listen(move |client| {
            let shared = Arc::clone(&kept);
            async move {
                let _ = exchange::serve(client, &shared).await;
            }
        })?;
        Ok(FaultProxy { shared, address, _background: background })
    }

    /// Where the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The proxy's URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes what happens to the requests from now on. Numbers of requests count on.
    pub fn set_faults(&self, faults: Faults) {
        *self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// What was counted since the start, or since [`reset_counts`](FaultProxy::reset_counts).
    pub fn counts(&self) -> ProxyCounts {
        self.shared.counts.read()
    }

    /// Counts from zero again; requests under way stay counted as such.
    pub fn reset_counts(&self) {
        self.shared.counts.reset();
    }
}
