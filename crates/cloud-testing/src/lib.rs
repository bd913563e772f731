//! Servers on loopback, and proxies that make trouble, for the tests and benches of swath's cloud reads.
//!
//! Each server starts on a port of its own at 127.0.0.1, runs on threads of its own in this process (the Azure emulator in
//! a child process), and stops when it is dropped. [`FaultProxy`] stands in front of any that speaks HTTP/1.1 without TLS
//! and breaks what it is told to; [`Splice`] adds latency and a bandwidth limit to any connection and looks at nothing.
//!
//! What this crate does *not* know: how swath reads. It is built for tests and benches alone and is never published.

#![deny(unsafe_code)]

mod azure_request;
mod azure_server;
mod background;
mod connect_proxy;
mod fault_proxy;
mod gcs_server;
mod http_server;
mod object_body;
mod objects;
mod rate;
mod requested_ranges;
mod s3_memory_server;
mod s3_server;
mod serve_object;
mod splice;
mod throw;
mod tls;
mod web_server;
mod xml_api;

pub use azure_server::AzureServer;
pub use connect_proxy::{ConnectProxy, ProxyLogin};
pub use fault_proxy::{Fault, FaultProxy, Faults, Link, ProxyCounts, RequestSeen};
pub use gcs_server::GcsServer;
pub use objects::Objects;
pub use s3_memory_server::S3MemoryServer;
pub use s3_server::{S3_ACCESS_KEY, S3_SECRET_KEY, S3Server};
pub use splice::{Delay, Splice, SpliceConfig, SpliceCounts};
pub use tls::Certificate;
pub use web_server::{WebProtocol, WebServer};
