//! HTTP/2: connections and streams, cancelling, what breaks.

use super::certificates::Authority;
use super::server::{self, h2c, handler, ok, raw};
use super::{HttpVersion, Transport, TransportSettings};
use super::{fetch, get, request, send, settings, transport, until, within};
use futures_util::future::join_all;
use http::Method;
use http_body_util::BodyExt;
use object_store::client::HttpErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

#[tokio::test]
async fn without_tls_http2_is_known_beforehand() {
    let server = h2c(handler(|request| async move {
        let authority = request.uri().authority().unwrap().clone();
        let body = http_body_util::BodyExt::collect(request.into_body()).await.unwrap().to_bytes();
        ok(format!("{authority} {}", String::from_utf8_lossy(&body)))
    }))
    .await;
    let transport = transport(HttpVersion::Http2);
    for _ in 0..5 {
        let answer = send(&transport, request(Method::PUT, &server.url("/"), "text".into())).await.unwrap();
        let body = answer.into_body().bytes().await.unwrap();
        assert_eq!(body, format!("127.0.0.1:{} text", server.port));
    }
    assert_eq!(server.accepted(), 1);
    assert_eq!(transport.stats().http2_open, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_spread_over_several_connections_and_no_more() {
    let gate = Arc::new(Semaphore::new(0));
    let arrived = Arc::new(AtomicUsize::new(0));
    let (held, counted) = (Arc::clone(&gate), Arc::clone(&arrived));
    let server = h2c(handler(move |request| {
        let held = Arc::clone(&held);
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            drop(held.acquire().await.unwrap());
            ok(request.uri().path().to_owned())
        }
    }))
    .await;
    let transport = transport(HttpVersion::Http2);
    let urls: Vec<_> = (0..300).map(|index| server.url(&format!("/{index}"))).collect();
    let all = join_all(urls.iter().map(|url| fetch(&transport, url)));
    let (bodies, ()) = tokio::join!(all, async {
        until(|| arrived.load(Ordering::SeqCst) == 300).await;
        gate.add_permits(1);
    });
    for (index, body) in bodies.into_iter().enumerate() {
        assert_eq!(body.unwrap(), format!("/{index}"));
    }
    // Once more, with connections in place for the load.
    join_all(urls.iter().map(|url| fetch(&transport, url))).await;
    assert!((2..=8).contains(&server.accepted()), "{}", server.accepted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_few_streams_is_kept_to_them() {
    let authority = Authority::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let answer = handler(move |_| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            ok("x")
        }
    });
    let server = server::tls(authority.acceptor("localhost", &["h2"]), answer, Some(4)).await;
    let root_certificates = vec![Arc::clone(&authority.pem)];
    let own = TransportSettings { root_certificates, connections_max: 2, ..settings(HttpVersion::Http2) };
    let transport = Transport::new(own).unwrap();
    let url = server.https("/");
    let bodies = join_all((0..200).map(|_| fetch(&transport, &url))).await;
    for body in bodies {
        assert_eq!(body.unwrap(), "x");
    }
    assert!(seen.load(Ordering::SeqCst) <= 8 && server.accepted() <= 2);
}

#[tokio::test]
async fn dropped_bodies_and_calls_reset_their_streams_only() {
    let server = h2c(handler(|request| async move {
        match request.uri().path() {
            "/never" => std::future::pending().await,
            _ => ok(vec![7; 4 << 20]),
        }
    }))
    .await;
    let transport = transport(HttpVersion::Http2);
    for _ in 0..100 {
        let mut body = send(&transport, get(&server.url("/"))).await.unwrap().into_body();
        assert!(within(body.frame()).await.unwrap().is_ok());
        drop(body);
        let mut call = Box::pin(send(&transport, get(&server.url("/never"))));
        assert!(futures_util::FutureExt::now_or_never(&mut call).is_none());
        tokio::task::yield_now().await;
        drop(call);
    }
    assert_eq!(fetch(&transport, &server.url("/")).await.unwrap().len(), 4 << 20);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn unused_connections_are_closed() {
    let server = h2c(handler(|_| async { ok("x") })).await;
    let own = TransportSettings { idle_timeout: Duration::from_millis(20), ..settings(HttpVersion::Http2) };
    let transport = Transport::new(own).unwrap();
    fetch(&transport, &server.url("/")).await.unwrap();
    until(|| server.open() == 0 && transport.stats().connections_open == 0).await;
    fetch(&transport, &server.url("/")).await.unwrap();
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_lost_connection_is_replaced() {
    let lose = Arc::new(Semaphore::new(0));
    let losing = Arc::clone(&lose);
    let server = raw(move |stream, number| {
        let losing = Arc::clone(&losing);
        async move {
            let served = server::serve_http2(stream, handler(|_| async { ok("x") }), None);
            if number == 0 {
                tokio::select! {
                    () = served => {}
                    _ = losing.acquire() => {}
                }
            } else {
                served.await;
            }
        }
    })
    .await;
    let transport = transport(HttpVersion::Http2);
    assert_eq!(fetch(&transport, &server.url("/")).await.unwrap(), "x");
    lose.add_permits(1);
    until(|| server.open() == 0).await;
    assert_eq!(fetch(&transport, &server.url("/")).await.unwrap(), "x");
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_connection_that_fell_silent_gets_no_further_requests() {
    let server = raw(move |mut stream, number| async move {
        if number == 0 {
            // Takes all that is sent, and never says a word.
            drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await);
        } else {
            server::serve_http2(stream, handler(|_| async { ok("x") }), None).await;
        }
    })
    .await;
    let transport = transport(HttpVersion::Http2);
    let url = server.url("/");
    let patience = Duration::from_millis(1100);
    assert!(timeout(patience, fetch(&transport, &url)).await.is_err());
    assert_eq!(fetch(&transport, &url).await.unwrap(), "x");
    assert_eq!(server.accepted(), 2);
    until(|| server.open() == 1).await;
}

#[tokio::test]
async fn a_connection_whose_requests_are_given_up_early_stays() {
    let server = h2c(handler(|request| async move {
        if request.uri().path() == "/never" {
            return std::future::pending().await;
        }
        ok("x")
    }))
    .await;
    let transport = transport(HttpVersion::Http2);
    let url = server.url("/never");
    for _ in 0..3 {
        let never = fetch(&transport, &url);
        assert!(timeout(Duration::from_millis(20), never).await.is_err());
        assert_eq!(fetch(&transport, &server.url("/")).await.unwrap(), "x");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_server_that_speaks_no_http2_is_an_error() {
    let server = server::plain(handler(|_| async { ok("x") })).await;
    let error = fetch(&transport(HttpVersion::Http2), &server.url("/?sig=secret")).await.unwrap_err();
    assert!(matches!(error.kind(), HttpErrorKind::Interrupted | HttpErrorKind::Connect), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");
}
