//! Decoded chunks that are kept between reads: when they count, and how many they are.

use crate::freshness::{nested, settle, write_files};
use crate::written::{Spec, Written};
use std::sync::atomic::{AtomicBool, Ordering};
use swath_ioengine::{
    Engine, EngineConfig, FaultPlan, FaultyMedium, Freshness, Limits, MemoryMedium, PutCondition,
    SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{Array, DecodedCache, ErrorKind, Group, Selection, Store};

const PLENTY: u64 = 1 << 20;

fn engine() -> Engine {
    Engine::new(EngineConfig::default())
}

fn in_memory(memory: &MemoryMedium, cache: &DecodedCache) -> Array {
    let array = Array::open_in(&Store::memory(memory), "").unwrap();
    array.with_engine(engine()).with_decoded_cache(cache)
}

fn on_files(folder: &std::path::Path, cache: &DecodedCache) -> Array {
    Array::open(folder).unwrap().with_engine(engine()).with_decoded_cache(cache)
}

/// Logical reads of one read of a selection, whose result is checked.
fn reads_of(array: &Array, written: &Written, selection: &str) -> u64 {
    let selection: Selection = selection.parse().unwrap();
    let before = array.engine().stats().logical_reads;
    let read = array.read(&selection).unwrap();
    assert_eq!(read.as_bytes(), written.select(&selection));
    array.engine().stats().logical_reads - before
}

/// Compressed chunks, each an object.
fn plain(v2: bool) -> Spec {
    Spec { v2, compressor: Some("zstd"), ..Spec::plain(&[8, 16], &[2, 4]) }
}

#[test]
fn kept_chunks_are_not_read_again() {
    let sharded = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[4, 8], &[&[1, 4]]) };
    let transposed = Spec { order: Some(vec![1, 0]), big_endian: true, ..sharded.clone() };
    // Objects, and reads of the first time; from afar, where small shards of one level are read whole.
    let specs = [
        (nested(1, 0), 4, 4 + 4 * 2 + 32, 4 + 4 * 2 + 32),
        (sharded, 4, 4 + 32, 4),
        (transposed, 4, 4 + 32, 4),
        (plain(false), 16, 16, 16),
        (plain(true), 16, 16, 16),
    ];
    for (spec, objects, near_first, far_first) in specs {
        let written = spec.write();
        let chunks = if objects == 16 { 16 } else { 32 };
        let cache = DecodedCache::new(PLENTY);
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        written.put_to(&remote);
        let store = Store::new(remote.medium(), "", "remote");
        let far = Array::open_in(&store, "").unwrap().with_engine(engine());
        let near = in_memory(&written.memory(), &cache);
        for (array, first) in [(near, near_first), (far.with_decoded_cache(&cache), far_first)] {
            assert_eq!(reads_of(&array, &written, "..."), first, "{spec:?}");
            // What is left is a look at each object's version, with the first read of it or by itself.
            let counted = (cache.hits(), cache.misses());
            assert_eq!(reads_of(&array, &written, "..."), objects, "{spec:?}");
            assert_eq!((cache.hits() - counted.0, cache.misses() - counted.1), (chunks, 0), "{spec:?}");
            assert_eq!(reads_of(&array, &written, "::-2, 1:15:2"), objects);
        }
        assert_eq!(cache.misses(), 2 * chunks, "of each medium once: {spec:?}");
        assert!(cache.is_same(&cache.clone()) && !cache.is_same(&DecodedCache::new(PLENTY)));
        let len = spec.levels.last().map_or(&spec.chunk_shape, |level| &level.chunk_shape);
        let chunk_bytes: u64 = 2 * len.iter().product::<u64>();
        assert!(2 * chunks * chunk_bytes <= cache.bytes(), "chunks of both media");
    }
}

#[test]
fn shards_with_gaps_are_not_asked_for_whole_again() {
    // Their writer left gaps, so that these are longer than such shards should be.
    let sharded = Spec::sharded(&[8, 16], &[4, 8], &[&[1, 4]]);
    let written = Spec { compressor: Some("crc32c"), ..sharded }.write();
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
    let array = array.with_engine(engine()).with_decoded_cache(&DecodedCache::new(PLENTY));
    // One in vain, its index, and its chunks; then indexes and chunks of two shards that nothing was known of.
    assert_eq!(reads_of(&array, &written, ":4, :8"), 1 + 1 + 8);
    assert_eq!(reads_of(&array, &written, "4:"), 2 * (1 + 8));
    assert_eq!(reads_of(&array, &written, "..."), 1 + 8 + 3);
}

