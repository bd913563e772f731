//! HTTP/1.1: reuse, bounds, cancelling, what breaks.

use super::server::{handler, ok, plain, raw, read_head, write};
use super::{HttpVersion, Transport, TransportSettings};
use super::{fetch, get, request, send, settings, transport, until, within};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Method, Response};
use http_body_util::{BodyExt, Full};
use object_store::client::HttpErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    let server = plain(handler(|request| async move { ok(request.uri().to_string()) })).await;
    let transport = transport(HttpVersion::Auto);
    for index in 0..20 {
        let path = format!("/{index}?q=1");
        assert_eq!(fetch(&transport, &server.url(&path)).await.unwrap(), path);
    }
    assert_eq!(server.accepted(), 1);
    let stats = transport.stats();
    assert_eq!((stats.connections_opened, stats.connections_open, stats.http2_open), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_bounded_and_all_callers_get_their_answer() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = plain(handler(move |request| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            ok(request.uri().path().to_owned())
        }
    }))
    .await;
    let transport =
        Transport::new(TransportSettings { connections_max: 3, ..settings(HttpVersion::Http1) }).unwrap();
    let urls: Vec<_> = (0..200).map(|index| server.url(&format!("/{index}"))).collect();
    let bodies = join_all(urls.iter().map(|url| fetch(&transport, url))).await;
    for (index, body) in bodies.into_iter().enumerate() {
        assert_eq!(body.unwrap(), format!("/{index}"));
    }
    assert!(seen.load(Ordering::SeqCst) <= 3 && server.accepted() <= 3, "{}", server.accepted());
}

#[tokio::test]
async fn callers_wait_in_order_for_the_one_connection() {
    let gate = Arc::new(Semaphore::new(0));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (held, seen) = (Arc::clone(&gate), Arc::clone(&order));
    let server = plain(handler(move |request| {
        let held = Arc::clone(&held);
        seen.lock().unwrap().push(request.uri().path().to_owned());
        async move {
            held.acquire().await.unwrap().forget();
            ok("x")
        }
    }))
    .await;
    let transport =
        Transport::new(TransportSettings { connections_max: 1, ..settings(HttpVersion::Http1) }).unwrap();
    let urls: Vec<_> = (0..5).map(|index| server.url(&format!("/{index}"))).collect();
    let all = join_all(urls.iter().map(|url| fetch(&transport, url)));
    let (bodies, ()) = tokio::join!(all, async { gate.add_permits(5) });
    assert!(bodies.into_iter().all(|body| body.is_ok()));
    assert_eq!(*order.lock().unwrap(), ["/0", "/1", "/2", "/3", "/4"]);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn dropped_bodies_and_calls_close_their_connections_and_free_their_places() {
    let large = Bytes::from(vec![7; 4 << 20]);
    let stuck = handler(move |request| {
        let large = large.clone();
        async move {
            if request.uri().path() == "/never" {
                std::future::pending::<()>().await;
            }
            ok(large)
        }
    });
    let server = plain(stuck).await;
    let transport =
        Transport::new(TransportSettings { connections_max: 2, ..settings(HttpVersion::Http1) }).unwrap();
    for _ in 0..10 {
        let mut body = send(&transport, get(&server.url("/large"))).await.unwrap().into_body();
        assert!(within(body.frame()).await.unwrap().is_ok());
        drop(body);
        let url = server.url("/never");
        let mut call = Box::pin(send(&transport, get(&url)));
        let before = server.accepted();
        until(|| futures_util::FutureExt::now_or_never(&mut call).is_none() && before < server.accepted())
            .await;
        drop(call);
    }
    until(|| transport.stats().connections_open == 0 && server.open() == 0).await;
    assert_eq!(transport.stats().connections_opened, 20);
    assert_eq!(fetch(&transport, &server.url("/large")).await.unwrap().len(), 4 << 20);
}

#[test]
fn a_body_may_be_dropped_outside_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(plain(handler(|request| async move {
        let size = request.uri().path().trim_start_matches('/').parse().unwrap();
        ok(vec![7; size])
    })));
    let transport = transport(HttpVersion::Http1);
    for size in [100, 10 << 20] {
        let url = server.url(&format!("/{size}"));
        let body = runtime.block_on(send(&transport, get(&url))).unwrap().into_body();
        drop(body);
    }
    runtime.block_on(until(|| transport.stats().connections_open <= 1));
}

