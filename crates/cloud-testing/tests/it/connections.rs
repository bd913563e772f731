//! swath over TLS, by either HTTP, through a proxy, and dropped while it reads.

use crate::raw::noise;
use crate::stand::{engine, within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use swath_cloud_testing::{
    Certificate, ConnectProxy, Fault, FaultProxy, Faults, Link, Objects, ProxyLogin, WebProtocol, WebServer,
};
use swath_ioengine::{
    ByteRange, CancelFlag, CloudMedium, CloudOptions, ErrorKind, FetchRequest, Medium, ObjectRef, RangeRead,
    RemoteStats, Reply, RunOptions,
};

const LEN: usize = 2_000_000;
const READS: u64 = 200;

fn medium(url: &str, set: &[(&str, &str)]) -> Medium {
    let mut options = CloudOptions::new();
    set.iter().for_each(|(name, value)| options.set(name, *value).unwrap());
    CloudMedium::open(url, &options).unwrap().medium
}

/// Reads ranges of `a`, too long to go together, and checks their bytes.
fn read(medium: &Medium) -> RemoteStats {
    let stored = noise(11, LEN);
    let len = 150_000;
    let reads: Vec<RangeRead> = (0..READS)
        .map(|index| RangeRead {
            object: 0,
            range: ByteRange::Bounded { offset: index * 7919 % (LEN as u64 - len), len },
        })
        .collect();
    let right = AtomicU64::new(0);
    let check = |index: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let ByteRange::Bounded { offset, len } = reads[index].range else { panic!("all are bounded") };
        let (from, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
        assert!(result.unwrap() == &stored[from..from + len]);
        right.fetch_add(1, Ordering::Relaxed);
    };
    let object = ObjectRef { medium: medium.clone(), key: "a".into() };
    engine(32).read_ranges(&[object], &reads, check, &RunOptions::default()).unwrap();
    assert_eq!(right.into_inner(), READS);
    medium.remote_stats().unwrap()
}

fn objects() -> Objects {
    let objects = Objects::new();
    objects.put("a", noise(11, LEN));
    objects
}

/// A certificate and a file that has it.
fn certificate() -> (Certificate, tempfile::TempDir, String) {
    let (certificate, folder) = (Certificate::self_signed().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    let path = file.to_str().unwrap().to_owned();
    (certificate, folder, path)
}

#[test]
fn both_kinds_of_http_over_tls() {
    within(Duration::from_secs(120), || {
        let (certificate, _folder, ca) = certificate();
        let both = WebServer::start(objects(), &WebProtocol::Http2Tls(certificate.clone()), 1).unwrap();
        let one = WebServer::start(objects(), &WebProtocol::Http1Tls(certificate), 1).unwrap();
        let few = ("concurrency", "32");
        let stats = read(&medium(&both.url(), &[("root_certificate", &ca), few]));
        assert_ne!(stats.connections_opened, 0);
        let stats = read(&medium(&both.url(), &[("root_certificate", &ca), few, ("http2_only", "true")]));
        assert!(stats.http2_open == stats.connections_open && stats.connections_opened <= 8, "{stats:?}");
        let stats = read(&medium(&both.url(), &[("root_certificate", &ca), few, ("http1_only", "true")]));
        assert!(stats.http2_open == 0 && stats.connections_opened <= 40, "{stats:?}");
        // A server that has only HTTP/1.1 is read by that, whatever was offered.
        let stats = read(&medium(&one.url(), &[("root_certificate", &ca), few]));
        assert_eq!(stats.http2_open, 0);
    });
}

#[test]
fn a_certificate_that_nobody_trusts_is_an_error() {
    within(Duration::from_secs(60), || {
        let (certificate, _folder, _) = certificate();
        let server = WebServer::start(objects(), &WebProtocol::Http2Tls(certificate), 1).unwrap();
        let object =
            ObjectRef { medium: medium(&server.url(), &[("retry_timeout", "500ms")]), key: "a".into() };
        let error = engine(1).read_object(&object, ByteRange::Bounded { offset: 0, len: 5 }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
        assert_eq!(server.requests(), 0);
        let trusting =
            medium(&server.url(), &[("allow_invalid_certificates", "true"), ("concurrency", "32")]);
        read(&trusting);
    });
}

#[test]
fn http2_by_prior_knowledge() {
    within(Duration::from_secs(60), || {
        let server = WebServer::start(objects(), &WebProtocol::Http1AndHttp2, 1).unwrap();
        let stats = read(&medium(&server.url(), &[("http2_only", "true")]));
        assert!(0 < stats.http2_open && stats.http2_open == stats.connections_open, "{stats:?}");
        let stats = read(&medium(&server.url(), &[("concurrency", "32")]));
        assert_eq!(stats.http2_open, 0);
    });
}

#[test]
fn through_a_proxy_that_wants_a_login() {
    within(Duration::from_secs(60), || {
        let (certificate, _folder, ca) = certificate();
        let login = ProxyLogin { user: "me".into(), password: "hidden".into() };
        let proxy = ConnectProxy::start(Some(&login)).unwrap();
        let server = WebServer::start(objects(), &WebProtocol::Http2Tls(certificate), 1).unwrap();
        let url = format!("http://me:hidden@{}", proxy.address());
        let stats = read(&medium(&server.url(), &[("root_certificate", &ca), ("proxy_url", &url)]));
        assert_eq!(proxy.tunnels(), stats.connections_opened);
        let object = ObjectRef {
            medium: medium(
                &server.url(),
                &[("root_certificate", &ca), ("proxy_url", &proxy.url()), ("retry_timeout", "500ms")],
            ),
            key: "a".into(),
        };
        let error = engine(1).read_object(&object, ByteRange::Bounded { offset: 0, len: 5 }).unwrap_err();
        assert!(error.to_string().contains("407") && !error.to_string().contains("hidden"), "{error}");
        assert_ne!(proxy.refused(), 0);
    });
}

/// Fetches whose engine, medium and flags are gone still end, and leave no request behind.
#[test]
fn an_engine_that_is_dropped_leaves_nothing_under_way() {
    within(Duration::from_secs(60), || {
        let server = WebServer::plain(objects()).unwrap();
        let proxy = FaultProxy::start(server.address(), Link::default()).unwrap();
        proxy.set_faults(Faults::always(Fault::StallBeforeAnswer(None)));
        let remote = medium(&proxy.url(), &[("stall_timeout", "60s")]);
        let object = ObjectRef { medium: remote.clone(), key: "a".into() };
        let engine = engine(20);
        let control = swath_ioengine::Control::new();
        let batch = control.clone();
        std::thread::scope(|scope| {
            let (object, owned) = (object.clone(), engine);
            let reading = scope.spawn(move || {
                let range =
                    |index: u64| ByteRange::Bounded { offset: index * 200_000 % 1_000_000, len: 150_000 };
                let reads: Vec<RangeRead> =
                    (0..20).map(|index| RangeRead { object: 0, range: range(index) }).collect();
                let options = RunOptions { control: batch, ..RunOptions::default() };
                let result = owned.read_ranges(&[object], &reads, |_, _| {}, &options);
                drop(owned);
                result.unwrap_err().kind()
            });
            while proxy.counts().in_flight < 10 {
                std::thread::yield_now();
            }
            control.cancel();
            assert_eq!(reading.join().unwrap(), ErrorKind::Cancelled);
        });
        // By itself, without an engine: the medium goes while its fetches are under way.
        let Medium::Remote(source) = &remote else { panic!("a URL is remote") };
        let (sender, receiver) = std::sync::mpsc::channel();
        let cancelled = CancelFlag::default();
        for offset in 0..10 {
            let range = ByteRange::Bounded { offset, len: 150_000 };
            let (key, sender) = ("a".into(), sender.clone());
            let reply = Reply::calling(move |result| sender.send(result).unwrap());
            source.fetch(FetchRequest { key, range, if_match: None, cancelled: cancelled.clone() }, reply);
        }
        drop((remote, object));
        cancelled.raise();
        for _ in 0..10 {
            assert_eq!(receiver.recv().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        }
        while 0 < proxy.counts().in_flight {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