#[test]
fn a_window_reads_what_is_not_kept() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[8, 16], &[&[1, 4]]) };
    for missing_percent in [0, 40] {
        let written = Spec { missing_percent, seed: 5, ..spec.clone() }.write();
        let array = in_memory(&written.memory(), &DecodedCache::new(PLENTY));
        let stored = written.stored_chunks;
        let upper = reads_of(&array, &written, ":4") - 1;
        assert_eq!(reads_of(&array, &written, "..."), stored - upper);
        assert_eq!(reads_of(&array, &written, "..."), 1);
    }
}

#[test]
fn another_handle_of_the_array_shares_its_chunks() {
    let written = plain(false).write();
    let (memory, cache) = (written.memory(), DecodedCache::new(PLENTY));
    assert_eq!(reads_of(&in_memory(&memory, &cache), &written, "..."), 16);
    let used = cache.bytes();
    reads_of(&in_memory(&memory, &cache), &written, "...");
    assert_eq!(cache.bytes(), used, "nothing was decoded");

    // Other metadata over the same objects is another array.
    let mut document = plain(false).document().1;
    document["data_type"] = "int16".into();
    memory.put("zarr.json", document.to_string());
    reads_of(&in_memory(&memory, &cache), &written, "...");
    assert!(used < cache.bytes());
}

