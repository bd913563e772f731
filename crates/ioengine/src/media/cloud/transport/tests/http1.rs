//! HTTP/1.1: reuse, bounds, cancelling, what breaks.

use super::server::{handler, ok, plain, raw, read_head, write};
use super::{HttpVersion, Transport, TransportSettings};
use super::{fetch, get, request, send, settings, transport, until, within};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use object_store::PutPayload;
use object_store::client::{HttpError, HttpErrorKind, HttpRequestBody};
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
    until(|| server.accepted() == 12 && transport.stats().connections_opened == 12).await;
}

/// What an answer in these words, in pieces of some length, comes to: its status and body, and whether the connection was
/// used for a second request.
async fn answered(method: Method, words: &str, piece: usize) -> (Result<(u16, Bytes), HttpErrorKind>, bool) {
    let words = words.to_owned();
    let server = raw(move |mut stream, _| {
        let words = words.clone();
        async move {
            stream.set_nodelay(true).unwrap();
            while !read_head(&mut stream).await.is_empty() {
                for piece in words.as_bytes().chunks(piece) {
                    write(&mut stream, std::str::from_utf8(piece).unwrap()).await;
                    tokio::task::yield_now().await;
                }
                if !words.contains("ength: ") && !words.contains("chunked") {
                    return;
                }
            }
        }
    })
    .await;
    let transport = transport(HttpVersion::Http1);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let answer = async {
            let answer = send(&transport, request(method.clone(), &server.url("/"), Bytes::new())).await?;
            Ok((answer.status().as_u16(), within(answer.into_body().bytes()).await?))
        };
        answers.push(answer.await.map_err(|error: HttpError| error.kind()));
    }
    assert_eq!(answers[0], answers[1]);
    (answers.remove(0), server.accepted() == 1)
}

#[tokio::test]
async fn answers_end_where_they_say_however_they_come() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole".to_owned();
    let long = "x".repeat(40_000);
    for (words, expected, kept) in [
        (whole.clone(), Ok((200, "whole")), true),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{whole}"), Ok((200, "whole")), true),
        (
            "HTTP/1.1 206 Some\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nwho\r\n2\r\nle\r\n0\r\nA: b\r\n\r\n".to_owned(),
            Ok((206, "whole")),
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nwhole".to_owned(), Ok((200, "whole")), false),
        (whole.replace("1.1", "1.0"), Ok((200, "whole")), false),
        (whole.replace("OK", "OK\r\nConnection: close"), Ok((200, "whole")), false),
        // What comes behind an answer belongs to nobody.
        (format!("{whole}HTTP/1.1 200 OK\r\n"), Ok((200, "whole")), false),
        (format!("HTTP/1.1 200 OK\r\nLength: {long}\r\nContent-Length: 0\r\n\r\n"), Ok((200, "")), true),
        (format!("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n{long}"), Ok((200, &long[..])), true),
        (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9C40\r\n{long}\r\n0\r\n\r\n"), Ok((200, &long[..])), true),
        ("SSH-2.0 hello\r\n\r\n".to_owned(), Err(HttpErrorKind::Decode), false),
        (whole.replace(": 5", ": five"), Err(HttpErrorKind::Decode), false),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n".to_owned(),
            Err(HttpErrorKind::Interrupted),
            false,
        ),
    ] {
        // What comes later than an answer may meet the next request.
        let pieces: &[usize] = if words.starts_with(&whole) && whole.len() < words.len() { &[1000] } else { &[1000, 1] };
        for &piece in pieces {
            let found = answered(Method::GET, &words, piece).await;
            let expected = expected.map(|(status, body)| (status, Bytes::copy_from_slice(body.as_bytes())));
            assert_eq!(found, (expected, kept), "{words:.200} in pieces of {piece}");
        }
    }
}

#[tokio::test]
async fn long_bodies_of_several_parts_arrive_whole() {
    let server = plain(handler(|request| async move {
        let length = request.headers()["content-length"].to_str().unwrap().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(length, body.len().to_string());
        ok(body)
    }))
    .await;
    let transport = transport(HttpVersion::Http1);
    for lens in [&[0][..], &[1], &[4096], &[4097], &[3 << 20], &[0, 10, 0, 1 << 20, 70_000, 0]] {
        let parts: Vec<Bytes> =
            lens.iter().map(|&len: &usize| Bytes::from(vec![len.to_le_bytes()[0]; len])).collect();
        let sent = parts.concat();
        let body = HttpRequestBody::from(PutPayload::from_iter(parts));
        let request = Request::builder().method(Method::PUT).uri(server.url("/")).body(body).unwrap();
        let answer = send(&transport, request).await.unwrap();
        assert!(within(answer.into_body().bytes()).await.unwrap() == sent, "{lens:?}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_server_that_refuses_before_it_has_read_all_is_heard() {
    let server = raw(|mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
        // Reads no further.
        std::future::pending::<()>().await;
    })
    .await;
    let transport = transport(HttpVersion::Http1);
    let large = Bytes::from(vec![7; 32 << 20]);
    let answer = send(&transport, request(Method::PUT, &server.url("/"), large)).await.unwrap();
    assert_eq!(answer.status(), 403);
    assert_eq!(within(answer.into_body().bytes()).await.unwrap(), "no");
    until(|| transport.stats().connections_open == 0).await;
}