#[tokio::test]
async fn little_that_is_left_is_drained_and_the_connection_kept() {
    let server = plain(handler(|_| async { ok(vec![7; 1000]) })).await;
    let transport =
        Transport::new(TransportSettings { connections_max: 1, ..settings(HttpVersion::Http1) }).unwrap();
    for _ in 0..5 {
        drop(send(&transport, get(&server.url("/"))).await.unwrap());
    }
    assert_eq!(fetch(&transport, &server.url("/")).await.unwrap().len(), 1000);
    assert_eq!(server.accepted(), 1);
}

/// Answers one request a connection, and closes that without a word when the next one comes.
async fn forgetful() -> super::server::Server {
    raw(|mut stream, _| async move {
        if !read_head(&mut stream).await.is_empty() {
            write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            read_head(&mut stream).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_request_that_a_kept_connection_swallowed_is_sent_again() {
    let server = forgetful().await;
    let transport = transport(HttpVersion::Http1);
    for _ in 0..5 {
        assert_eq!(fetch(&transport, &server.url("/")).await.unwrap(), "ok");
    }
    assert_eq!(server.accepted(), 5);
    let error = send(&transport, request(Method::POST, &server.url("/"), "x".into())).await;
    assert_eq!(error.map(drop).unwrap_err().kind(), HttpErrorKind::Interrupted);
    assert_eq!(server.accepted(), 5);
}

#[tokio::test]
async fn a_put_is_sent_again_with_its_body() {
    let bodies = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let server = raw(move |mut stream, number| {
        let seen = Arc::clone(&seen);
        async move {
            for _ in 0..if number == 0 { 1 } else { 2 } {
                let head = read_head(&mut stream).await;
                let mut body = [0; 4];
                drop(tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await);
                seen.lock().unwrap().push((head.contains("ontent-length: 4"), body));
                write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
            read_head(&mut stream).await;
        }
    })
    .await;
    let transport = transport(HttpVersion::Http1);
    for _ in 0..2 {
        let answer = send(&transport, request(Method::PUT, &server.url("/"), "body".into())).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(*bodies.lock().unwrap(), [(true, *b"body"); 2]);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_fresh_connection_that_says_nothing_is_an_error() {
    let server = raw(|mut stream, _| async move { drop(read_head(&mut stream).await) }).await;
    let transport = transport(HttpVersion::Http1);
    let error = fetch(&transport, &server.url("/?sig=secret")).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Interrupted);
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn bodies_that_break_or_are_short_are_interrupted() {
    let server = raw(|mut stream, _| async move {
        let head = read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it").await;
        if head.contains("/reset") {
            // The client has the first bytes before it is reset.
            drop(tokio::time::timeout(Duration::from_millis(50), read_head(&mut stream)).await);
            stream.set_zero_linger().unwrap();
        } else {
            drop(stream.shutdown().await);
        }
    })
    .await;
    let transport = transport(HttpVersion::Http1);
    for path in ["/reset?sig=secret", "/short?sig=secret"] {
        let error = fetch(&transport, &server.url(path)).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Interrupted, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    until(|| transport.stats().connections_open == 0).await;
}

#[tokio::test]
async fn nobody_there_is_a_failure_to_connect() {
    let server = plain(handler(|_| async { ok("") })).await;
    let url = server.url("/?sig=secret");
    drop(server);
    let transport = transport(HttpVersion::Http1);
    let error = within(async {
        loop {
            // The listener closes when its task is dropped, which is soon.
            if let Err(error) = fetch(&transport, &url).await {
                break error;
            }
        }
    })
    .await;
    assert_eq!(error.kind(), HttpErrorKind::Connect);
    assert!(!error.to_string().contains("secret") && error.to_string().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn unused_connections_are_closed() {
    let server = plain(handler(|_| async { ok("x") })).await;
    let idle_timeout = Duration::from_millis(20);
    let transport =
        Transport::new(TransportSettings { idle_timeout, ..settings(HttpVersion::Http1) }).unwrap();
    fetch(&transport, &server.url("/")).await.unwrap();
    until(|| server.open() == 0).await;
    assert_eq!(transport.stats().connections_open, 0);
    fetch(&transport, &server.url("/")).await.unwrap();
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn the_agent_is_sent_unless_the_request_has_its_own() {
    let server = plain(handler(|request| async move {
        let value =
            |name: &str| request.headers().get(name).map_or("-".into(), |v| v.to_str().unwrap().to_owned());
        ok(format!("{} {}", value("host"), value("user-agent")))
    }))
    .await;
    let own = TransportSettings { user_agent: Some("agent".into()), ..settings(HttpVersion::Http1) };
    let transport = Transport::new(own).unwrap();
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(fetch(&transport, &server.url("/")).await.unwrap(), format!("{host} agent"));
    let mut request = get(&server.url("/"));
    request.headers_mut().insert("user-agent", "mine".parse().unwrap());
    let body = send(&transport, request).await.unwrap().into_body().bytes().await.unwrap();
    assert_eq!(body, format!("{host} mine"));
}

#[tokio::test]
async fn heads_alone_give_the_connection_back() {
    let server = plain(handler(|request| async move {
        if request.uri().path() == "/304" {
            return Response::builder().status(304).body(Full::default()).unwrap();
        }
        ok(vec![1; 5000])
    }))
    .await;
    let transport = transport(HttpVersion::Http1);
    let mut kept = Vec::new();
    for (method, path) in
        [(Method::HEAD, "/"), (Method::GET, "/304"), (Method::HEAD, "/"), (Method::GET, "/304")]
    {
        // The answers are kept, unread: nothing of them is left on the connection.
        kept.push(send(&transport, request(method, &server.url(path), Bytes::new())).await.unwrap());
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_made_ahead_of_requests_where_some_lack() {
    let gate = Arc::new(Semaphore::new(1));
    let held = Arc::clone(&gate);
    let server = plain(handler(move |request| {
        let held = Arc::clone(&held);
        async move {
            held.acquire().await.unwrap().forget();
            ok(request.uri().path().to_owned())
        }
    }))
    .await;
    let transport =
        Transport::new(TransportSettings { connections_max: 12, ..settings(HttpVersion::Http1) }).unwrap();
    let name = server.url("");
    // Nothing is opened to a server that nobody asked anything yet.
    assert!(!transport.lacks(&name, 8));
    fetch(&transport, &server.url("/first")).await.unwrap();
    assert!(transport.lacks(&name, 8));
    transport.prepare(&name, 8);
    until(|| server.accepted() == 8 && transport.stats().connections_open == 8).await;
    assert!(!transport.lacks(&name, 8));
    // They are what requests go by, and those in use count.
    let urls: Vec<_> = (0..8).map(|index| server.url(&format!("/{index}"))).collect();
    let fetches = join_all(urls.iter().map(|url| fetch(&transport, url)));
    let more = async {
        transport.prepare(&name, 8);
        gate.add_permits(8);
    };
    let (bodies, ()) = tokio::join!(fetches, more);
    assert!(bodies.iter().all(Result::is_ok));
    assert_eq!(server.accepted(), 8);
    // No more than there may be.
    transport.prepare(&name, 100);
    until(|| server.accepted() == 12).await;
    assert_eq!(transport.stats().connections_opened, 12);
}
