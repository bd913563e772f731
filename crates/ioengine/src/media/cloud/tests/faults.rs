//! Every fault, alone and mixed: the right bytes, or a clear error in time.

use super::web_server::{Fault, WebServer};
use super::{bounded, hedging, noise, service};
use crate::media::cloud::CloudSettings;
use crate::random::Random;
use crate::{ByteRange, ErrorKind};
use bytes::Bytes;
use std::time::Duration;
use tokio::time::Instant;

const SIZE: usize = 20_000;

/// The first request fails in some way, the second does not.
#[tokio::test(start_paused = true)]
async fn one_fault_is_got_over() {
    let faults = [
        Fault::NoConnection,
        Fault::Status(500, None),
        Fault::Status(503, None),
        Fault::Status(429, Some(3)),
        Fault::Status(408, None),
        Fault::Stall,
        Fault::Broken(0),
        Fault::Broken(4321),
        Fault::Broken(10_000),
        Fault::Short(77),
        Fault::StalledBody(2000),
        Fault::StalledBody(10_000),
        Fault::Long,
        Fault::IgnoresRange,
        Fault::OtherRange,
    ];
    let bytes = noise(SIZE);
    for fault in faults {
        let injected = fault.clone();
        let script = move |number| if number == 0 { injected.clone() } else { Fault::None };
        let server = WebServer::new(bytes.clone(), script);
        let service = service(server.store(), CloudSettings::default());
        let start = Instant::now();
        let fetched = service.fetch("a", bounded(5000, 10_000), None).await;
        assert_eq!(fetched.unwrap().bytes, bytes[5000..15_000], "{fault:?}");
        assert!(start.elapsed() < Duration::from_secs(40), "{fault:?}: {:?}", start.elapsed());
        // Nothing is asked for again where all bytes came before the body broke or stalled.
        let all_came = matches!(fault, Fault::Broken(10_000) | Fault::StalledBody(10_000));
        let stats = service.endpoint.stats();
        let requests = if all_came { 1 } else { 2 };
        assert_eq!((stats.requests, stats.retries), (requests, requests - 1), "{fault:?}");
        assert_eq!(stats.in_flight, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_goes_on_at_the_byte_where_it_broke() {
    let bytes = noise(SIZE);
    let script =
        |number| [Fault::Broken(4321), Fault::Short(1000)].get(number).cloned().unwrap_or(Fault::None);
    let server = WebServer::new(bytes.clone(), script);
    let service = service(server.store(), CloudSettings::default());
    let fetched = service.fetch("a", bounded(5000, 10_000), None).await.unwrap();
    assert_eq!(fetched.bytes, bytes[5000..15_000]);
    let asked: Vec<(Option<String>, Option<String>)> =
        server.asked().into_iter().map(|asked| (asked.range, asked.if_match)).collect();
    let wanted = |range: &str, tag: Option<&str>| (Some(range.to_owned()), tag.map(str::to_owned));
    assert_eq!(
        asked,
        [
            wanted("bytes=5000-14999", None),
            wanted("bytes=9321-14999", Some("\"one\"")),
            wanted("bytes=10321-14999", Some("\"one\"")),
        ]
    );
    let stats = service.endpoint.stats();
    assert_eq!((stats.resumed, stats.bytes_received), (2, 10_000));
}

#[tokio::test(start_paused = true)]
async fn errors_that_no_retry_helps_come_at_once() {
    let of = async |fault: Fault, range| {
        let injected = fault.clone();
        let server = WebServer::new(noise(SIZE), move |_| injected.clone());
        let service = service(server.store(), CloudSettings::default());
        let error = service.fetch("a", range, None).await.unwrap_err();
        // Credentials that are not accepted are renewed once.
        let requests = if fault == Fault::Status(401, None) { 2 } else { 1 };
        assert_eq!(server.asked().len(), requests, "{fault:?}");
        error.kind()
    };
    let range = bounded(0, 10);
    assert_eq!(of(Fault::Status(404, None), range).await, ErrorKind::NotFound);
    assert_eq!(of(Fault::Status(403, None), range).await, ErrorKind::PermissionDenied);
    assert_eq!(of(Fault::Status(401, None), range).await, ErrorKind::PermissionDenied);
    assert_eq!(of(Fault::Status(400, None), range).await, ErrorKind::Io);
    assert_eq!(of(Fault::Status(302, None), range).await, ErrorKind::Unsupported);
    assert_eq!(of(Fault::Encoded, range).await, ErrorKind::Unsupported);
    assert_eq!(of(Fault::None, bounded(30_000, 10)).await, ErrorKind::UnexpectedEnd);
    assert_eq!(of(Fault::None, bounded(19_995, 10)).await, ErrorKind::UnexpectedEnd);
    assert_eq!(of(Fault::None, ByteRange::Whole { len_max: 19_999 }).await, ErrorKind::LimitExceeded);
}

#[tokio::test(start_paused = true)]
async fn retries_end_and_say_why() {
    let server = WebServer::new(noise(SIZE), |_| Fault::Status(503, None));
    let service = service(server.store(), CloudSettings { retries_max: 4, ..CloudSettings::default() });
    let error = service.fetch("a", bounded(0, 10), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("503") && error.message().contains("4 retries"), "{error}");
    assert_eq!(server.asked().len(), 5);
    let stats = service.endpoint.stats();
    assert_eq!((stats.throttled, stats.retries), (5, 4));
    assert!(stats.concurrency < 64);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_whatever_the_server_does() {
    let settings = CloudSettings {
        deadline: Duration::from_secs(50),
        retries_max: u32::MAX,
        ..CloudSettings::default()
    };
    for fault in
        [Fault::Stall, Fault::StalledBody(10), Fault::Status(503, None), Fault::Status(429, Some(60))]
    {
        let injected = fault.clone();
        let server = WebServer::new(noise(SIZE), move |_| injected.clone());
        let service = service(server.store(), settings.clone());
        let start = Instant::now();
        let error = service.fetch("a", bounded(0, 10_000), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{fault:?}");
        assert!(start.elapsed() <= Duration::from_millis(50_010), "{fault:?}: {:?}", start.elapsed());
        println!("{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_pause_that_a_server_asks_for_is_kept() {
    let script = |number| if number == 0 { Fault::Status(503, Some(7)) } else { Fault::None };
    let server = WebServer::new(noise(SIZE), script);
    let service = service(server.store(), CloudSettings::default());
    let start = Instant::now();
    service.fetch("a", bounded(0, 10), None).await.unwrap();
    assert!(Duration::from_secs(7) <= start.elapsed() && start.elapsed() < Duration::from_secs(8));
}

/// Ranges that a server ignores are cut out of small objects, and are an error for large ones.
#[tokio::test(start_paused = true)]
async fn a_server_without_ranges() {
    let bytes = noise(SIZE);
    let server = WebServer::new(bytes.clone(), |_| Fault::IgnoresRange);
    let small = service(server.store(), CloudSettings::default());
    let fetched = small.fetch("a", bounded(100, 50), None).await.unwrap();
    assert_eq!(fetched.bytes, bytes[100..150]);
    let server = WebServer::new(vec![0; 17 << 20], |_| Fault::IgnoresRange);
    let large = service(server.store(), CloudSettings::default());
    let error = large.fetch("a", bounded(100, 50), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("ignored the range"), "{error}");
    assert!(server.asked().len() <= 4);
}

#[tokio::test(start_paused = true)]
async fn suffixes_and_whole_objects() {
    let bytes = noise(SIZE);
    for suffix_ranges in [true, false] {
        let server =
            WebServer::new(bytes.clone(), |number| if number == 1 { Fault::Broken(3) } else { Fault::None });
        let mut service = service(server.store(), CloudSettings::default());
        service.abilities.suffix_ranges = suffix_ranges;
        let of = async |range| service.fetch("a", range, None).await.unwrap().bytes;
        assert_eq!(of(ByteRange::Suffix { len: 100 }).await, bytes[SIZE - 100..]);
        assert_eq!(of(ByteRange::Suffix { len: 100_000 }).await, bytes[..]);
        assert_eq!(of(ByteRange::Suffix { len: 0 }).await, Bytes::new());
        assert_eq!(of(ByteRange::Whole { len_max: 20_000 }).await, bytes[..]);
        server.change(|object| object.bytes = Bytes::new());
        assert_eq!(of(ByteRange::Suffix { len: 100 }).await, Bytes::new());
        assert_eq!(of(ByteRange::Whole { len_max: 0 }).await, Bytes::new());
    }
}

#[tokio::test(start_paused = true)]
async fn faults_mixed_by_a_seed() {
    let bytes = noise(SIZE);
    let (mut right, mut errors) = (0, 0);
    for seed in 0..2000u64 {
        println!("seed {seed}");
        let script = move |number: usize| {
            let mut random = Random::new(seed << 8 | number as u64);
            let at = usize::try_from(random.below(12_000)).unwrap();
            match random.below(24) {
                0 => Fault::NoConnection,
                1 => Fault::Status(503, None),
                2 => Fault::Status(500, None),
                3 => Fault::Status(429, Some(1)),
                4 => Fault::Stall,
                5..=8 => Fault::Broken(at),
                9 => Fault::Short(at),
                10 => Fault::StalledBody(at),
                11 => Fault::Long,
                12 => Fault::IgnoresRange,
                13 => Fault::OtherRange,
                _ => Fault::None,
            }
        };
        let server = WebServer::new(bytes.clone(), script);
        let settings = if seed % 2 == 0 { hedging() } else { CloudSettings::default() };
        let service = service(server.store(), settings);
        let mut random = Random::new(seed);
        let offset = random.below(19_000);
        let len = 1 + random.below(20_000 - offset);
        let (range, wanted) = match random.below(3) {
            0 => (ByteRange::Suffix { len }, SIZE - usize::try_from(len).unwrap()..SIZE),
            1 => (ByteRange::Whole { len_max: 20_000 }, 0..SIZE),
            _ => (
                bounded(offset, len),
                usize::try_from(offset).unwrap()..usize::try_from(offset + len).unwrap(),
            ),
        };
        let start = Instant::now();
        match service.fetch("a", range, None).await {
            Ok(fetched) => {
                assert!(fetched.bytes == bytes[wanted], "{range}");
                right += 1;
            }
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Io | ErrorKind::Unsupported),
                    "{error}"
                );
                errors += 1;
            }
        }
        assert!(start.elapsed() <= Duration::from_millis(180_010));
        assert_eq!(service.endpoint.stats().in_flight, 0);
    }
    println!("{right} right, {errors} errors");
    assert!(errors * 50 < right);
}

#[tokio::test(start_paused = true)]
async fn late_answers_are_overtaken_by_second_requests() {
    let bytes = noise(SIZE);
    // One request in a hundred never gets an answer.
    let server =
        WebServer::new(bytes.clone(), |number| if number % 100 == 99 { Fault::Stall } else { Fault::None });
    let service = service(server.store(), hedging());
    let start = Instant::now();
    for _ in 0..1000 {
        let fetched = service.fetch("a", bounded(10, 100), None).await.unwrap();
        assert_eq!(fetched.bytes, bytes[10..110]);
    }
    let stats = service.endpoint.stats();
    println!("{stats:?}");
    assert!(8 <= stats.hedges && stats.hedges <= 50, "{}", stats.hedges);
    assert_eq!(stats.retries, 0);
    assert!(start.elapsed() < Duration::from_secs(15));
}

/// Where ranges from the end are found by the object's size, both requests have one deadline, and pauses are as asked for.
#[tokio::test(start_paused = true)]
async fn asking_for_the_size_is_part_of_the_fetch() {
    let settings = CloudSettings { deadline: Duration::from_secs(50), ..CloudSettings::default() };
    let fetch = async |script: fn(usize) -> Fault| {
        let server = WebServer::new(noise(SIZE), script);
        let mut service = service(server.store(), settings.clone());
        service.abilities.suffix_ranges = false;
        let start = Instant::now();
        let fetched = service.fetch("a", ByteRange::Suffix { len: 10 }, None).await;
        (fetched, start.elapsed())
    };
    let (fetched, took) = fetch(|number| match number {
        0 => Fault::Status(429, Some(20)),
        1 => Fault::None,
        _ => Fault::Stall,
    })
    .await;
    assert_eq!(fetched.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(took <= Duration::from_millis(50_010), "{took:?}");
    let once = |number| if number == 0 { Fault::Status(429, Some(20)) } else { Fault::None };
    let (fetched, took) = fetch(once).await;
    assert_eq!(fetched.unwrap().bytes, noise(SIZE)[SIZE - 10..]);
    assert!(Duration::from_secs(20) <= took, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn times_beyond_all_bounds_are_no_panic() {
    let once = |number| if number == 0 { Fault::Status(429, Some(u64::MAX)) } else { Fault::None };
    let max = Duration::MAX;
    let endless = CloudSettings {
        backoff_base: max,
        backoff_max: max,
        deadline: max,
        stall_timeout: max,
        ..CloudSettings::default()
    };
    for settings in [CloudSettings::default(), endless.clone().workable()] {
        let server = WebServer::new(noise(SIZE), once);
        let service = service(server.store(), settings.clone());
        let fetched = service.fetch("a", bounded(0, 10), None).await;
        if let Err(error) = fetched {
            assert_eq!(error.kind(), ErrorKind::Unavailable);
        }
    }
}
