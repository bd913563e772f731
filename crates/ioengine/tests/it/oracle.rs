//! Random batches over every medium give what slices give.

use crate::batches::Reads;
use crate::stand::{Kind, noise, within_a_minute};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use swath_ioengine::{ByteRange, Engine, EngineConfig, Limits, MemoryMedium, ObjectRef, RunOptions};

const OBJECTS: [usize; 4] = [0, 1, 70_000, 300_001];

fn range() -> impl Strategy<Value = ByteRange> {
    let offset = prop_oneof![0u64..300, 0u64..310_000, Just(u64::MAX)];
    let len = prop_oneof![0u64..20, 0u64..9000, 0u64..310_000];
    prop_oneof![
        8 => (offset, len.clone()).prop_map(|(offset, len)| ByteRange::Bounded { offset, len }),
        1 => len.clone().prop_map(|len| ByteRange::Suffix { len }),
        1 => len.prop_map(|len_max| ByteRange::Whole { len_max }),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let sizes = prop_oneof![Just(0usize), Just(1), 4096usize..100_000, Just(1 << 20)];
    (1usize..4, 1usize..40, 1usize..40, sizes.clone(), sizes, 1usize..65).prop_map(
        |(lanes, local_depth, submit_batch, in_flight_bytes_max, merged_bytes_max, merged_parts_max)| {
            Limits {
                lanes,
                local_depth,
                remote_depth: local_depth,
                submit_batch,
                in_flight_bytes_max,
                merged_bytes_max,
                merged_parts_max,
                split_bytes: merged_bytes_max / 2,
                remote_split_bytes: merged_bytes_max / 2,
                remote_merged_bytes_max: merged_bytes_max,
                pooled_bytes_max: in_flight_bytes_max,
                ..Limits::default()
            }
        },
    )
}

/// Whether a read has a target of its own is its second field's lowest bit.
fn reads() -> impl Strategy<Value = Vec<(usize, ByteRange, bool)>> {
    proptest::collection::vec((0..OBJECTS.len() + 1, range(), any::<bool>()), 0..120)
}

fn run(
    engine: &Engine,
    objects: &[ObjectRef],
    wanted: &[(usize, ByteRange, bool)],
    window_reads: usize,
) -> Outcome {
    let mut targets: Vec<Vec<u8>> =
        wanted.iter().map(|(_, range, _)| vec![0; usize::try_from(range.len_max()).unwrap()]).collect();
    let wants = wanted
        .iter()
        .zip(&mut targets)
        .map(|((object, range, direct), target)| (*object, *range, direct.then_some(&mut target[..])));
    let batch = Reads::into(objects.to_vec(), wants, window_reads);
    engine.run(&batch, &RunOptions::default()).unwrap();
    let results = batch.results();
    drop(batch);
    let whole = |((result, target), (_, _, direct)): ((_, Vec<u8>), &(_, _, bool))| match result {
        Ok(_) if *direct => Ok(target),
        other => other,
    };
    results.into_iter().zip(targets).zip(wanted).map(whole).collect()
}

type Outcome = Vec<Result<Vec<u8>, swath_ioengine::ErrorKind>>;

fn check(kind: Kind, limits: Limits, wanted: Vec<(usize, ByteRange, bool)>, window_reads: usize) {
    let stand = Arc::new(kind.stand_with(limits));
    let oracle = MemoryMedium::new();
    let keys = ["zero", "one", "some", "many", "none"];
    for (key, len) in keys.iter().zip(OBJECTS) {
        stand.put(key, &noise(len as u64, len));
        oracle.put(key, noise(len as u64, len));
    }
    let engine = Engine::new(EngineConfig::default());
    let objects = keys.map(|key| oracle.object(key));
    let expected = run(&engine, &objects, &wanted, window_reads);
    let (objects, reads) = (keys.map(|key| stand.object(key)), wanted.clone());
    let held = Arc::clone(&stand);
    let found = within_a_minute(move || run(&held.engine, &objects, &reads, window_reads));
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let (object, range, direct) = wanted[index];
        // Of a missing remote object, these are answered without asking for it.
        let unasked =
            matches!(range, ByteRange::Bounded { len: 0, .. } | ByteRange::Bounded { offset: u64::MAX, .. });
        if kind.is_remote() && object == OBJECTS.len() && unasked {
            continue;
        }
        assert!(found == expected, "{kind:?}: read {index}, {range} of {object}, direct {direct}");
    }
}

/// Some random batches, for a medium that not every test can set up.
pub(crate) fn agrees(kind: Kind) {
    let config = ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() };
    let batches = (limits(), reads(), 1usize..130);
    let result = TestRunner::new(config).run(&batches, |(limits, wanted, window_reads)| {
        check(kind, limits, wanted, window_reads);
        Ok(())
    });
    result.unwrap();
}

macro_rules! agrees {
    ($($name:ident: $kind:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(limits in limits(), wanted in reads(), window_reads in 1usize..130, seed in any::<u64>()) {
                let kind: fn(u64) -> Kind = $kind;
                if kind(seed).is_here() {
                    check(kind(seed), limits, wanted, window_reads);
                }
            })*
        }
    };
}

agrees! {
    memory: |_| Kind::Memory;
    files_by_io_uring: |_| Kind::IoUring;
    files_by_threads: |_| Kind::PreadThreads;
    files_mapped: |_| Kind::Mapped;
    files_inline: |_| Kind::InlineFiles;
    files_over_fuse: |_| Kind::Fuse;
    files_over_fuse_by_threads: |_| Kind::FuseThreads;
    files_over_fuse_short: Kind::ShortFuse;
    simulated_remote: |_| Kind::Simulated;
    faulty_memory: Kind::FaultyMemory;
    faulty_files: Kind::FaultyFiles;
    faulty_files_by_threads: Kind::FaultyThreads;
    faulty_files_inline: Kind::FaultyInline;
    files_direct: |_| Kind::Direct;
    faulty_files_direct: Kind::FaultyDirect;
    refused_files_direct: Kind::RefusedDirect;
}
