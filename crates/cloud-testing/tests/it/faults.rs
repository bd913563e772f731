//! Everything that goes wrong ends in the right bytes or a clear error, in time.

use crate::raw::noise;
use crate::stand::{Stand, all, engine, every, s3, web, within};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use swath_cloud_testing::{Fault, Faults, Link, S3_SECRET_KEY};
use swath_ioengine::{ByteRange, Error, ErrorKind, RangeRead, RunOptions};

/// A pause after which a request is given up that lets a test end soon, and a deadline that a repeated request holds.
const ONCE: [(&str, &str); 2] = [("retry_timeout", "20s"), ("stall_timeout", "300ms")];
/// The same, with a deadline that lets a test end soon that nothing can save.
const FOR_EVER: [(&str, &str); 2] = [("retry_timeout", "1s"), ("stall_timeout", "300ms")];
/// How much longer than its deadline a read may take on a busy machine.
const SLACK: Duration = Duration::from_secs(20);
const LEN: u64 = 200_000;

/// Runs a check of each server, all at once: it waits for the most part.
fn each(options: &'static [(&'static str, &'static str)], check: impl Fn(&Stand) + Send + Sync + 'static) {
    within(Duration::from_secs(600), move || {
        let link = Link::default();
        let stands = if all() { every(link, options) } else { vec![s3(link, options), web(link, options)] };
        std::thread::scope(|scope| {
            for stand in &stands {
                scope.spawn(|| check(stand));
            }
        });
    });
}

/// Faults after which the same request, sent again, brings the bytes.
fn passes(fault: &Fault) -> bool {
    !matches!(
        fault,
        Fault::RedirectToItself(_)
            | Fault::RedirectToOtherHost(_)
            | Fault::ChangedEtag
            | Fault::WrongContentRange
    )
}

#[test]
fn each_fault_once() {
    each(&ONCE, |stand| {
        let stored = noise(8, usize::try_from(LEN).unwrap());
        stand.put("a", stored.clone());
        let object = stand.object("a");
        for fault in Fault::every() {
            for (range, wanted) in [
                (ByteRange::Bounded { offset: 1000, len: 50_000 }, &stored[1000..51_000]),
                (ByteRange::Suffix { len: 50_000 }, &stored[150_000..]),
            ] {
                stand.proxy.set_faults(Faults::next(1, fault.clone()));
                match engine(8).read_object(&object, range) {
                    Ok(found) => assert!(found == wanted, "{}: {fault:?}: wrong bytes", stand.name),
                    Err(error) => {
                        assert!(!passes(&fault), "{}: {fault:?}: {error}", stand.name);
                        eprintln!("{}: {fault:?}: {error}", stand.name);
                    }
                }
            }
            assert!(stand.proxy.counts().faults.contains_key(fault.name()));
        }
    });
}

#[test]
fn each_fault_for_ever() {
    each(&FOR_EVER, |stand| {
        let stored = noise(8, usize::try_from(LEN).unwrap());
        stand.put("a", stored.clone());
        for fault in Fault::every() {
            stand.proxy.set_faults(Faults::always(fault.clone()));
            let start = Instant::now();
            match engine(8).read_object(&stand.object("a"), ByteRange::Bounded { offset: 1000, len: 50_000 })
            {
                Ok(found) => assert!(found == stored[1000..51_000], "{}: {fault:?}: wrong bytes", stand.name),
                Err(error) => {
                    assert!(!error.to_string().contains(S3_SECRET_KEY));
                    eprintln!("{}: {fault:?}: {error}", stand.name);
                }
            }
            assert!(start.elapsed() < Duration::from_secs(1) + SLACK, "{}: {fault:?}", stand.name);
        }
    });
}

#[test]
fn mixed_faults_bring_the_right_bytes() {
    let reads_of_each = if all() { 2500 } else { 250 };
    each(&ONCE, move |stand| mixed(stand, 0x5eed_0001, reads_of_each));
}

fn mixed(stand: &Stand, seed: u64, count: u64) {
    let stored: Vec<Vec<u8>> =
        (0..4).map(|object| noise(seed + object, usize::try_from(LEN).unwrap())).collect();
    for (index, bytes) in stored.iter().enumerate() {
        stand.put(&format!("o/{index}"), bytes.clone());
    }
    let objects: Vec<_> = (0..4).map(|index| stand.object(&format!("o/{index}"))).collect();
    let reads: Vec<RangeRead> = (0..count)
        .map(|index| {
            let len = 1 + index * 7919 % 20_000;
            let offset = index * 104_729 % (LEN - len);
            RangeRead {
                object: usize::try_from(index % 4).unwrap(),
                range: ByteRange::Bounded { offset, len },
            }
        })
        .collect();
    let (right, errors) = (AtomicU64::new(0), Mutex::new(BTreeMap::<String, u64>::new()));
    stand.proxy.set_faults(Faults::mixed(seed, 200));
    let check = |index: usize, result: Result<&[u8], Error>| {
        let ByteRange::Bounded { offset, len } = reads[index].range else { panic!("all are bounded") };
        let (from, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
        match result {
            Ok(found) => {
                assert!(
                    found == &stored[reads[index].object][from..from + len],
                    "seed {seed:#x}, read {index}"
                );
                right.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Panicked), "{error}");
                *errors.lock().unwrap().entry(format!("{:?}", error.kind())).or_default() += 1;
            }
        }
    };
    engine(32).read_ranges(&objects, &reads, check, &RunOptions::default()).unwrap();
    let (right, errors) = (right.into_inner(), errors.into_inner().unwrap());
    let counts = stand.proxy.counts();
    let (requests, faults) = (counts.requests, counts.faults);
    eprintln!(
        "{}: {right} of {count} right by {requests} requests, seed {seed:#x}, errors {errors:?}",
        stand.name
    );
    eprintln!("{}: faults {faults:?}", stand.name);
    // Short ranges of a web server travel together, so its requests are fewer than the reads.
    assert!(requests / 10 < faults.values().sum() && 20 < requests, "hardly anything was broken");
    assert_eq!(right + errors.values().sum::<u64>(), count);
    // A version that changed on the way spoils what was asked of it: a fifth of a nineteenth of the requests lie so.
    assert!(count / 2 < right, "{}: only {right} of {count} came, errors {errors:?}", stand.name);
}
