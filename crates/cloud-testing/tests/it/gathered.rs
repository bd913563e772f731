//! Short ranges that travel together, and servers that do not let them.

use crate::raw::noise;
use crate::stand::{Stand, engine, web, within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use swath_cloud_testing::{Fault, Faults, Link, Objects, S3MemoryServer};
use swath_ioengine::{ByteRange, CloudMedium, CloudOptions, Error, Medium, ObjectRef, RangeRead, RunOptions};

const LEN: usize = 4_000_000;
const READS: u64 = 400;
/// Few requests at once, so that fetches wait, and go together.
const FEW: [(&str, &str); 4] =
    [("concurrency", "2"), ("concurrency_min", "2"), ("stall_timeout", "300ms"), ("backoff_initial", "5ms")];

fn link() -> Link {
    Link { latency: Duration::from_millis(2), ..Link::default() }
}

/// Reads short ranges of `key`, all right.
fn read(medium: &Medium, key: &str) {
    let stored = noise(12, LEN);
    let reads: Vec<RangeRead> = (0..READS)
        .map(|index| RangeRead {
            object: 0,
            range: ByteRange::Bounded { offset: index * 104_729 % 3_900_000, len: 1 + index * 7 },
        })
        .collect();
    let right = AtomicU64::new(0);
    let check = |index: usize, result: Result<&[u8], Error>| {
        let ByteRange::Bounded { offset, len } = reads[index].range else { panic!("all are bounded") };
        let (from, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
        assert!(result.unwrap() == &stored[from..from + len], "read {index}");
        right.fetch_add(1, Ordering::Relaxed);
    };
    let object = ObjectRef { medium: medium.clone(), key: key.into() };
    engine(128).read_ranges(&[object], &reads, check, &RunOptions::default()).unwrap();
    assert_eq!(right.into_inner(), READS);
}

fn stand() -> Stand {
    let stand = web(link(), &FEW);
    stand.put("a", noise(12, LEN));
    stand
}

/// True of requests for several ranges.
fn has_several(range: Option<&String>) -> bool {
    range.is_some_and(|range| range.contains(','))
}

#[test]
fn what_waits_goes_together() {
    within(Duration::from_secs(60), || {
        let stand = stand();
        read(&stand.medium, "a");
        let counts = stand.proxy.counts();
        assert!(counts.requests < READS / 4, "{} requests for {READS} ranges", counts.requests);
        assert_eq!(counts.requests, stand.medium.remote_stats().unwrap().requests);
    });
}

/// Object stores behind a web address answer several ranges with the whole object: it is not taken twice.
#[test]
fn a_server_that_answers_with_the_whole_object_is_asked_one_by_one() {
    within(Duration::from_secs(60), || {
        let objects = Objects::new();
        objects.put("a", noise(12, LEN));
        let server = S3MemoryServer::start("bucket", objects, 10, 1).unwrap();
        let mut options = CloudOptions::new();
        FEW.iter().for_each(|(name, value)| options.set(name, *value).unwrap());
        let medium = CloudMedium::open(&server.endpoint(), &options).unwrap().medium;
        read(&medium, "bucket/a");
        // What was under way together when the first such answer came, and then each alone.
        let requests = server.requests();
        assert!((READS..READS + 10).contains(&requests), "{requests} requests for {READS} ranges");
    });
}

#[test]
fn shared_answers_that_break_bring_the_right_bytes_all_the_same() {
    let faults = [
        Fault::IgnoredRange,
        Fault::ResetInBody(300),
        Fault::CloseInBody(700),
        Fault::StallInBody(500, None),
        Fault::LengthTooLong(7),
        Fault::LengthTooShort(7),
        Fault::TruncatedChunks(500),
        Fault::ResetBeforeAnswer,
        Fault::StallBeforeAnswer(None),
        Fault::Status { status: 503, retry_after: Some(0) },
        Fault::Status { status: 416, retry_after: None },
        Fault::Status { status: 400, retry_after: None },
    ];
    within(Duration::from_secs(120), || {
        std::thread::scope(|scope| {
            for fault in faults {
                scope.spawn(move || {
                    let stand = stand();
                    let broken = AtomicU64::new(0);
                    let kind = fault.clone();
                    stand.proxy.set_faults(Faults::by(move |seen| {
                        let breaks =
                            has_several(seen.range.as_ref()) && broken.fetch_add(1, Ordering::Relaxed) < 3;
                        breaks.then(|| kind.clone())
                    }));
                    read(&stand.medium, "a");
                    assert_ne!(stand.proxy.counts().faults.get(fault.name()), None, "{fault:?}");
                });
            }
        });
    });
}
