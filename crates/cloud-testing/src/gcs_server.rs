//! A server with Google Cloud Storage's XML interface.

use crate::background::Background;
use crate::http_server::{Versions, serve};
use crate::objects::Objects;
use crate::xml_api::XmlApi;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bucket over Google's XML interface (`/bucket/key`): entity tags and generations, ranges, writes on condition of a
/// generation, uploads in parts, listings in pages.
pub struct GcsServer {
    address: SocketAddr,
    objects: Objects,
    requests: Arc<AtomicU64>,
    _background: Background,
}

impl GcsServer {
    /// Starts a server of one bucket. Requests without the bearer token, where one is given, are answered with 401. A
    /// listing's page has at most `page_max` names.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(
        bucket: &str,
        objects: Objects,
        page_max: usize,
        token: Option<&str>,
    ) -> io::Result<GcsServer> {
        let background = Background::start(1)?;
        let api = XmlApi::new(bucket, objects.clone(), page_max, token.map(str::to_owned));
        let requests = Arc::clone(&api.requests);
        let address = serve(&background, Versions::Http1, api)?;
        Ok(GcsServer { address, objects, requests, _background: background })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to set as the service's base URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A service account's key file, as JSON, that leads every client here and asks for no token.
    pub fn service_account(&self) -> String {
        format!(
            r#"{{"gcs_base_url":"{}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#,
            self.endpoint()
        )
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
