use super::*;
use crate::media::cloud::concurrency::Bounds;
use crate::{Error, ErrorKind};
use async_trait::async_trait;
use futures_util::future::join_all;
use http::Response;
use http_body_util::{BodyExt, Full};
use object_store::client::{HttpError, HttpErrorKind, HttpResponseBody, HttpService};
use std::sync::Arc;
use std::time::Duration;

/// What the server makes of several ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Server {
    /// A part for each.
    Parts,
    /// One part that holds all.
    OnePart,
    Whole,
    /// The body ends after some parts.
    Cut,
    /// Parts of the wrong bytes, and more of them than were asked for.
    Endless,
    OtherVersion,
    Throttling,
    /// As the one before, for the first request, and then as the first.
    ThrottlingOnce,
    /// As the first, of ranges that lie within the object.
    Within,
    /// The first range only.
    First,
    Unsatisfiable,
    Broken,
}

#[derive(Debug)]
struct Answers {
    server: Server,
    object: Vec<u8>,
    /// Ranges of each request.
    asked: Arc<Mutex<Vec<usize>>>,
}

#[async_trait]
impl HttpService for Answers {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        assert_eq!(request.uri().path(), "/data/a%20b");
        let ranges = request.headers()[RANGE].to_str().unwrap().strip_prefix("bytes=").unwrap();
        let ranges: Vec<(usize, usize)> = ranges
            .split(',')
            .map(|range| range.split_once('-').unwrap())
            .map(|(first, last)| (first.parse().unwrap(), last.parse::<usize>().unwrap() + 1))
            .collect();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(ranges.len());
            asked.len()
        };
        // Whoever waits is in the queue by then.
        tokio::task::yield_now().await;
        let answer = Response::builder().header(ETAG, "\"1\"").status(StatusCode::PARTIAL_CONTENT);
        let size = self.object.len();
        let part = |(start, end): (usize, usize)| {
            let head = format!("\r\n--XX\r\nContent-Range: bytes {start}-{}/{size}\r\n\r\n", end - 1);
            [head.as_bytes(), &self.object[start..end]].concat()
        };
        let several = answer.header(CONTENT_TYPE, "multipart/byteranges; boundary=XX");
        let (answer, body) = match self.server {
            Server::ThrottlingOnce if number == 1 => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                (Response::builder().status(status).header("retry-after", "7"), Vec::new())
            }
            Server::First => {
                let (start, end) = ranges[0];
                let first = Response::builder().header(ETAG, "\"1\"").status(StatusCode::PARTIAL_CONTENT);
                let range = format!("bytes {start}-{}/{size}", end - 1);
                (first.header(CONTENT_RANGE, range), self.object[start..end].to_vec())
            }
            Server::Unsatisfiable => {
                (Response::builder().status(StatusCode::RANGE_NOT_SATISFIABLE), Vec::new())
            }
            Server::Parts | Server::ThrottlingOnce => {
                let mut body: Vec<u8> = ranges.iter().flat_map(|range| part(*range)).collect();
                body.extend_from_slice(b"\r\n--XX--\r\n");
                (several, body)
            }
            Server::Within => {
                let within = ranges.iter().filter(|range| range.1 <= size);
                let mut body: Vec<u8> = within.flat_map(|range| part(*range)).collect();
                body.extend_from_slice(b"\r\n--XX--\r\n");
                (several, body)
            }
            Server::Cut => {
                let mut body: Vec<u8> = ranges.iter().flat_map(|range| part(*range)).collect();
                body.truncate(body.len() / 2);
                (several, body)
            }
            Server::Endless => (several, (0..1000).flat_map(|_| part((0, 5000))).collect()),
            Server::OnePart => {
                let (start, end) = (ranges[0].0, ranges.iter().map(|range| range.1).max().unwrap());
                let answer = Response::builder().header(ETAG, "\"1\"").status(StatusCode::PARTIAL_CONTENT);
                let range = format!("bytes {start}-{}/{size}", end - 1);
                (answer.header(CONTENT_RANGE, range), self.object[start..end].to_vec())
            }
            Server::Whole => (Response::builder().status(StatusCode::OK), self.object.clone()),
            Server::OtherVersion => {
                let answer = Response::builder().header(ETAG, "\"2\"").status(StatusCode::PARTIAL_CONTENT);
                let body = ranges.iter().flat_map(|range| part(*range)).collect();
                (answer.header(CONTENT_TYPE, "multipart/byteranges; boundary=XX"), body)
            }
            Server::Throttling => (Response::builder().status(StatusCode::SERVICE_UNAVAILABLE), Vec::new()),
            Server::Broken => {
                let error = Error::new(ErrorKind::Io, "reset");
                return Err(HttpError::new(HttpErrorKind::Interrupted, error));
            }
        };
        let body = Full::new(body.into()).map_err(|never| match never {});
        Ok(answer.body(HttpResponseBody::new(body)).unwrap())
    }
}

