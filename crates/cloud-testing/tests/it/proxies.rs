//! The proxies, by requests as bytes.

use crate::raw::{Came, get, noise, send};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use swath_cloud_testing::{
    ConnectProxy, Delay, Fault, FaultProxy, Faults, Link, Objects, ProxyLogin, Splice, SpliceConfig,
    WebServer,
};

const LEN: usize = 100_000;

struct Stand {
    bytes: Vec<u8>,
    proxy: FaultProxy,
    server: WebServer,
}

fn stand(link: Link) -> Stand {
    let bytes = noise(5, LEN);
    let objects = Objects::new();
    objects.put("a", bytes.clone());
    let server = WebServer::plain(objects).unwrap();
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    Stand { bytes, proxy, server }
}

impl Stand {
    fn with(&self, fault: Fault) -> Came {
        self.proxy.set_faults(Faults::next(1, fault));
        get(self.proxy.address(), "/a", "Range: bytes=1000-1999\r\n")
    }

    fn wanted(&self) -> &[u8] {
        &self.bytes[1000..2000]
    }
}

#[test]
fn without_faults_nothing_changes() {
    let stand = stand(Link::default());
    let direct = get(stand.server.address(), "/a", "Range: bytes=1000-1999\r\n");
    let proxied = get(stand.proxy.address(), "/a", "Range: bytes=1000-1999\r\n");
    assert_eq!(direct.body(), proxied.body());
    let names = ["etag", "content-length", "content-range", "last-modified"];
    assert_eq!(names.map(|name| direct.header(name)), names.map(|name| proxied.header(name)));
    let counts = stand.proxy.counts();
    assert_eq!((counts.requests, counts.in_flight_max, counts.connections), (1, 1, 1));
    assert_eq!(counts.seen[0].range.as_deref(), Some("bytes=1000-1999"));
    assert_eq!(counts.bytes_to_clients, proxied.bytes.len() as u64);
    let whole = get(stand.proxy.address(), "/a", "");
    assert!(whole.body() == stand.bytes);
    let two = "GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-0\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert!(send(stand.proxy.address(), two).bytes.ends_with(&stand.bytes));
    assert_eq!(stand.proxy.counts().connections, 3);
}

#[test]
fn statuses_and_redirects_take_the_answers_place() {
    let stand = stand(Link::default());
    for (status, retry_after) in [(429, Some(3)), (500, None), (503, Some(0))] {
        let came = stand.with(Fault::Status { status, retry_after });
        assert_eq!(came.status(), status);
        assert_eq!(came.header("retry-after"), retry_after.map(|seconds| seconds.to_string()));
        assert_eq!(came.body(), b"");
    }
    let port = stand.proxy.address().port();
    let came = stand.with(Fault::RedirectToOtherHost(307));
    assert_eq!(
        (came.status(), came.header("location").unwrap()),
        (307, format!("http://localhost:{port}/a"))
    );
    let came = stand.with(Fault::RedirectToItself(302));
    assert_eq!(
        (came.status(), came.header("location").unwrap()),
        (302, format!("http://127.0.0.1:{port}/a"))
    );
    assert_eq!(stand.server.requests(), 0);
}

#[test]
fn connections_break() {
    let stand = stand(Link::default());
    let came = stand.with(Fault::ResetBeforeAnswer);
    assert_eq!((came.bytes.len(), came.error), (0, Some(ErrorKind::ConnectionReset)));
    let came = stand.with(Fault::EmptyAnswer);
    assert_eq!((came.bytes.len(), came.error), (0, None));
    let came = stand.with(Fault::GarbageStatusLine);
    assert!(came.bytes.starts_with(b"\x01\x02"));
    let came = stand.with(Fault::ResetInBody(500));
    assert_eq!(came.error, Some(ErrorKind::ConnectionReset));
    let came = stand.with(Fault::CloseInBody(250));
    assert_eq!((came.body(), came.error), (&stand.wanted()[..250], None));
    let came = stand.with(Fault::TruncatedChunks(500));
    assert_eq!(came.header("transfer-encoding").unwrap(), "chunked");
    assert!((501..600).contains(&came.body().len()) && !came.body().ends_with(b"0\r\n\r\n"));
}

#[test]
fn stalls_end_or_do_not() {
    let stand = stand(Link::default());
    for fault in [Fault::StallInBody(500, None), Fault::StallBeforeAnswer(None)] {
        let came = stand.with(fault);
        assert_eq!(came.error, Some(ErrorKind::WouldBlock));
        assert!(came.body().len() <= 500);
    }
    let stall = Some(Duration::from_millis(100));
    for fault in [
        Fault::StallInBody(500, stall),
        Fault::StallBeforeAnswer(stall),
        Fault::Delay(Duration::from_millis(100)),
        Fault::SlowBody(10_000),
    ] {
        let start = Instant::now();
        assert_eq!(stand.with(fault.clone()).body(), stand.wanted(), "{fault:?}");
        assert!(Duration::from_millis(90) <= start.elapsed());
    }
}

