//! What requests to a remote endpoint came to.

use std::sync::Arc;
use std::time::Duration;

/// What a remote source counted since its process made it. Sources of one endpoint share connections, limits and costs,
/// and with them these figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteStats {
    /// Scheme, host and port of the service.
    pub endpoint: Arc<str>,
    /// Requests sent, those sent again included.
    pub requests: u64,
    /// Bytes of bodies received, bridged gaps and bytes received again included.
    pub bytes_received: u64,
    /// Requests sent again after a failure.
    pub retries: u64,
    /// Of those, requests for the rest of a body that broke.
    pub resumed: u64,
    /// Requests sent a second time because the first was slow.
    pub hedges: u64,
    /// Answers that asked for fewer requests (429, 503).
    pub throttled: u64,
    /// Connections opened, and open now.
    pub connections_opened: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Of those, HTTP/2.
    pub http2_open: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// Most requests under way at once.
    pub in_flight_max: u64,
    /// Requests that may be under way at once, as adapted by now.
    pub concurrency: u64,
    /// The limit over time: when it moved, since the first request. Bounded; of long histories, evenly thinned.
    pub concurrency_history: Vec<(Duration, u64)>,
    /// Time from a request to the first byte of its answer: median, 99th percentile, longest; of the last requests.
    pub first_byte: [Duration; 3],
    /// What one more request costs with the queue full, as measured; zero before it is.
    pub request_cost_ns: f64,
    /// What one more byte costs, as measured; zero before it is.
    pub byte_cost_ns: f64,
}