fn object() -> Vec<u8> {
    (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Fetches ranges with one request at a time; what each came to, and the ranges of each request.
fn fetch(server: Server, ranges: &[(u64, u64)]) -> (Vec<Option<Fetched>>, Vec<usize>, Gather) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Answers { server, object: object(), asked: Arc::clone(&asked) };
    let gather = Gather::new(HttpClient::new(answers), "http://127.0.0.1/data".parse().unwrap());
    let (begun, _) = fetch_from(&gather, ranges);
    let results = begun
        .into_iter()
        .map(|result| match result {
            Gathered::Fetched(fetched) => Some(fetched),
            Gathered::Alone(..) | Gathered::Failed(_) => None,
        })
        .collect();
    let asked = asked.lock().unwrap().clone();
    (results, asked, gather)
}

/// What each came to, and how long all took, by a clock that waits for nothing.
fn fetch_from(gather: &Gather, ranges: &[(u64, u64)]) -> (Vec<Gathered>, Duration) {
    fetch_by(1, gather, ranges)
}

/// The same with so many requests at a time.
fn fetch_by(turns: usize, gather: &Gather, ranges: &[(u64, u64)]) -> (Vec<Gathered>, Duration) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        let bounds = Bounds { min: turns, initial: turns, max: turns };
        let endpoint = Endpoint::new(Arc::from("test"), bounds);
        let settings = CloudSettings::default();
        let version = Some(tag_of("\"1\""));
        let held = join_all((0..turns).map(|_| endpoint.turn())).await;
        let fetches = ranges.iter().map(async |range| {
            match gather.fetch((&endpoint, &settings), "a b", *range, version.clone()).await {
                // Who goes alone is done with its turn some day.
                Gathered::Alone(_, deadline) => Gathered::Alone(None, deadline),
                shared => shared,
            }
        });
        let release = async {
            tokio::task::yield_now().await;
            drop(held);
        };
        let (results, ()) = tokio::join!(join_all(fetches), release);
        (results, start.elapsed())
    })
}

fn some_ranges() -> Vec<(u64, u64)> {
    // Two that overlap and one twice, among many.
    let many = (0..100u64).map(|number| (number * 7919 % 190_000, 1 + number * 37 % 3000));
    many.chain([(500, 100), (550, 100), (500, 100)]).collect()
}

fn check(results: &[Option<Fetched>], ranges: &[(u64, u64)]) -> usize {
    let object = object();
    for (result, (offset, len)) in results.iter().zip(ranges) {
        if let Some(fetched) = result {
            let (start, len) = (memory_len(*offset).unwrap(), memory_len(*len).unwrap());
            assert_eq!(fetched.bytes, object[start..start + len]);
            assert_eq!(fetched.identity, Some(tag_of("\"1\"")));
        }
    }
    results.iter().flatten().count()
}

#[test]
fn what_waits_goes_together() {
    let ranges = some_ranges();
    for server in [Server::Parts, Server::OnePart] {
        let (results, asked, gather) = fetch(server, &ranges);
        assert_eq!(check(&results, &ranges), ranges.len(), "{server:?}");
        assert!(asked.iter().all(|count| (2..RANGES_MAX).contains(count)), "{asked:?}");
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(gather.waiting.lock().unwrap().is_empty());
        assert!(!gather.refused.load(Ordering::Relaxed));
    }
}