#[test]
fn answers_lie() {
    let stand = stand(Link::default());
    let came = stand.with(Fault::LengthTooLong(7));
    assert_eq!((came.header("content-length").unwrap().as_str(), came.body()), ("1007", stand.wanted()));
    let came = stand.with(Fault::LengthTooShort(7));
    assert_eq!((came.header("content-length").unwrap().as_str(), came.body()), ("993", stand.wanted()));
    let came = stand.with(Fault::ShortRange(5));
    assert_eq!(came.header("content-range").unwrap(), "bytes 1000-1994/100000");
    assert_eq!(
        (came.header("content-length").unwrap().as_str(), came.body()),
        ("995", &stand.wanted()[..995])
    );
    let came = stand.with(Fault::WrongContentRange);
    assert_eq!(came.header("content-range").unwrap(), "bytes 2000-2999/100000");
    assert_eq!(came.body(), stand.wanted());
    let came = stand.with(Fault::IgnoredRange);
    assert_eq!((came.status(), came.body().len(), came.header("content-range")), (200, LEN, None));
    assert_eq!(&came.body()[1000..2000], stand.wanted());
    assert_eq!(came.body()[999], 0xa5);
    let right = stand.with(Fault::Delay(Duration::ZERO)).header("etag").unwrap();
    assert_ne!(stand.with(Fault::ChangedEtag).header("etag").unwrap(), right);
    assert_eq!(stand.proxy.counts().faults["changed etag"], 1);
}

#[test]
fn latency_and_width() {
    let link = Link {
        latency: Duration::from_millis(50),
        jitter: Duration::from_millis(5),
        bytes_per_second: Some(1_000_000),
        bytes_per_second_each: None,
    };
    let stand = stand(link);
    let start = Instant::now();
    let came = get(stand.proxy.address(), "/a", "");
    assert!(came.body() == stand.bytes);
    // 50 ms, and 100 ms for 100,000 bytes less what may be caught up with.
    assert!(Duration::from_millis(145) <= start.elapsed(), "{:?}", start.elapsed());
}

#[test]
fn a_splice_carries_many_connections_later() {
    let stand = stand(Link::default());
    let latency = Duration::from_millis(40);
    for delay in [Delay::EachWayHalf, Delay::ToServer] {
        let config = SpliceConfig { latency, delay, ..SpliceConfig::default() };
        let splice = Arc::new(Splice::start(stand.server.address(), config).unwrap());
        let bytes = Arc::new(stand.bytes.clone());
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let (splice, bytes) = (Arc::clone(&splice), Arc::clone(&bytes));
                std::thread::spawn(move || {
                    let start = Instant::now();
                    assert!(get(splice.address(), "/a", "").body() == *bytes);
                    assert!(latency <= start.elapsed());
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let counts = splice.counts();
        assert_eq!(counts.connections, 20);
        assert!(20 * LEN as u64 <= counts.bytes_to_clients);
    }
}

#[test]
fn a_splice_has_one_width_for_all() {
    let stand = stand(Link::default());
    let config = SpliceConfig { bytes_per_second: Some(5_000_000), ..SpliceConfig::default() };
    let splice = Splice::start(stand.server.address(), config).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert!(get(splice.address(), "/a", "").body() == stand.bytes));
        }
    });
    // 1 MB at 5 MB/s, less what may be caught up with.
    assert!(Duration::from_millis(195) <= start.elapsed(), "{:?}", start.elapsed());
}

#[test]
fn a_connect_proxy_tunnels_for_those_who_may() {
    let stand = stand(Link::default());
    let login = ProxyLogin { user: "me".into(), password: "secret".into() };
    let proxy = ConnectProxy::start(Some(&login)).unwrap();
    let target = stand.server.address();
    let refused = send(proxy.address(), &format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    assert_eq!(refused.status(), 407);
    let inside = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let login = "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n";
    let came = send(proxy.address(), &format!("CONNECT {target} HTTP/1.1\r\n{login}\r\n{inside}"));
    assert_eq!(came.status(), 200);
    assert!(came.bytes.ends_with(&stand.bytes));
    assert_eq!((proxy.tunnels(), proxy.refused()), (1, 1));
    assert_eq!(send(proxy.address(), &format!("GET / HTTP/1.1\r\n{login}\r\n")).status(), 405);
}
