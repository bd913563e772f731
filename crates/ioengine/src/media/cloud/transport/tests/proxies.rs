//! Tunnels through proxies.

use super::certificates::Authority;
use super::server::{self, Server, handler, ok, plain, raw, read_head, write};
use super::{HttpVersion, ProxySettings, Transport, TransportSettings};
use super::{fetch, settings};
use object_store::client::HttpErrorKind;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;

type Heads = Arc<Mutex<Vec<String>>>;

/// A proxy for those who say the word, and the heads that it got.
async fn proxy() -> (Server, Heads) {
    let heads = Heads::default();
    let seen = Arc::clone(&heads);
    (raw(move |stream, _| tunnel(stream, Arc::clone(&seen))).await, heads)
}

async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, heads: Heads) {
    let head = read_head(&mut stream).await;
    heads.lock().unwrap().push(head.clone());
    // "user:pass word"
    if !head.contains("\r\nProxy-Authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n") {
        return write(&mut stream, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            .await;
    }
    let target = head.split(' ').nth(1).unwrap().replace("name.invalid", "127.0.0.1");
    let mut onward = TcpStream::connect(target).await.unwrap();
    write(&mut stream, "HTTP/1.1 200 Connection established\r\n\r\n").await;
    drop(copy_bidirectional(&mut stream, &mut onward).await);
}

fn through(url: String, excludes: &str, authority: &Authority) -> Transport {
    let ca_certificate = Some(Arc::clone(&authority.pem));
    let proxy = Some(ProxySettings { url, excludes: excludes.into(), ca_certificate });
    let root_certificates = vec![Arc::clone(&authority.pem)];
    Transport::new(TransportSettings { proxy, root_certificates, ..settings(HttpVersion::Auto) }).unwrap()
}

#[tokio::test]
async fn plain_and_encrypted_requests_go_through_a_tunnel() {
    let authority = Authority::new();
    let (proxy, heads) = proxy().await;
    let http = plain(handler(|_| async { ok("http") })).await;
    let acceptor = authority.acceptor("localhost", &["http/1.1"]);
    let https = server::tls(acceptor, handler(|_| async { ok("https") }), None).await;
    let transport = through(format!("http://user:pass%20word@127.0.0.1:{}", proxy.port), "", &authority);
    for _ in 0..3 {
        let url = format!("http://name.invalid:{}/", http.port);
        assert_eq!(fetch(&transport, &url).await.unwrap(), "http");
        assert_eq!(fetch(&transport, &https.https("/?sig=secret")).await.unwrap(), "https");
    }
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 2);
    assert!(
        heads[0].starts_with(&format!("CONNECT name.invalid:{} HTTP/1.1\r\nHost: name.invalid:", http.port))
    );
    assert!(heads[1].starts_with(&format!("CONNECT localhost:{} ", https.port)));
}

#[tokio::test]
async fn a_proxy_may_be_encrypted_itself() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", &[]);
    let heads = Heads::default();
    let seen = Arc::clone(&heads);
    let proxy = raw(move |stream, _| {
        let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
        async move { tunnel(acceptor.accept(stream).await.unwrap(), seen).await }
    })
    .await;
    let acceptor = authority.acceptor("localhost", &["h2"]);
    let https = server::tls(acceptor, handler(|_| async { ok("https") }), None).await;
    let transport = through(format!("https://user:pass%20word@localhost:{}", proxy.port), "", &authority);
    assert_eq!(fetch(&transport, &https.https("/")).await.unwrap(), "https");
    assert_eq!((heads.lock().unwrap().len(), transport.stats().http2_open), (1, 1));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_a_failure_to_connect_and_tells_no_secret() {
    let authority = Authority::new();
    let (proxy, _) = proxy().await;
    let url = format!("http://user:secret@127.0.0.1:{}", proxy.port);
    let transport = through(url, "", &authority);
    let error = fetch(&transport, "http://name.invalid/?sig=secret").await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect);
    let message = format!("{error:?} {error} {transport:?}");
    assert!(message.contains("407") && !message.contains("secret"), "{message}");
}

#[tokio::test]
async fn excluded_hosts_are_reached_without() {
    let authority = Authority::new();
    let (proxy, heads) = proxy().await;
    let http = plain(handler(|_| async { ok("http") })).await;
    let transport = through(format!("127.0.0.1:{}", proxy.port), "example.org, 127.0.0.0/8", &authority);
    assert_eq!(fetch(&transport, &http.url("/")).await.unwrap(), "http");
    assert!(heads.lock().unwrap().is_empty());
}

#[test]
fn other_proxies_are_refused() {
    for url in ["socks5://user:secret@host:1080", "http://"] {
        let proxy = Some(ProxySettings { url: url.into(), excludes: String::new(), ca_certificate: None });
        let error = Transport::new(TransportSettings { proxy, ..settings(HttpVersion::Auto) }).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
