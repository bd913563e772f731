//! Many requests at once: throttling, cancelling, deadlines, bounded connections.

use crate::raw::noise;
use crate::stand::{Stand, engine, memory, web, within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use swath_cloud_testing::{Fault, Faults, Link};
use swath_ioengine::{ByteRange, Control, Error, ErrorKind, RangeRead, RunOptions};

const LEN: u64 = 1_000_000;

fn reads(count: u64) -> Vec<RangeRead> {
    (0..count)
        .map(|index| RangeRead {
            object: 0,
            range: ByteRange::Bounded { offset: index * 7919 % (LEN - 1000), len: 1000 },
        })
        .collect()
}

/// Runs reads of `a`, checks their bytes, and returns how many came, and the batch's result.
fn run(stand: &Stand, in_flight: usize, count: u64, options: &RunOptions<'_>) -> (u64, Result<(), Error>) {
    let stored = noise(9, usize::try_from(LEN).unwrap());
    let right = AtomicU64::new(0);
    let reads = reads(count);
    let check = |index: usize, result: Result<&[u8], Error>| {
        let ByteRange::Bounded { offset, .. } = reads[index].range else { panic!("all are bounded") };
        let from = usize::try_from(offset).unwrap();
        if let Ok(found) = result {
            assert!(found == &stored[from..from + 1000]);
            right.fetch_add(1, Ordering::Relaxed);
        }
    };
    let result = engine(in_flight).read_ranges(&[stand.object("a")], &reads, check, options);
    (right.into_inner(), result)
}

fn link(milliseconds: u64) -> Link {
    Link { latency: Duration::from_millis(milliseconds), ..Link::default() }
}

#[test]
fn a_throttling_server_is_asked_for_less_and_then_for_more_again() {
    within(Duration::from_secs(120), || {
        let stand = memory(link(5), &[]);
        stand.put("a", noise(9, usize::try_from(LEN).unwrap()));
        stand.proxy.set_faults(Faults::throttle_above(20));
        let (right, result) = run(&stand, 500, 2000, &RunOptions::default());
        result.unwrap();
        assert_eq!(right, 2000);
        let throttled = stand.medium.remote_stats().unwrap();
        assert!(0 < throttled.throttled);
        let low = throttled.concurrency_history.iter().map(|(_, limit)| *limit).min().unwrap();
        assert!(low < 64, "{:?}", throttled.concurrency_history);
        stand.proxy.set_faults(Faults::none());
        stand.proxy.reset_counts();
        let (right, result) = run(&stand, 500, 10_000, &RunOptions::default());
        result.unwrap();
        assert_eq!(right, 10_000);
        let free = stand.medium.remote_stats().unwrap();
        assert!(low < free.concurrency, "{} to {}", low, free.concurrency);
        assert!(20 < stand.proxy.counts().in_flight_max);
    });
}

#[test]
fn cancelled_reads_end_and_leave_nothing_under_way() {
    within(Duration::from_secs(60), || {
        let stand = web(link(0), &[]);
        stand.put("a", noise(9, usize::try_from(LEN).unwrap()));
        stand.proxy.set_faults(Faults::always(Fault::StallBeforeAnswer(None)));
        let control = Control::new();
        std::thread::scope(|scope| {
            let (stand, batch) = (&stand, control.clone());
            let running = scope
                .spawn(move || run(stand, 50, 500, &RunOptions { control: batch, ..RunOptions::default() }));
            while stand.proxy.counts().in_flight < 20 {
                std::thread::yield_now();
            }
            control.cancel();
            let (right, result) = running.join().unwrap();
            assert_eq!((right, result.unwrap_err().kind()), (0, ErrorKind::Cancelled));
        });
        while 0 < stand.proxy.counts().in_flight {
            std::thread::sleep(Duration::from_millis(5));
        }
        stand.proxy.set_faults(Faults::none());
        let (right, result) = run(&stand, 50, 500, &RunOptions::default());
        result.unwrap();
        assert_eq!(right, 500);
    });
}

#[test]
fn a_batch_ends_at_its_deadline() {
    within(Duration::from_secs(60), || {
        let stand = web(link(0), &[]);
        stand.put("a", noise(9, usize::try_from(LEN).unwrap()));
        stand.proxy.set_faults(Faults::always(Fault::StallInBody(500, None)));
        let start = Instant::now();
        let options =
            RunOptions { deadline: Some(start + Duration::from_millis(500)), ..RunOptions::default() };
        let (right, result) = run(&stand, 50, 100, &options);
        // Of several ranges in one answer, those before the place where it stalls are there.
        assert!(right < 100, "{right}");
        assert_eq!(result.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        assert!(Duration::from_millis(500) <= start.elapsed() && start.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn requests_and_connections_stay_within_what_was_asked() {
    within(Duration::from_secs(60), || {
        let stand = web(link(10), &[("concurrency", "24")]);
        stand.put("a", noise(9, usize::try_from(LEN).unwrap()));
        let (right, result) = run(&stand, 500, 2000, &RunOptions::default());
        result.unwrap();
        let counts = stand.proxy.counts();
        assert_eq!(right, 2000);
        assert!(counts.in_flight_max <= 24, "{}", counts.in_flight_max);
        assert!(counts.connections_max <= 24, "{}", counts.connections_max);
        assert!(counts.connections <= 60, "{} connections for 2000 requests", counts.connections);
    });
}
