//! How slow a proxy is when nothing is wrong.

use std::time::Duration;

/// Latency and width of the way through a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// Time from a request's arrival until it goes on to the server.
    pub latency: Duration,
    /// Up to so much more, at random by the request's number.
    pub jitter: Duration,
    /// Bytes a second of bodies that all connections together bring to clients; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Bytes a second of bodies that each connection brings; `None` for no limit.
    pub bytes_per_second_each: Option<u64>,
}