#[test]
fn arrays_of_a_group_share_one_cache() {
    let memory = MemoryMedium::new();
    memory.put("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let written = [plain(false).write(), Spec { seed: 2, ..plain(false) }.write()];
    for (name, written) in ["a", "b"].iter().zip(&written) {
        for (key, bytes) in &written.objects {
            memory.put(&format!("{name}/{key}"), bytes.clone());
        }
    }
    let cache = DecodedCache::new(PLENTY);
    let group = Group::open_in(&Store::memory(&memory), "").unwrap().with_decoded_cache(&cache);
    let mut used = 0;
    for _ in 0..2 {
        for (name, written) in ["a", "b"].iter().zip(&written) {
            reads_of(&group.array(name).unwrap(), written, "...");
            assert!(0 < cache.bytes());
        }
        assert!(used == 0 || used == cache.bytes());
        used = cache.bytes();
    }
}

#[test]
fn chunks_that_are_stored_as_they_are_are_not_kept() {
    let raw = Spec::plain(&[8, 16], &[2, 4]);
    let sharded = Spec::sharded(&[8, 16], &[4, 8], &[&[1, 4]]);
    let foreign = Spec { big_endian: true, order: Some(vec![1, 0]), ..raw.clone() };
    for spec in [raw.clone(), sharded, foreign, Spec { v2: true, ..raw }] {
        let written = spec.write();
        let cache = DecodedCache::new(PLENTY);
        let array = in_memory(&written.memory(), &cache);
        reads_of(&array, &written, "...");
        assert!(written.stored_chunks <= reads_of(&array, &written, "..."), "{spec:?}");
        assert_eq!(cache.bytes(), 0, "{spec:?}");
    }
}

#[test]
fn without_bytes_nothing_is_kept() {
    let written = plain(false).write();
    for bytes in [0, 1, 100] {
        let cache = DecodedCache::new(bytes);
        let array = in_memory(&written.memory(), &cache);
        assert_eq!([reads_of(&array, &written, "..."), reads_of(&array, &written, "...")], [16, 16]);
        assert!(cache.bytes() <= bytes);
    }
}

#[test]
fn files_that_just_changed_are_not_kept() {
    let written = plain(false).write();
    let (folder, cache) = (written.folder(), DecodedCache::new(PLENTY));
    let array = on_files(folder.path(), &cache);
    assert_eq!([reads_of(&array, &written, "..."), reads_of(&array, &written, "...")], [16, 16]);
    settle();
    reads_of(&array, &written, "...");
    assert!(0 < cache.bytes());
    let before = array.engine().stats().bytes_wanted;
    reads_of(&array, &written, "...");
    assert_eq!(array.engine().stats().bytes_wanted, before, "only looked at");
}

#[test]
fn another_version_of_a_file_is_read_anew() {
    // At once, because each has to wait for its files to settle.
    std::thread::scope(|scope| {
        for spec in [plain(false), nested(1, 0), plain(true)] {
            scope.spawn(move || change_files(&spec));
        }
    });
}

fn change_files(spec: &Spec) {
    let written = spec.write();
    let (folder, cache) = (written.folder(), DecodedCache::new(PLENTY));
    let array = on_files(folder.path(), &cache);
    settle();
    reads_of(&array, &written, "...");
    reads_of(&array, &written, "...");
    // Replaced by renaming.
    let other = Spec { seed: 2, ..spec.clone() }.write();
    write_files(folder.path(), &other, |path, bytes| {
        let beside = path.with_extension("new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(&beside, path).unwrap();
    });
    for _ in 0..2 {
        reads_of(&array, &other, "...");
    }
    settle();
    for _ in 0..2 {
        reads_of(&array, &other, "...");
    }
    // Written to in place.
    write_files(folder.path(), &written, |path, bytes| std::fs::write(path, bytes).unwrap());
    reads_of(&array, &written, "...");
    // Gone.
    settle();
    reads_of(&array, &written, "...");
    for key in written.objects.keys().filter(|key| !key.ends_with(".json") && *key != ".zarray") {
        std::fs::remove_file(folder.path().join(key)).unwrap();
    }
    let read = array.read(&Selection::all()).unwrap();
    assert!(read.as_slice::<u16>().unwrap().iter().all(|value| *value == 7), "fill values");
}

#[test]
fn another_version_of_an_object_is_read_anew() {
    for (spec, immutable) in [(plain(false), false), (nested(1, 0), false), (nested(1, 0), true)] {
        let freshness = if immutable { Freshness::Immutable } else { Freshness::Checked };
        let engine = || Engine::new(EngineConfig { freshness, ..EngineConfig::default() });
        let [written, other] = [1, 2].map(|seed| Spec { seed, ..spec.clone() }.write());
        let cache = DecodedCache::new(PLENTY);
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        written.put_to(&remote);
        let far = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
        let memory = written.memory();
        let near = Array::open_in(&Store::memory(&memory), "").unwrap();
        for array in [far, near].map(|array| array.with_engine(engine()).with_decoded_cache(&cache)) {
            reads_of(&array, &written, ":3");
            let again = reads_of(&array, &written, ":3");
            assert_eq!(again == 0, immutable, "what never changes is not looked at");
        }
        if immutable {
            continue;
        }
        let far = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
        let near = Array::open_in(&Store::memory(&memory), "").unwrap();
        other.put_to(&remote);
        for (key, bytes) in &other.objects {
            memory.put(key, bytes.clone());
        }
        for array in [far, near].map(|array| array.with_engine(engine()).with_decoded_cache(&cache)) {
            // All of it, of which the first rows were kept.
            reads_of(&array, &other, "...");
            reads_of(&array, &other, "...");
        }
        memory.remove(if spec.levels.is_empty() { "c/0/1" } else { "c/0/0" });
        let near = in_memory(&memory, &cache);
        let read = near.read(&"0, 5".parse().unwrap()).unwrap();
        assert_eq!(read.as_slice::<u16>().unwrap(), [7], "gone");
    }
}

#[test]
fn objects_that_change_while_they_are_read_are_never_mixed() {
    // One object, so that a result is of one version.
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[16, 16], &[16, 16], &[&[2, 2]]) };
    let versions: Vec<Written> = (0..6).map(|seed| Spec { seed, ..spec.clone() }.write()).collect();
    let config = SimulatedConfig::default();
    let (memory, remote) = (versions[0].memory(), SimulatedRemote::new(config).unwrap());
    versions[0].put_to(&remote);
    let cache = DecodedCache::new(PLENTY);
    let near = in_memory(&memory, &cache);
    let far = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
    let far = far.with_engine(engine()).with_decoded_cache(&cache);
    let ended = AtomicBool::new(false);
    let read = |array: &Array, number: u64| {
        let mut read = 0;
        while !ended.load(Ordering::Relaxed) {
            read += 1;
            let from = (read * 3 + number) % 12;
            let selection: Selection = format!("{from}:{}, 1:15", from + 4).parse().unwrap();
            match array.read(&selection) {
                Ok(found) => {
                    let is_one = |version: &Written| version.select(&selection) == found.as_bytes();
                    assert!(versions.iter().any(is_one), "a mix of versions");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
            }
        }
        read
    };
    let reads = std::thread::scope(|scope| {
        let (read, near, far) = (&read, &near, &far);
        let readers: Vec<_> = (0..4u64)
            .map(|number| scope.spawn(move || read(if number % 2 == 0 { near } else { far }, number)))
            .collect();
        for round in 0..300 {
            let version = &versions[round % versions.len()];
            memory.put("c/0/0", version.objects["c/0/0"].clone());
            remote.put("c/0/0", version.objects["c/0/0"].clone());
            std::thread::yield_now();
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        ended.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>()
    });
    assert!(8 < reads, "{reads} reads");
}

#[test]
fn the_bound_holds() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[512, 512], &[128, 128], &[&[8, 8]]) };
    let written = spec.write();
    let memory = written.memory();
    for bytes_max in [2_000, 20_000, 100_000, 1_000_000] {
        let cache = DecodedCache::new(bytes_max);
        let array = in_memory(&memory, &cache);
        for corner in 0..64u64 {
            let (y, x) = (corner * 37 % 448, corner * 101 % 448);
            reads_of(&array, &written, &format!("{y}:{}, {x}:{}", y + 64, x + 64));
            assert!(cache.bytes() <= bytes_max, "{} of {bytes_max}", cache.bytes());
        }
        assert!(bytes_max / 2 < cache.bytes(), "{} of {bytes_max}", cache.bytes());
    }
}

