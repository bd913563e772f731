//! swath in front of each server, through a fault proxy.

use bytes::Bytes;
use std::sync::mpsc;
use std::time::Duration;
use swath_cloud_testing::{
    AzureServer, FaultProxy, GcsServer, Link, Objects, S3_ACCESS_KEY, S3_SECRET_KEY, S3MemoryServer,
    S3Server, WebServer,
};
use swath_ioengine::{CloudMedium, CloudOptions, Engine, EngineConfig, Limits, Medium, ObjectRef};
use swath_zarr_front::Store;

/// Names in one page of a listing: few, so that listings have several pages.
const PAGE_NAMES: usize = 10;

enum Server {
    S3(S3Server),
    Memory(S3MemoryServer),
    Gcs(GcsServer),
    Azure(AzureServer),
    Web(WebServer),
}

/// A server behind a proxy, and the location that leads there.
pub(crate) struct Stand {
    pub(crate) name: &'static str,
    pub(crate) proxy: FaultProxy,
    pub(crate) medium: Medium,
    url: String,
    options: CloudOptions,
    server: Server,
}

/// True when every server and every read is asked for (`SWATH_CLOUD_TESTS=all`), and not what takes no long time.
pub(crate) fn all() -> bool {
    std::env::var_os("SWATH_CLOUD_TESTS").is_some_and(|value| value == "all")
}

/// The servers that start at once and answer fast.
pub(crate) fn fast(link: Link, extra: &[(&str, &str)]) -> Vec<Stand> {
    vec![s3(link, extra), memory(link, extra), gcs(link, extra), web(link, extra)]
}

/// Every server. Says so where the Azure emulator is not installed.
pub(crate) fn every(link: Link, extra: &[(&str, &str)]) -> Vec<Stand> {
    let mut stands = fast(link, extra);
    match azure(link, extra) {
        Some(azure) => stands.push(azure),
        None => eprintln!("skipped Azure: the emulator is not installed (scripts/install-azurite)"),
    }
    stands
}

pub(crate) fn s3(link: Link, extra: &[(&str, &str)]) -> Stand {
    let server = S3Server::start("bucket").unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    stand("s3", "s3://bucket", &s3_options(&proxy.url()), extra, proxy, Server::S3(server))
}

pub(crate) fn memory(link: Link, extra: &[(&str, &str)]) -> Stand {
    let server = S3MemoryServer::start("bucket", Objects::new(), PAGE_NAMES, 1).unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    stand("s3 in memory", "s3://bucket", &s3_options(&proxy.url()), extra, proxy, Server::Memory(server))
}

pub(crate) fn gcs(link: Link, extra: &[(&str, &str)]) -> Stand {
    let server = GcsServer::start("bucket", Objects::new(), PAGE_NAMES, Some("bearer")).unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    let options = [("endpoint", proxy.url()), ("token", "bearer".to_owned())];
    stand("gcs", "gs://bucket", &options, extra, proxy, Server::Gcs(server))
}

pub(crate) fn azure(link: Link, extra: &[(&str, &str)]) -> Option<Stand> {
    let server = AzureServer::start().unwrap()?;
    server.create_container("bucket").unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    let options = [
        ("account_name", AzureServer::ACCOUNT.to_owned()),
        ("account_key", AzureServer::KEY.to_owned()),
        ("endpoint", format!("{}/{}", proxy.url(), AzureServer::ACCOUNT)),
    ];
    Some(stand("azure", "az://bucket", &options, extra, proxy, Server::Azure(server)))
}

pub(crate) fn web(link: Link, extra: &[(&str, &str)]) -> Stand {
    let server = WebServer::plain(Objects::new()).unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    let url = proxy.url();
    stand("web", &url, &[], extra, proxy, Server::Web(server))
}

fn s3_options(endpoint: &str) -> [(&'static str, String); 4] {
    [
        ("endpoint", endpoint.to_owned()),
        ("access_key_id", S3_ACCESS_KEY.to_owned()),
        ("secret_access_key", S3_SECRET_KEY.to_owned()),
        ("region", "us-east-1".to_owned()),
    ]
}

fn stand(
    name: &'static str,
    url: &str,
    options: &[(&str, String)],
    extra: &[(&str, &str)],
    proxy: FaultProxy,
    server: Server,
) -> Stand {
    let mut set = CloudOptions::new();
    options.iter().for_each(|(name, value)| set.set(name, value.clone()).unwrap());
    extra.iter().for_each(|(name, value)| set.set(name, *value).unwrap());
    let medium = CloudMedium::open(url, &set).unwrap().medium;
    Stand { name, proxy, medium, url: url.to_owned(), options: set, server }
}

impl Stand {
    /// Writes an object behind swath's back.
    pub(crate) fn put(&self, key: &str, bytes: Vec<u8>) {
        match &self.server {
            Server::S3(server) => server.put(key, bytes).unwrap(),
            Server::Azure(server) => server.put("bucket", key, &bytes).unwrap(),
            Server::Memory(server) => server.objects().put(key, bytes),
            Server::Gcs(server) => server.objects().put(key, bytes),
            Server::Web(server) => server.objects().put(key, bytes),
        }
    }

    pub(crate) fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium.clone(), key: key.into() }
    }

    /// Where users find an object.
    pub(crate) fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    /// How users reach the server.
    pub(crate) fn options(&self) -> &CloudOptions {
        &self.options
    }

    /// What lies below a prefix, as users open it.
    pub(crate) fn store(&self, prefix: &str) -> Store {
        Store::open(&format!("{}/{prefix}", self.url), &self.options).unwrap()
    }

    /// What a server in memory serves, to change it from within a fault.
    pub(crate) fn objects(&self) -> Option<Objects> {
        match &self.server {
            Server::Memory(server) => Some(server.objects().clone()),
            Server::Gcs(server) => Some(server.objects().clone()),
            Server::Web(server) => Some(server.objects().clone()),
            Server::S3(_) | Server::Azure(_) => None,
        }
    }

    pub(crate) fn writes(&self) -> bool {
        !matches!(self.server, Server::Web(_))
    }
}

/// An engine that merges nothing and reads nothing on the calling thread: each read is a request.
pub(crate) fn engine(in_flight: usize) -> Engine {
    let limits = Limits {
        lanes: 1,
        inline_reads_max: 0,
        remote_merged_parts_max: 1,
        remote_depth: in_flight,
        ..Limits::default()
    };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// Runs a test on a thread of its own and fails it where it takes longer.
pub(crate) fn within<T: Send + 'static>(time: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(time) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("still running after {time:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panicked) => std::panic::resume_unwind(panicked),
            Ok(()) => panic!("the test's thread ended without a result"),
        },
    }
}

pub(crate) fn bytes(text: &'static [u8]) -> Bytes {
    Bytes::from_static(text)
}
