//! What is kept of objects between reads, and that it never outlives them.

use crate::block_on::waker;
use crate::written::{Spec, Written};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;
use swath_ioengine::{Control, Engine, EngineConfig, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{Array, ReadOptions, Selection, Store};

fn engine() -> Engine {
    Engine::new(EngineConfig::default())
}

/// Shards in shards: 4 objects, of 2 inner shards each, of 4 chunks each.
pub(crate) fn nested(seed: u64, missing_percent: u32) -> Spec {
    let spec = Spec::sharded(&[8, 16], &[4, 8], &[&[2, 8], &[1, 4]]);
    Spec { seed, missing_percent, compressor: Some("zstd"), ..spec }
}

const INDEXES: u64 = 4 + 4 * 2;
const CHUNKS: u64 = 4 * 2 * 4;

/// Logical reads of one whole read.
fn reads_of(array: &Array, written: &Written) -> u64 {
    let before = array.engine().stats().logical_reads;
    let read = array.read(&Selection::all()).unwrap();
    assert_eq!(read.as_bytes(), written.select(&Selection::all()));
    array.engine().stats().logical_reads - before
}

/// A file's change time is set by the kernel to now, whatever its times are set to: wait until it is old enough.
pub(crate) fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

pub(crate) fn write_files(folder: &Path, written: &Written, put: impl Fn(&Path, &[u8])) {
    for (key, bytes) in &written.objects {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, bytes);
    }
}

#[test]
fn indexes_of_settled_files_are_read_once() {
    let written = nested(1, 0).write();
    let folder = written.folder();
    let array = Array::open(folder.path()).unwrap().with_engine(engine());
    assert_eq!(reads_of(&array, &written), INDEXES + CHUNKS);
    assert_eq!(reads_of(&array, &written), INDEXES + CHUNKS, "changed less than 2 s ago");
    settle();
    assert_eq!(reads_of(&array, &written), INDEXES + CHUNKS);
    assert_eq!(reads_of(&array, &written), CHUNKS);
    // Another handle on the same directory, on the same engine.
    let again = Array::open(folder.path()).unwrap().with_engine(array.engine());
    assert_eq!(reads_of(&again, &written), CHUNKS);

    // Replaced by renaming, then written to in place, then back to what it was.
    let other = nested(2, 0).write();
    write_files(folder.path(), &other, |path, bytes| {
        let beside = path.with_extension("new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(&beside, path).unwrap();
    });
    assert_eq!(
        reads_of(&array, &other),
        CHUNKS + INDEXES + CHUNKS,
        "planned from what is gone, then once more"
    );
    settle();
    assert_eq!(reads_of(&array, &other), INDEXES + CHUNKS);
    assert_eq!(reads_of(&array, &other), CHUNKS);
    let third = nested(3, 40).write();
    write_files(folder.path(), &third, |path, bytes| std::fs::write(path, bytes).unwrap());
    for (key, _) in other.objects.iter().filter(|(key, _)| !third.objects.contains_key(*key)) {
        std::fs::remove_file(folder.path().join(key)).unwrap();
    }
    reads_of(&array, &third);
    write_files(folder.path(), &written, |path, bytes| std::fs::write(path, bytes).unwrap());
    reads_of(&array, &written);
}

#[test]
fn objects_in_memory_and_remote_ones_are_known_by_version() {
    let written = nested(1, 0).write();
    let memory = written.memory();
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine());
    assert_eq!((reads_of(&array, &written), reads_of(&array, &written)), (INDEXES + CHUNKS, CHUNKS));
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
    assert_eq!((reads_of(&array, &written), reads_of(&array, &written)), (INDEXES + CHUNKS, CHUNKS));
}

/// Reads each chunk by itself, so that some reads find nothing but missing chunks.
fn check_chunks(array: &Array, written: &Written) {
    for y in 0..8 {
        for x in 0..4 {
            let selection: Selection = format!("{y}, {}:{}", x * 4, x * 4 + 4).parse().unwrap();
            let read = array.read(&selection).unwrap();
            assert_eq!(read.as_bytes(), written.select(&selection), "chunk {y}, {x}");
        }
    }
    let all = array.read(&Selection::all()).unwrap();
    assert_eq!(all.as_bytes(), written.select(&Selection::all()));
}

fn replaced_again_and_again(array: &Array, put: impl Fn(&Written, &Written)) {
    let mut before = nested(0, 0).write();
    put(&before, &before);
    for seed in 1..30 {
        // What was missing is there, and the other way round.
        let after = nested(seed, if seed % 3 == 0 { 0 } else { 45 }).write();
        check_chunks(array, &before);
        put(&before, &after);
        check_chunks(array, &after);
        before = after;
    }
}

#[test]
fn what_was_missing_is_found_once_it_is_there() {
    let memory = MemoryMedium::new();
    let written = nested(0, 0).write();
    memory.put("zarr.json", written.objects["zarr.json"].clone());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine());
    replaced_again_and_again(&array, |before, after| {
        for key in before.objects.keys() {
            memory.remove(key);
        }
        for (key, bytes) in &after.objects {
            memory.put(key, bytes.clone());
        }
    });

    let config = SimulatedConfig {
        latency: Duration::from_micros(20),
        jitter: Duration::ZERO,
        ..SimulatedConfig::default()
    };
    let remote = SimulatedRemote::new(config).unwrap();
    remote.put("zarr.json", written.objects["zarr.json"].clone());
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
    replaced_again_and_again(&array, |before, after| {
        // Nothing can be removed from this one: an object of nothing but an index has no chunks.
        for key in before.objects.keys().filter(|key| !after.objects.contains_key(*key)) {
            remote.put(key, empty_shard());
        }
        for (key, bytes) in &after.objects {
            remote.put(key, bytes.clone());
        }
    });
}

/// An index of two entries, both missing, and its checksum.
fn empty_shard() -> Vec<u8> {
    use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
    let bytes = Codec::from_v3("bytes", &serde_json::json!({"endian": "little"})).unwrap();
    let crc32c = Codec::from_v3("crc32c", &serde_json::json!({})).unwrap();
    let element = Element::number(NumberType::UInt64);
    let chain = Chain::compile(&[bytes, crc32c], &ChunkLayout { shape: vec![2, 1, 2], element }).unwrap();
    let mut encoded = Vec::new();
    chain.encode(&[0xFF; 32], &mut encoded, &mut Scratch::default()).unwrap();
    encoded
}

#[test]
fn an_ended_read_that_nobody_polls_holds_nobody_up() {
    let written = nested(1, 0).write();
    let config = SimulatedConfig { latency: Duration::from_millis(30), ..SimulatedConfig::default() };
    let remote = SimulatedRemote::new(config).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
    let control = Control::new();
    let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
    let selections = [Selection::all()];
    let mut ended = pin!(array.read_many_async(&selections, &options));
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    // It has the indexes to read, and is given up while it reads them.
    assert!(ended.as_mut().poll(&mut context).is_pending());
    control.cancel();
    reads_of(&array, &written);
    let Poll::Ready(Err(error)) = ended.as_mut().poll(&mut context) else { panic!("it was cancelled") };
    assert_eq!(error.kind(), swath_zarr_front::ErrorKind::Cancelled);
}