#[test]
fn dropped_chunks_are_decoded_again_and_no_others() {
    let sharded = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[4, 8], &[&[1, 4]]) };
    let transposed = Spec { order: Some(vec![1, 0]), big_endian: true, ..sharded.clone() };
    for spec in [nested(1, 0), sharded, transposed, plain(false), plain(true)] {
        let written = spec.write();
        let cache = DecodedCache::new(PLENTY);
        let array = in_memory(&written.memory(), &cache);
        // Nothing is kept yet.
        array.drop_decoded(&[0, 0]);
        reads_of(&array, &written, "...");
        let chunk: Vec<u64> = array.chunk_shape().to_vec();
        let (bytes, chunks) = (cache.bytes(), cache.misses());
        // Beyond the grid, and half an index.
        array.drop_decoded(&[8, 0, 0, 4, u64::MAX, u64::MAX, 0]);
        assert_eq!(cache.bytes(), bytes, "{spec:?}");
        array.drop_decoded(&[1, 2, 3, 1]);
        let each = (bytes - cache.bytes()) / 2;
        assert!(2 * chunk.iter().product::<u64>() <= each && each <= bytes / chunks, "{spec:?}");
        for (y, x, missed) in [(0, 0, 0), (1, 2, 1), (3, 1, 1), (2, 1, 0), (3, 1, 0)] {
            let (y, x, before) = (y * chunk[0], x * chunk[1], cache.misses());
            reads_of(&array, &written, &format!("{y}, {x}"));
            assert_eq!(cache.misses() - before, missed, "{y}, {x} of {spec:?}");
        }
        let all: Vec<u64> = (0..8).flat_map(|y| (0..4).flat_map(move |x| [y, x])).collect();
        array.drop_decoded(&all);
        assert!(cache.bytes() + chunks * each <= bytes, "{spec:?}");
        let before = cache.misses();
        reads_of(&array, &written, "...");
        assert_eq!(cache.misses() - before, chunks, "{spec:?}");
        assert!(array.keeps_decoded());
    }
    // The only chunk of an array without axes; and an array that keeps none.
    let written = Spec { compressor: Some("zstd"), ..Spec::plain(&[], &[]) }.write();
    let cache = DecodedCache::new(PLENTY);
    let array = in_memory(&written.memory(), &cache);
    reads_of(&array, &written, "...");
    array.drop_decoded(&[]);
    reads_of(&array, &written, "...");
    assert_eq!((cache.hits(), cache.misses()), (0, 2));
    let without = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
    without.drop_decoded(&[]);
    assert!(!without.keeps_decoded());
}

#[test]
fn one_scan_does_not_evict_what_is_used() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[512, 512], &[128, 128], &[&[8, 8]]) };
    let written = spec.write();
    // A tenth of the array's chunks fits.
    let cache = DecodedCache::new(410 * (128 + 160));
    let array = in_memory(&written.memory(), &cache);
    for _ in 0..4 {
        reads_of(&array, &written, ":96, :96");
    }
    assert_eq!(reads_of(&array, &written, ":96, :96"), 1, "144 chunks that are kept");
    reads_of(&array, &written, "...");
    let lost = reads_of(&array, &written, ":96, :96");
    assert!(lost <= 144 / 4, "{lost} of 144 chunks were evicted");
}

