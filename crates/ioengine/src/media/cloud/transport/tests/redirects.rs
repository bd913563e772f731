//! Redirects, followed.

use super::HttpVersion;
use super::server::{Answer, Server, handler, ok, plain};
use super::{get, request, send, transport};
use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;
use object_store::client::HttpErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn redirect(status: u16, location: &str) -> Answer {
    Response::builder().status(status).header("location", location).body(Full::default()).unwrap()
}

/// Tells which headers a request came with.
async fn telling() -> Server {
    plain(handler(|request| async move {
        let mut names: Vec<_> = request.headers().keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        ok(format!("{} {}", request.uri(), names.join(" ")))
    }))
    .await
}

fn with_credentials(url: &str) -> object_store::client::HttpRequest {
    let mut request = get(url);
    for name in ["authorization", "x-amz-security-token", "cookie", "range"] {
        request.headers_mut().insert(name, "bytes=0-1".parse().unwrap());
    }
    request
}

#[tokio::test]
async fn credentials_go_no_further_than_their_server() {
    let end = telling().await;
    let target = end.url("/end?x=1");
    let start = plain(handler(move |request| {
        let target = target.clone();
        async move {
            match request.uri().path() {
                "/away" => redirect(307, &target),
                "/round" => redirect(302, "stay?y=2"),
                _ => ok(format!("{} {}", request.uri(), request.headers().contains_key("authorization"))),
            }
        }
    }))
    .await;
    let transport = transport(HttpVersion::Auto);
    let body = async |path: &str| {
        let answer = send(&transport, with_credentials(&start.url(path))).await.unwrap();
        answer.into_body().bytes().await.unwrap()
    };
    assert_eq!(body("/round").await, "/stay?y=2 true");
    assert_eq!(body("/away").await, "/end?x=1 host range user-agent");
    assert_eq!((start.accepted(), end.accepted()), (1, 1));
}

#[tokio::test]
async fn redirects_end_after_ten() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = plain(handler(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { redirect(301, "/again?sig=secret") }
    }))
    .await;
    let error = send(&transport(HttpVersion::Auto), get(&server.url("/"))).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Request);
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 11);
}

#[tokio::test]
async fn writes_are_not_redirected() {
    let server = plain(handler(|_| async { redirect(307, "/elsewhere") })).await;
    let put = request(Method::PUT, &server.url("/"), Bytes::from_static(b"x"));
    assert_eq!(send(&transport(HttpVersion::Auto), put).await.unwrap().status(), 307);
}
