//! The web server, by requests as bytes and over HTTP/2.

use crate::client::block_on;
use crate::raw::{get, noise, send};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::sync::Arc;
use swath_cloud_testing::{Certificate, Objects, WebProtocol, WebServer};
use tokio::net::TcpStream;

#[test]
fn ranges_and_conditions_of_a_file_in_memory() {
    let bytes = noise(1, 100_000);
    let objects = Objects::new();
    objects.put("a b/c", bytes.clone());
    let server = WebServer::plain(objects).unwrap();
    let at = server.address();
    let whole = get(at, "/a%20b/c", "");
    assert_eq!((whole.status(), whole.body()), (200, &bytes[..]));
    assert_eq!(whole.header("accept-ranges").unwrap(), "bytes");
    let etag = whole.header("etag").unwrap();
    for (range, first, last) in
        [("5-9", 5, 9), ("99990-200000", 99_990, 99_999), ("-10", 99_990, 99_999), ("99999-", 99_999, 99_999)]
    {
        let part = get(at, "/a%20b/c", &format!("Range: bytes={range}\r\nIf-Match: {etag}\r\n"));
        assert_eq!((part.status(), part.body()), (206, &bytes[first..=last]), "{range}");
        assert_eq!(part.header("content-range").unwrap(), format!("bytes {first}-{last}/100000"));
    }
    let past = get(at, "/a%20b/c", "Range: bytes=100000-100001\r\n");
    assert_eq!((past.status(), past.header("content-range").unwrap().as_str()), (416, "bytes */100000"));
    let several = get(at, "/a%20b/c", "Range: bytes=0-1,10-12\r\n");
    assert_eq!(several.status(), 206);
    assert!(several.header("content-type").unwrap().starts_with("multipart/byteranges"));
    for part in [&bytes[0..2], &bytes[10..13]] {
        assert!(several.body().windows(part.len()).any(|found| found == part));
    }
    server.objects().put("a b/c", vec![1; 10]);
    assert_eq!(get(at, "/a%20b/c", &format!("If-Match: {etag}\r\n")).status(), 412);
    assert_eq!(get(at, "/a%20b/c", &format!("Range: bytes=0-1\r\nIf-Range: {etag}\r\n")).status(), 200);
    let etag = get(at, "/a%20b/c", "").header("etag").unwrap();
    assert_eq!(get(at, "/a%20b/c", &format!("If-None-Match: {etag}\r\n")).status(), 304);
    assert_eq!(get(at, "/a%20b/", "").status(), 404);
    let head = send(at, "HEAD /a%20b/c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(
        (head.status(), head.header("content-length").unwrap().as_str(), head.body().len()),
        (200, "10", 0)
    );
    assert_eq!(
        send(at, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").status(),
        405
    );
}

#[test]
fn files_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = noise(2, 700_000);
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::fs::write(folder.path().join("d/a"), &bytes).unwrap();
    let server = WebServer::plain(Objects::folder(folder.path())).unwrap();
    let whole = get(server.address(), "/d/a", "");
    assert!(whole.body() == bytes);
    let part = get(server.address(), "/d/a", "Range: bytes=1-600000\r\n");
    assert!(part.body() == &bytes[1..=600_000]);
    for outside in ["/../a", "/d/../../etc/passwd", "/%2e%2e/a", "//etc/passwd", "/d", "/"] {
        assert_eq!(get(server.address(), outside, "").status(), 404, "{outside}");
    }
    std::fs::write(folder.path().join("d/a"), b"other").unwrap();
    let etag = whole.header("etag").unwrap();
    assert_eq!(get(server.address(), "/d/a", &format!("If-Match: {etag}\r\n")).status(), 412);
}

#[test]
fn http2_without_tls() {
    let objects = Objects::new();
    objects.put("a", vec![7; 1000]);
    let server = WebServer::plain(objects).unwrap();
    block_on(async {
        let client: Client<_, Empty<bytes::Bytes>> =
            Client::builder(TokioExecutor::new()).http2_only(true).build_http();
        let answer = client.get(format!("{}/a", server.url()).parse().unwrap()).await.unwrap();
        assert_eq!(answer.version(), http::Version::HTTP_2);
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), vec![7; 1000]);
    });
}

#[test]
fn http2_over_tls_with_a_certificate_of_its_own() {
    let certificate = Certificate::self_signed().unwrap();
    let objects = Objects::new();
    objects.put("a", vec![7; 100_000]);
    let server = WebServer::start(objects, &WebProtocol::Http2Tls(certificate.clone()), 1).unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"));
    for (offered, version) in [(&b"h2"[..], http::Version::HTTP_2), (b"http/1.1", http::Version::HTTP_11)] {
        block_on(async {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap()).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![offered.to_vec()];
            let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
            let stream = TcpStream::connect(server.address()).await.unwrap();
            let stream = connector.connect("127.0.0.1".try_into().unwrap(), stream).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(offered));
            let stream = hyper_util::rt::TokioIo::new(stream);
            let request = http::Request::get("https://127.0.0.1/a").header("host", "127.0.0.1");
            let request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
            let answer = if offered == b"h2" {
                let (mut sender, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await.unwrap()
            } else {
                let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await.unwrap()
            };
            assert_eq!(answer.version(), version);
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), vec![7; 100_000]);
        });
    }
}