#[test]
fn a_fetch_that_waits_for_nobody_goes_alone() {
    let (results, asked, _) = fetch(Server::Parts, &[(3, 5)]);
    assert!(results[0].is_none() && asked.is_empty());
}

#[test]
fn what_a_shared_request_does_not_bring_goes_alone() {
    let ranges = some_ranges();
    for server in [
        Server::Cut,
        Server::Whole,
        Server::OtherVersion,
        Server::First,
        Server::Unsatisfiable,
        Server::Broken,
        Server::Endless,
    ] {
        let (results, asked, gather) = fetch(server, &ranges);
        let came = check(&results, &ranges);
        assert!(came < ranges.len(), "{server:?}");
        assert_eq!(server == Server::Cut, 10 < came, "{server:?}: {came}");
        assert!(!asked.is_empty());
        assert!(gather.waiting.lock().unwrap().is_empty());
        // What a server does twice it may not do always; but whoever sends the whole object knows no ranges.
        let gives_up = matches!(server, Server::Endless | Server::Whole);
        // Where one broke off, it is sent once more, and the others go alone meanwhile.
        let requests = if gives_up { 1 } else { 2 };
        assert_eq!(asked.len(), requests, "{server:?}");
        assert_eq!(gather.refused.load(Ordering::Relaxed), gives_up, "{server:?}");
        assert_eq!(gather.takes(ByteRange::Bounded { offset: 0, len: 9 }).is_some(), !gives_up);
    }
}

#[test]
fn a_cancelled_fetch_leaves_the_queue() {
    let answers = Answers { server: Server::Parts, object: object(), asked: Arc::default() };
    let gather = Gather::new(HttpClient::new(answers), "http://127.0.0.1/data".parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = Endpoint::new(Arc::from("test"), Bounds { min: 1, initial: 1, max: 1 });
        let settings = CloudSettings::default();
        let held = endpoint.turn().await;
        let waits = gather.fetch((&endpoint, &settings), "a b", (0, 9), None);
        assert!(timeout(Duration::from_millis(1), waits).await.is_err());
        assert!(gather.waiting.lock().unwrap().is_empty());
        drop(held);
    });
}

#[test]
fn only_short_bounded_ranges_wait() {
    let answers = Answers { server: Server::Parts, object: Vec::new(), asked: Arc::default() };
    let gather = Gather::new(HttpClient::new(answers), "http://127.0.0.1/".parse().unwrap());
    assert_eq!(gather.takes(ByteRange::Bounded { offset: 7, len: 9 }), Some((7, 9)));
    for range in [
        ByteRange::Bounded { offset: 7, len: 0 },
        ByteRange::Bounded { offset: 7, len: RANGE_BYTES_MAX + 1 },
        ByteRange::Bounded { offset: u64::MAX, len: 2 },
        ByteRange::Suffix { len: 9 },
        ByteRange::Whole { len_max: 9 },
    ] {
        assert_eq!(gather.takes(range), None, "{range:?}");
    }
}

fn gather_of(server: Server) -> (Gather, Arc<Mutex<Vec<usize>>>) {
    let asked = Arc::default();
    let answers = Answers { server, object: object(), asked: Arc::clone(&asked) };
    (Gather::new(HttpClient::new(answers), "http://127.0.0.1/data".parse().unwrap()), asked)
}