#[test]
fn batches_at_once_share_what_they_decode() {
    let spec =
        Spec { compressor: Some("gzip"), ..Spec::sharded(&[128, 128], &[64, 64], &[&[8, 8], &[8, 4]]) };
    let written = spec.write();
    let cache = DecodedCache::new(PLENTY);
    let limits = Limits { lanes: 3, inline_reads_max: 0, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let array = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
    let array = array.with_engine(engine).with_decoded_cache(&cache);
    std::thread::scope(|scope| {
        for thread in 0..6u64 {
            let (array, written) = (&array, &written);
            scope.spawn(move || {
                for round in 0..20u64 {
                    let (y, x) = ((thread * 7 + round * 13) % 96, round * 29 % 96);
                    let selection: Selection = format!("{y}:{}, {x}:{}", y + 32, x + 32).parse().unwrap();
                    let read = array.read(&selection).unwrap();
                    assert_eq!(read.as_bytes(), written.select(&selection));
                }
            });
        }
    });
    reads_of(&array, &written, "...");
    assert_eq!(reads_of(&array, &written, "..."), 4, "a look at each shard's version");
}

#[test]
fn reads_that_fail_fail_those_who_wait_for_them() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[64, 64], &[32, 32], &[&[4, 4]]) };
    let written = spec.write();
    let memory = written.memory();
    let (mut failed, mut read) = (0, 0);
    for seed in 0..40 {
        let plan = FaultPlan { seed, error_per_mille: 60, again_per_mille: 100, ..FaultPlan::default() };
        let faulty = FaultyMedium::wrap(memory.medium(), plan);
        let Ok(array) = Array::open_in(&Store::new(faulty.medium(), "", "faulty"), "") else { continue };
        let array = array.with_engine(engine()).with_decoded_cache(&DecodedCache::new(PLENTY));
        for round in 0..20u64 {
            let (y, x) = (round * 13 % 48, round * 29 % 48);
            let selections = [format!("{y}:{}, {x}:{}", y + 16, x + 16), format!("{y}, :")]
                .map(|selection| selection.parse::<Selection>().unwrap());
            match array.read_many(&selections) {
                Ok(found) => {
                    read += 1;
                    for (found, selection) in found.iter().zip(&selections) {
                        assert_eq!(found.as_bytes(), written.select(selection), "seed {seed}");
                    }
                }
                Err(error) => {
                    failed += 1;
                    assert_eq!(error.kind(), ErrorKind::Io, "seed {seed}: {error}");
                }
            }
        }
    }
    assert!(100 < read && 10 < failed, "{read} reads, {failed} failed");
}

#[test]
fn damaged_chunks_are_not_kept() {
    let written = plain(false).write();
    let memory = written.memory();
    memory.put("c/0/1", vec![0; 20]);
    let cache = DecodedCache::new(PLENTY);
    let array = in_memory(&memory, &cache);
    for _ in 0..3 {
        assert_eq!(array.read(&Selection::all()).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(reads_of(&array, &written, "2:, :"), 12);
    }
}

#[test]
fn what_is_written_through_the_medium_counts_at_once() {
    let sharded = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[4, 8], &[&[1, 4]]) };
    for spec in [plain(false), sharded] {
        let before = Spec { missing_percent: 40, ..spec.clone() }.write();
        let after = Spec { missing_percent: 20, seed: 9, ..spec }.write();
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        for medium in [MemoryMedium::new().medium(), remote.medium()] {
            let write = |written: &Written| {
                for (key, bytes) in &written.objects {
                    medium.put(key, bytes.clone().into(), &PutCondition::Always).unwrap();
                }
            };
            write(&before);
            let immutable = EngineConfig { freshness: Freshness::Immutable, ..EngineConfig::default() };
            let cache = DecodedCache::new(PLENTY);
            let store = Store::new(medium.clone(), "", "written");
            let array = Array::open_in(&store, "").unwrap().with_decoded_cache(&cache);
            let array = array.with_engine(Engine::new(immutable));
            reads_of(&array, &before, "...");
            let read = array.read(&Selection::all()).unwrap();
            assert_eq!(read.as_bytes(), before.select(&Selection::all()));
            write(&after);
            // What is there no more is not put back by a write of what is.
            for key in before.objects.keys().filter(|key| !after.objects.contains_key(*key)) {
                medium.delete(key).unwrap();
            }
            reads_of(&array, &after, "...");
            reads_of(&array, &after, "...");
        }
    }
}

#[test]
fn what_was_looked_at_after_a_write_is_not_looked_at_again() {
    let written = plain(false).write();
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    written.put_to(&remote);
    let immutable = EngineConfig { freshness: Freshness::Immutable, ..EngineConfig::default() };
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
    let array = array.with_engine(Engine::new(immutable)).with_decoded_cache(&DecodedCache::new(PLENTY));
    assert_eq!(reads_of(&array, &written, "..."), 16);
    remote.medium().put("another", "x".into(), &PutCondition::Always).unwrap();
    assert_eq!(reads_of(&array, &written, "..."), 16, "a look at each");
    assert_eq!(reads_of(&array, &written, "..."), 0);
}
