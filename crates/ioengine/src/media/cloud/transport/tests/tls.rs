//! TLS: whom connections trust, and HTTP/2 by ALPN.

use super::certificates::Authority;
use super::server::{self, Server, handler, ok};
use super::{HttpVersion, Transport, TransportSettings};
use super::{fetch, get, send, settings, until};
use futures_util::future::join_all;
use http::Version;
use object_store::client::HttpErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn versions(authority: &Authority, protocols: &[&str], streams_max: Option<u32>) -> Server {
    let answer = handler(|request| async move { ok(format!("{:?}", request.version())) });
    server::tls(authority.acceptor("localhost", protocols), answer, streams_max).await
}

fn trusting(authority: &Authority, version: HttpVersion) -> Transport {
    let root_certificates = vec![Arc::clone(&authority.pem)];
    Transport::new(TransportSettings { root_certificates, ..settings(version) }).unwrap()
}

#[tokio::test]
async fn certificates_of_strangers_are_refused() {
    let authority = Authority::new();
    let server = versions(&authority, &["http/1.1"], None).await;
    let stranger = trusting(&Authority::new(), HttpVersion::Http1);
    let error = fetch(&stranger, &server.https("/?sig=secret")).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect);
    let message = error.to_string();
    assert!(message.contains("certificate") && !message.contains("secret"), "{message}");
    assert_eq!(stranger.stats().connections_opened, 0);
}

#[tokio::test]
async fn certificates_of_other_hosts_are_refused_and_any_is_taken_when_asked_for() {
    let authority = Authority::new();
    let answer = handler(|_| async { ok("x") });
    let server = server::tls(authority.acceptor("elsewhere", &[]), answer, None).await;
    let strict = trusting(&authority, HttpVersion::Auto);
    assert_eq!(fetch(&strict, &server.https("/")).await.unwrap_err().kind(), HttpErrorKind::Connect);
    let allow_invalid_certificates = true;
    let lax = TransportSettings { allow_invalid_certificates, ..settings(HttpVersion::Auto) };
    assert_eq!(fetch(&Transport::new(lax).unwrap(), &server.https("/")).await.unwrap(), "x");
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_a_failure_to_connect() {
    let server = server::raw(|stream, _| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let connect_timeout = std::time::Duration::from_millis(50);
    let own = TransportSettings { connect_timeout, connections_max: 1, ..settings(HttpVersion::Http1) };
    let transport = Transport::new(own).unwrap();
    for _ in 0..2 {
        let error = fetch(&transport, &server.https("/?sig=secret")).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Connect);
        assert!(error.to_string().contains("50ms") && !error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn roots_that_are_none_are_refused_at_once() {
    for pem in ["", "no pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        let root_certificates = vec![Arc::from(pem.as_bytes())];
        let refused = Transport::new(TransportSettings { root_certificates, ..settings(HttpVersion::Auto) });
        assert!(refused.is_err(), "{pem:?}");
    }
}

#[tokio::test]
async fn alpn_and_the_flag_decide_the_version() {
    let authority = Authority::new();
    let both = versions(&authority, &["h2", "http/1.1"], None).await;
    let old = versions(&authority, &["http/1.1"], None).await;
    let silent = versions(&authority, &[], None).await;
    for (version, server, expected) in [
        (HttpVersion::Http1, &both, Version::HTTP_11),
        (HttpVersion::Http2, &both, Version::HTTP_2),
        (HttpVersion::Http2, &old, Version::HTTP_11),
        (HttpVersion::Auto, &old, Version::HTTP_11),
        (HttpVersion::Auto, &silent, Version::HTTP_11),
    ] {
        let transport = trusting(&authority, version);
        let before = server.accepted();
        for _ in 0..3 {
            let answer = send(&transport, get(&server.https("/"))).await.unwrap();
            assert_eq!(answer.into_body().bytes().await.unwrap(), format!("{expected:?}"));
        }
        assert_eq!(server.accepted() - before, 1, "{version:?}");
        assert_eq!(transport.stats().http2_open, u64::from(expected == Version::HTTP_2));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_at_the_start_asks_a_server_once_which_http_it_speaks() {
    let authority = Authority::new();
    let server = versions(&authority, &["http/1.1"], None).await;
    let transport = trusting(&authority, HttpVersion::Auto);
    let url = server.https("/");
    let bodies = join_all((0..100).map(|_| fetch(&transport, &url))).await;
    assert!(bodies.into_iter().all(|body| body.unwrap() == "HTTP/1.1"));
    assert!(server.accepted() <= 16, "{}", server.accepted());
}

/// Loads a server that speaks both, and slows one of the protocols; returns which one is used in the end.
async fn settle(slow: Version) -> Version {
    let authority = Authority::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let slowed = Arc::clone(&asked);
    let answer = handler(move |request| {
        let slowed = Arc::clone(&slowed);
        async move {
            if request.version() == slow {
                slowed.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(std::time::Duration::from_millis(40)).await;
            }
            ok(format!("{:?}", request.version()))
        }
    });
    let server = server::tls(authority.acceptor("localhost", &["h2", "http/1.1"]), answer, None).await;
    let transport = trusting(&authority, HttpVersion::Auto);
    let url = server.https("/");
    for _ in 0..60 {
        for body in join_all((0..32).map(|_| fetch(&transport, &url))).await {
            body.unwrap();
        }
    }
    assert!(16 < asked.load(Ordering::SeqCst), "both were tried");
    let before = asked.load(Ordering::SeqCst);
    let last = join_all((0..32).map(|_| fetch(&transport, &url))).await;
    let used: Vec<_> = last.into_iter().map(|body| body.unwrap()).collect();
    assert!(used.iter().all(|version| *version == used[0]), "{used:?}");
    if used[0] == "HTTP/2.0" {
        assert_eq!(before, asked.load(Ordering::SeqCst));
        return Version::HTTP_2;
    }
    until(|| 0 < transport.stats().connections_open).await;
    Version::HTTP_11
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auto_leaves_http2_where_it_is_slower() {
    assert_eq!(settle(Version::HTTP_2).await, Version::HTTP_11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auto_keeps_http2_where_it_is_faster() {
    assert_eq!(settle(Version::HTTP_11).await, Version::HTTP_2);
}
