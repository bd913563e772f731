//! An S3 server that keeps its objects in memory and checks no signature: for loads that a real one is too slow for.

use crate::background::Background;
use crate::http_server::{Versions, serve};
use crate::objects::Objects;
use crate::xml_api::XmlApi;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bucket over S3's interface, by paths (`/bucket/key`): ranges, `If-Match`, conditional puts, uploads in parts,
/// listings in pages. Credentials are taken as they come.
pub struct S3MemoryServer {
    address: SocketAddr,
    objects: Objects,
    requests: Arc<AtomicU64>,
    _background: Background,
}

impl S3MemoryServer {
    /// Starts a server of one bucket on so many threads; a listing's page has at most `page_max` names.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(
        bucket: &str,
        objects: Objects,
        page_max: usize,
        threads: usize,
    ) -> io::Result<S3MemoryServer> {
        let background = Background::start(threads)?;
        let api = XmlApi::new(bucket, objects.clone(), page_max, None);
        let requests = Arc::clone(&api.requests);
        let address = serve(&background, Versions::Http1, api)?;
        Ok(S3MemoryServer { address, objects, requests, _background: background })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint to set as S3's.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What is served; shared with the server.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Requests that were answered so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}