#[test]
fn a_throttled_request_is_sent_again_as_one_after_the_pause_that_was_asked_for() {
    let ranges = [(0, 10), (100, 10), (200, 10)];
    let (gather, asked) = gather_of(Server::ThrottlingOnce);
    let (begun, took) = fetch_from(&gather, &ranges);
    assert!(begun.iter().all(|begun| matches!(begun, Gathered::Fetched(_))), "{begun:?}");
    assert_eq!(*asked.lock().unwrap(), [3, 3]);
    assert!(Duration::from_secs(7) <= took && took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn requests_that_stay_throttled_end_in_an_error_and_are_not_split() {
    let (gather, asked) = gather_of(Server::Throttling);
    let (begun, took) = fetch_from(&gather, &[(0, 10), (100, 10)]);
    for begun in begun {
        let Gathered::Failed(error) = begun else { panic!("{begun:?}") };
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    let settings = CloudSettings::default();
    assert_eq!(asked.lock().unwrap().len(), 11);
    assert!(took <= settings.deadline);
}

#[test]
fn servers_that_bring_too_little_again_and_again_are_asked_one_by_one() {
    let takes = |gather: &Gather| gather.takes(ByteRange::Bounded { offset: 0, len: 9 }).is_some();
    for (server, stays) in [(Server::First, false), (Server::Unsatisfiable, true)] {
        let (gather, _) = gather_of(server);
        for _ in 1..POOR_MAX {
            fetch_from(&gather, &[(0, 10), (100, 10)]);
            assert!(takes(&gather), "{server:?}");
        }
        fetch_from(&gather, &[(0, 10), (100, 10)]);
        assert_eq!(takes(&gather), stays, "{server:?}");
    }
}

/// Who reads past the end gets less than was asked for from any server.
#[test]
fn ranges_past_the_end_say_nothing_of_the_server() {
    let size = storage_len(object().len());
    let (gather, asked) = gather_of(Server::Within);
    for round in 0..2 * POOR_MAX {
        let ranges = [(0, 10), (100, 10), (size - 5, 10), (size + 90, 10)];
        let (begun, _) = fetch_from(&gather, &ranges);
        let came = begun.iter().filter(|begun| matches!(begun, Gathered::Fetched(_))).count();
        assert_eq!((came, gather.is_in_use()), (2, true), "round {round}");
    }
    assert!(asked.lock().unwrap().iter().all(|ranges| *ranges == 4));
    // Of a server that leaves out what it has, one that is there shows it.
    let (gather, _) = gather_of(Server::First);
    (0..POOR_MAX).for_each(|_| drop(fetch_from(&gather, &[(0, 10), (100, 10), (size, 10)])));
    assert!(!gather.is_in_use());
}

#[test]
fn ranges_that_touch_or_overlap_are_asked_for_as_one() {
    let (gather, asked) = gather_of(Server::Parts);
    let (begun, _) = fetch_from(&gather, &[(0, 10), (10, 10), (15, 3), (15, 10), (26, 4)]);
    assert!(begun.iter().all(|begun| matches!(begun, Gathered::Fetched(_))), "{begun:?}");
    assert_eq!(*asked.lock().unwrap(), [2]);
}

#[test]
fn one_request_finds_out_what_a_server_does_with_several_ranges() {
    let ranges: Vec<(u64, u64)> = (0..500u64).map(|number| (number * 300, 100)).collect();
    let (gather, asked) = gather_of(Server::Whole);
    let (begun, _) = fetch_by(4, &gather, &ranges);
    assert!(begun.iter().all(|begun| matches!(begun, Gathered::Alone(..))));
    assert_eq!(*asked.lock().unwrap(), [RANGES_MAX]);
    // One that sends them is asked for them by all from then on.
    let (gather, asked) = gather_of(Server::Parts);
    drop(fetch_by(4, &gather, &ranges));
    assert_eq!(*asked.lock().unwrap(), [RANGES_MAX]);
    let (begun, _) = fetch_by(4, &gather, &ranges);
    assert!(begun.iter().all(|begun| matches!(begun, Gathered::Fetched(_))));
}

#[test]
fn what_waits_is_spread_over_the_requests_that_may_be_under_way() {
    let ranges: Vec<(u64, u64)> = (0..40u64).map(|number| (number * 300, 100)).collect();
    let (gather, asked) = gather_of(Server::Parts);
    gather.proven.store(true, Ordering::Relaxed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = Endpoint::new(Arc::from("test"), Bounds { min: 8, initial: 8, max: 8 });
        let settings = CloudSettings::default();
        let fetches = ranges.iter().map(|range| gather.fetch((&endpoint, &settings), "a b", *range, None));
        assert!(join_all(fetches).await.iter().all(|came| matches!(came, Gathered::Fetched(_))));
    });
    assert_eq!(*asked.lock().unwrap(), [5; 8]);
}
