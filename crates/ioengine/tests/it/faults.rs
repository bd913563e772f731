//! Faults that a lane cannot get over end as an error of their read, and of no other.

use crate::batches::{Reads, bounded};
use crate::stand::{noise, within_a_minute};
use swath_ioengine::{
    ByteRange, Engine, EngineConfig, ErrorKind, FaultPlan, FaultyMedium, FileAccess, Limits, LocalFiles,
    Medium, MemoryMedium, RunOptions, SimulatedConfig, SimulatedRemote, Stats,
};

const READS: u64 = 300;

fn engine(inline_max: u64) -> Engine {
    let limits = Limits {
        lanes: 2,
        inline_reads_max: inline_max,
        inline_bytes_max: inline_max,
        split_bytes: 8 << 10,
        remote_split_bytes: 8 << 10,
        ..Limits::default()
    };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// Reads with faults: each right or failed in the way the plan says. Returns how many failed.
fn count_failed(engine: &Engine, medium: Medium, bytes: &[u8], plan: FaultPlan, kinds: &[ErrorKind]) -> u64 {
    let seed = plan.seed;
    let faulty = FaultyMedium::wrap(medium, plan);
    let wanted: Vec<(usize, ByteRange)> =
        (0..READS).map(|index| (0, bounded(index * 300, 1 + index * 97 % 20_000))).collect();
    let mut failed = 0;
    for window_reads in [1, 50] {
        let batch = Reads::new(vec![faulty.object("a")], &wanted, window_reads);
        engine.run(&batch, &RunOptions::default()).unwrap();
        for (result, (_, range)) in batch.results().iter().zip(&wanted) {
            let ByteRange::Bounded { offset, len } = *range else { unreachable!() };
            match result {
                Ok(found) => {
                    assert!(
                        *found == bytes[offset as usize..(offset + len) as usize],
                        "{range}, seed {seed}"
                    );
                }
                Err(kind) => {
                    assert!(kinds.contains(kind), "{kind:?} of {range}, seed {seed}");
                    failed += 1;
                }
            }
        }
    }
    assert_ne!(faulty.injected(), 0, "seed {seed}");
    failed
}

fn memory(bytes: &[u8]) -> Medium {
    let memory = MemoryMedium::new();
    memory.put("a", bytes.to_vec());
    memory.medium()
}

fn files(bytes: &[u8], access: FileAccess) -> (tempfile::TempDir, Medium) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), bytes).unwrap();
    let medium = LocalFiles::open(folder.path(), access).unwrap().medium();
    (folder, medium)
}

#[test]
fn injected_errors_fail_their_reads_only() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        for seed in 0..12 {
            let plan = FaultPlan {
                seed,
                error_per_mille: 100,
                held_per_mille: 200,
                held_reaps_max: 3,
                ..FaultPlan::default()
            };
            let (_folder, ring) = files(&bytes, FileAccess::Probe);
            let (_other, threads) = files(&bytes, FileAccess::PreadThreads);
            for engine in [engine(0), engine(u64::MAX)] {
                for medium in [memory(&bytes), ring.clone(), threads.clone()] {
                    let failed = count_failed(&engine, medium, &bytes, plan.clone(), &[ErrorKind::Io]);
                    assert!(0 < failed && failed < READS, "{failed} failed, seed {seed}");
                }
            }
        }
    });
}

#[test]
fn the_nth_read_fails_alone() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        for error_at in [0, 1, 100] {
            let plan = FaultPlan { error_at: Some(error_at), ..FaultPlan::default() };
            assert_eq!(count_failed(&engine(0), memory(&bytes), &bytes, plan.clone(), &[ErrorKind::Io]), 1);
            // Read with others, it is read once more by itself, and then succeeds.
            let (_folder, medium) = files(&bytes, FileAccess::Probe);
            assert!(count_failed(&engine(0), medium, &bytes, plan, &[ErrorKind::Io]) <= 1);
        }
    });
}

#[test]
fn wrong_lengths_are_errors() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        for seed in 0..10 {
            let plan = FaultPlan { seed, wrong_length_per_mille: 200, ..FaultPlan::default() };
            let failed = count_failed(&engine(0), memory(&bytes), &bytes, plan, &[ErrorKind::Io]);
            assert!(0 < failed && failed < 2 * READS, "{failed} failed, seed {seed}");
        }
    });
}

#[test]
fn interruptions_without_end_give_up() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        let plan = FaultPlan { again_per_mille: 1000, ..FaultPlan::default() };
        for engine in [engine(0), engine(u64::MAX)] {
            let (_folder, medium) = files(&bytes, FileAccess::Probe);
            let failed = count_failed(&engine, medium, &bytes, plan.clone(), &[ErrorKind::Unavailable]);
            assert_eq!(failed, 2 * READS);
        }
    });
}

/// A read may be cut short as often as it likes, as long as each time brings something.
#[test]
fn short_reads_without_end_arrive() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        for engine in [engine(0), engine(u64::MAX)] {
            let (_folder, medium) = files(&bytes, FileAccess::Probe);
            let plan = FaultPlan { short_per_mille: 1000, ..FaultPlan::default() };
            assert_eq!(count_failed(&engine, medium, &bytes, plan, &[]), 0);
            let Stats { retries, .. } = engine.stats();
            assert!(READS < retries, "{retries} retries");
        }
    });
}

#[test]
fn remote_faults_fail_their_reads_only() {
    within_a_minute(|| {
        let bytes = noise(1, 120_000);
        for seed in 0..5 {
            let remote = SimulatedRemote::new(SimulatedConfig {
                latency: std::time::Duration::from_micros(100),
                unavailable_per_mille: 50,
                dropped_per_mille: 50,
                seed,
                ..SimulatedConfig::default()
            })
            .unwrap();
            remote.put("a", bytes.clone());
            let plan = FaultPlan { seed, error_per_mille: 50, again_per_mille: 50, ..FaultPlan::default() };
            let kinds = [ErrorKind::Io, ErrorKind::Internal, ErrorKind::Unavailable];
            let failed = count_failed(&engine(0), remote.medium(), &bytes, plan, &kinds);
            assert!(0 < failed && failed < READS, "{failed} failed, seed {seed}");
        }
    });
}

#[test]
fn equal_seeds_inject_equal_faults() {
    let bytes = noise(1, 120_000);
    let plan = FaultPlan { seed: 77, error_per_mille: 100, again_per_mille: 100, ..FaultPlan::default() };
    let limits = Limits { lanes: 1, inline_reads_max: 0, ..Limits::default() };
    let count = || {
        let engine = Engine::new(EngineConfig { limits: limits.clone(), ..EngineConfig::default() });
        count_failed(&engine, memory(&bytes), &bytes, plan.clone(), &[ErrorKind::Io])
    };
    assert_eq!(count(), count());
}
