//! Bounds at their edges.

use crate::batches::{Reads, bounded};
use crate::stand::{Kind, noise, within_a_minute};
use std::time::Duration;
use swath_ioengine::{ByteRange, ErrorKind, Limits, RunOptions};

const KINDS: [Kind; 5] =
    [Kind::Memory, Kind::IoUring, Kind::PreadThreads, Kind::InlineFiles, Kind::Simulated];

/// Small reads, neighbours, splits, an empty one and one past the end, by these limits.
fn check(kind: Kind, limits: Limits) {
    let window_reads_max = limits.window_reads_max.max(1);
    let what = format!("{kind:?}, {limits:?}");
    within_a_minute(move || {
        let stand = kind.stand_with(limits);
        let bytes = noise(1, 40_000);
        stand.put("a", &bytes);
        let wanted = [bounded(0, 10), bounded(10, 20), bounded(100, 9000), bounded(0, 40_000), bounded(5, 0)]
            .map(|range| (0, range));
        let batch = Reads::new(vec![stand.object("a")], &wanted, window_reads_max.min(3));
        stand.engine.run(&batch, &RunOptions::default()).unwrap();
        for (found, (_, range)) in batch.results().into_iter().zip(wanted) {
            let ByteRange::Bounded { offset, len } = range else { unreachable!() };
            assert!(found.unwrap() == bytes[offset as usize..(offset + len) as usize], "{range}, {what}");
        }
    });
}

#[test]
fn no_bound_of_zero_or_one_hangs() {
    type Set = fn(&mut Limits, usize);
    let bounds: [Set; 22] = [
        |limits, value| limits.lanes = value,
        |limits, value| limits.local_depth = value,
        |limits, value| limits.submit_batch = value,
        |limits, value| limits.remote_depth = value,
        |limits, value| limits.waiting_threads_max = value,
        |limits, value| limits.in_flight_bytes_max = value,
        |limits, value| limits.merged_bytes_max = value,
        |limits, value| limits.merged_parts_max = value,
        |limits, value| limits.split_bytes = value,
        |limits, value| limits.remote_merged_bytes_max = value,
        |limits, value| limits.remote_merged_parts_max = value,
        |limits, value| limits.remote_split_bytes = value,
        |limits, value| limits.remote_bridged_percent = value as u64,
        |limits, value| limits.remote_bridged_bytes = value as u64,
        |limits, value| limits.window_reads_max = value,
        |limits, value| limits.inline_reads_max = value as u64,
        |limits, value| limits.inline_bytes_max = value as u64,
        |limits, value| limits.open_handles_max = value,
        |limits, value| limits.retries_max = u32::try_from(value).unwrap(),
        |limits, value| limits.replans_max = u32::try_from(value).unwrap(),
        |limits, value| limits.pooled_bytes_max = value,
        |limits, value| limits.park_max = Duration::from_nanos(value as u64),
    ];
    for kind in KINDS {
        for value in [0, 1] {
            for set in bounds {
                let mut limits = Limits { lanes: 2, ..Limits::default() };
                set(&mut limits, value);
                check(kind, limits);
            }
            let mut limits = Limits::default();
            bounds.iter().for_each(|set| set(&mut limits, value));
            check(kind, limits);
        }
    }
}

/// Several lanes and callers, each with reads larger than their share of the budget.
#[test]
fn oversize_reads_take_turns() {
    for kind in KINDS {
        within_a_minute(move || {
            let limits = Limits {
                lanes: 3,
                in_flight_bytes_max: 10_000,
                split_bytes: 16 << 10,
                remote_split_bytes: 16 << 10,
                ..Limits::default()
            };
            let stand = kind.stand_with(limits);
            let bytes = noise(1, 200_000);
            stand.put("a", &bytes);
            let wanted: Vec<(usize, ByteRange)> =
                (0..60).map(|index| (0, bounded(index * 100, 5000 + index * 3000))).collect();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let batch = Reads::new(vec![stand.object("a")], &wanted, 2);
                        stand.engine.run(&batch, &RunOptions::default()).unwrap();
                        assert!(batch.results().iter().all(Result::is_ok));
                    });
                }
            });
        });
    }
}

/// A cancelled batch gives back what its half-read splits and oversize reads held.
#[test]
fn cancelled_reads_give_their_budget_back() {
    for kind in [Kind::IoUring, Kind::PreadThreads, Kind::Simulated] {
        within_a_minute(move || {
            let limits = Limits {
                lanes: 2,
                local_depth: 2,
                remote_depth: 2,
                in_flight_bytes_max: 300_000,
                split_bytes: 4096,
                remote_split_bytes: 4096,
                ..Limits::default()
            };
            let stand = kind.stand_with(limits);
            stand.put("a", &noise(1, 400_000));
            for round in 0..60u64 {
                let control = swath_ioengine::Control::new();
                let wanted: Vec<(usize, ByteRange)> =
                    (0..20).map(|index| (0, bounded(index, 390_000))).collect();
                let batch = Reads::new(vec![stand.object("a")], &wanted, 1);
                let options = RunOptions { control: control.clone(), ..RunOptions::default() };
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_micros(round * 50));
                        control.cancel();
                    });
                    let _ = stand.engine.run(&batch, &options);
                });
            }
            let batch =
                Reads::new(vec![stand.object("a")], &[(0, bounded(0, 400_000)), (0, bounded(3, 5))], 1);
            stand.engine.run(&batch, &RunOptions::default()).unwrap();
            assert!(batch.results().iter().all(Result::is_ok));
        });
    }
}

#[test]
fn a_window_of_too_many_reads_is_refused() {
    let stand = Kind::Memory.stand_with(Limits { lanes: 1, window_reads_max: 10, ..Limits::default() });
    stand.put("a", &[1; 100]);
    let batch = Reads::new(vec![stand.object("a")], &[(0, bounded(0, 1)); 11], 11);
    let error = stand.engine.run(&batch, &RunOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

/// Lengths that no memory holds, as a broken index would give them for an object whose size is not known.
#[test]
fn absurd_lengths_are_errors_of_their_reads() {
    within_a_minute(|| {
        let stand = Kind::Simulated.stand();
        stand.put("a", &[1; 100]);
        let wanted = [
            bounded(0, u64::MAX),
            bounded(1, 1 << 62),
            bounded(0, 1 << 55),
            bounded(u64::MAX, 2),
            bounded(0, 10),
        ];
        let batch = Reads::new(vec![stand.object("a")], &wanted.map(|range| (0, range)), 1);
        stand.engine.run(&batch, &RunOptions::default()).unwrap();
        let results = batch.results();
        assert!(results[..4].iter().all(Result::is_err));
        assert!(results[4].is_ok());
    });
}
