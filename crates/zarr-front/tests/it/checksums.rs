//! Stores that pass over the checksums of chunks: what is never passed over there.

use serde_json::json;
use swath_codecs::Checksums;
use swath_ioengine::{ByteRange, Engine, MemoryMedium};
use swath_zarr_front::{
    Array, ArrayBuilder, CopyOptions, DataType, DecodedCache, ErrorKind, Finding, ReferenceTargets, Store,
    ValidateOptions, Validated,
};

/// An array of four chunks of four numbers, each with a checksum, the first number of which was changed since; and the key
/// of the object that it is in.
fn damaged(memory: &MemoryMedium, is_sharded: bool) -> &'static str {
    let builder = ArrayBuilder::new(&[16], DataType::UInt8).chunk_shape(&[4]);
    let builder = builder.compressors([json!({"name": "crc32c"})]);
    let builder = if is_sharded { builder.shard_shape(&[8]) } else { builder };
    let array = builder.create(&Store::memory(memory), "a").unwrap();
    array.write(&"...".parse().unwrap(), &(1..17).collect::<Vec<u8>>()).unwrap();
    let mut stored = stored(memory, "a/c/0");
    assert_eq!(stored[..4], [1, 2, 3, 4]);
    stored[0] = 99;
    memory.put("a/c/0", stored);
    "a/c/0"
}

fn stored(memory: &MemoryMedium, key: &str) -> Vec<u8> {
    let whole = ByteRange::Whole { len_max: 1 << 20 };
    Engine::global().read_object(&memory.object(key), whole).unwrap().to_vec()
}

fn open(memory: &MemoryMedium, checksums: Checksums) -> Array {
    Array::open_in(&Store::memory(memory).with_checksums(checksums), "a").unwrap()
}

fn validated(array: &Array) -> (Validated, Vec<Finding>) {
    let mut findings = Vec::new();
    let done = array.validate(&ValidateOptions::default(), &mut |finding| findings.push(finding)).unwrap();
    (done, findings)
}

#[test]
fn damage_gets_no_checksum_of_its_own() {
    for is_sharded in [false, true] {
        let memory = MemoryMedium::new();
        let key = damaged(&memory, is_sharded);
        let before = stored(&memory, key);
        let array = open(&memory, Checksums::Skip);
        assert_eq!(array.read(&"0:4".parse().unwrap()).unwrap().as_bytes(), [99, 2, 3, 4]);
        let error = array.write(&"1:3".parse().unwrap(), &[7, 7]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("crc32c"), "{error}");
        assert_eq!(stored(&memory, key), before);
        // Of a chunk that is written whole nothing is taken over.
        array.write(&"0:4".parse().unwrap(), &[5; 4]).unwrap();
        let read = open(&memory, Checksums::Verify).read(&"0:5".parse().unwrap()).unwrap();
        assert_eq!(read.as_bytes(), [5, 5, 5, 5, 5]);
    }
}

#[test]
fn decoded_chunks_are_kept_by_whether_they_were_compared() {
    let memory = MemoryMedium::new();
    damaged(&memory, false);
    let cache = DecodedCache::new(1 << 20);
    let [skipping, verifying] =
        [Checksums::Skip, Checksums::Verify].map(|way| open(&memory, way).with_decoded_cache(&cache));
    let part = "0:2".parse().unwrap();
    for _ in 0..2 {
        assert_eq!(skipping.read(&part).unwrap().as_bytes(), [99, 2]);
        assert!(0 < cache.bytes());
        assert_eq!(verifying.read(&part).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn validating_compares_them() {
    for is_sharded in [false, true] {
        let memory = MemoryMedium::new();
        damaged(&memory, is_sharded);
        for checksums in [Checksums::Verify, Checksums::Skip] {
            let (done, findings) = validated(&open(&memory, checksums));
            assert_eq!((done.chunks, done.damages), (4, 1), "{checksums:?} {findings:?}");
            assert_eq!(findings[0].chunk, Some(vec![0]));
            assert!(findings[0].message.contains("crc32c"), "{findings:?}");
        }
    }
}

#[test]
fn references_to_whole_files_validate() {
    let memory = MemoryMedium::named("whole-files").unwrap();
    memory.put("whole", vec![1; 16]);
    memory.put("short", vec![1; 15]);
    let document = |file: &str| {
        json!({
            "zarr.json": json!({
                "zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16]}},
                "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
            }).to_string(),
            "c/0": [format!("memory://whole-files/{file}")],
        })
    };
    for (file, damages) in [("whole", 0), ("short", 1)] {
        let text = document(file).to_string();
        let store = Store::references(text.as_bytes(), ReferenceTargets::new(), "refs").unwrap();
        let (done, findings) = validated(&Array::open_in(&store, "").unwrap());
        assert_eq!((done.chunks, done.damages), (1, damages), "{file}: {findings:?}");
    }
}

#[test]
fn damage_is_not_copied_under_new_checksums() {
    for is_sharded in [false, true] {
        let memory = MemoryMedium::new();
        damaged(&memory, is_sharded);
        let array = open(&memory, Checksums::Skip);
        let target = Store::memory(&MemoryMedium::new()).with_checksums(Checksums::Skip);
        let error = array.copy_to(&target, "b", &CopyOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}
