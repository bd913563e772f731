//! Shards that codecs behind the sharding encode once more.

use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
use swath_ioengine::{ByteRange, Engine, MemoryMedium};
use swath_zarr_front::{Array, ErrorKind, Selection, Store};

/// The document of an array of 11 by 14 numbers in shards of 8 by 12 of chunks of 4 by 3.
fn document(ahead: &[Value], sharding: &Value, behind: &[Value]) -> Value {
    let mut codecs = ahead.to_vec();
    codecs.push(sharding.clone());
    codecs.extend_from_slice(behind);
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [11, 14], "data_type": "int16", "fill_value": 7,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 12]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    })
}

fn sharding(chunk_shape: [u64; 2], location: &str, codecs: &[Value]) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk_shape, "codecs": codecs, "index_location": location,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }})
}

fn bytes(endian: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": endian}})
}

fn open(memory: &MemoryMedium, name: &str, document: &Value) -> Array {
    memory.put(&format!("{name}/zarr.json"), document.to_string().into_bytes());
    Array::open_in(&Store::memory(memory), name).unwrap()
}

fn all(array: &Array) -> Vec<i16> {
    read(array, "...")
}

fn read(array: &Array, selection: &str) -> Vec<i16> {
    let selection: Selection = selection.parse().unwrap();
    let read = array.read(&selection).unwrap();
    read.as_bytes().as_chunks::<2>().0.iter().map(|word| i16::from_ne_bytes(*word)).collect()
}

/// An object's bytes; `None` where there is none.
fn stored(memory: &MemoryMedium, key: &str) -> Option<Vec<u8>> {
    let read = Engine::global().read_object(&memory.object(key), ByteRange::Whole { len_max: 1 << 20 });
    read.ok().map(|bytes| bytes.to_vec())
}

/// Sharded arrays: what is ahead of the sharding, and the sharding.
fn layouts() -> Vec<(Vec<Value>, Value)> {
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    vec![
        (vec![], sharding([4, 3], "end", &[bytes("little")])),
        (vec![], sharding([4, 3], "start", &[bytes("big"), gzip.clone()])),
        (vec![transpose.clone()], sharding([3, 4], "end", &[bytes("little"), gzip])),
        (vec![], sharding([4, 3], "end", &[transpose, bytes("big")])),
        (vec![], sharding([4, 6], "start", &[sharding([2, 3], "end", &[bytes("little")])])),
    ]
}

/// All of a plain sharded array is written, but for some chunks.
fn write(array: &Array) {
    let selection: Selection = "0:7, 2:13".parse().unwrap();
    let values: Vec<u8> = (0..77i16).flat_map(|value| (3 * value).to_ne_bytes()).collect();
    array.write(&selection, &values).unwrap();
}

/// What `codecs` make of a stored shard.
fn encoded(shard: &[u8], codecs: &[Value]) -> Vec<u8> {
    let mut chain = vec![Codec::from_v3("bytes", &Value::Null).unwrap()];
    for codec in codecs {
        chain.push(Codec::from_v3(codec["name"].as_str().unwrap(), &codec["configuration"]).unwrap());
    }
    let layout = ChunkLayout { shape: vec![shard.len() as u64], element: Element::number(NumberType::UInt8) };
    let mut stored = Vec::new();
    Chain::compile(&chain, &layout).unwrap().encode(shard, &mut stored, &mut Scratch::default()).unwrap();
    stored
}

#[test]
fn encoded_shards_read_as_plain_ones() {
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}});
    for behind in [vec![json!({"name": "crc32c"})], vec![zstd, json!({"name": "crc32c"})]] {
        for (ahead, sharding) in layouts() {
            let memory = MemoryMedium::new();
            let plain = open(&memory, "plain", &document(&ahead, &sharding, &[]));
            write(&plain);
            let array = open(&memory, "encoded", &document(&ahead, &sharding, &behind));
            for key in ["c/0/0", "c/0/1", "c/1/0", "c/1/1"] {
                if let Some(shard) = stored(&memory, &format!("plain/{key}")) {
                    memory.put(&format!("encoded/{key}"), encoded(&shard, &behind));
                }
            }
            assert_eq!(all(&array), all(&plain), "{sharding} {behind:?}");
            for selection in ["3:9:2, 13:2:-3", "10, ...", "0:4, 0:3", "..., 5"] {
                assert_eq!(read(&array, selection), read(&plain, selection), "{sharding} {selection}");
            }
        }
    }
}

#[test]
fn encoded_shards_are_written() {
    let behind = [json!({"name": "gzip", "configuration": {"level": 1}})];
    for (ahead, sharding) in layouts() {
        let memory = MemoryMedium::new();
        let (plain, array) = (
            open(&memory, "plain", &document(&ahead, &sharding, &[])),
            open(&memory, "encoded", &document(&ahead, &sharding, &behind)),
        );
        for array in [&plain, &array] {
            write(array);
            // A part of what is there, and what fills a chunk with the fill value.
            array.write(&"1:3, 4:5".parse().unwrap(), &[1; 4]).unwrap();
            array.write(&"0:8, 0:6".parse().unwrap(), &[7, 0].repeat(48)).unwrap();
        }
        assert_eq!(all(&array), all(&plain), "{sharding}");
    }
}

#[test]
fn an_inner_shard_may_be_encoded() {
    let inner = sharding([2, 3], "end", &[bytes("little")]);
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let memory = MemoryMedium::new();
    let plain =
        open(&memory, "plain", &document(&[], &sharding([4, 6], "end", std::slice::from_ref(&inner)), &[]));
    let array = open(&memory, "encoded", &document(&[], &sharding([4, 6], "end", &[inner, gzip]), &[]));
    write(&plain);
    write(&array);
    assert_eq!((array.chunk_shape(), plain.chunk_shape()), (&[4, 6][..], &[2, 3][..]));
    assert_eq!(all(&array), all(&plain));
}

#[test]
fn broken_encoded_shards_are_errors() {
    let behind = [json!({"name": "crc32c"})];
    let plain_sharding = sharding([4, 3], "end", &[bytes("little")]);
    let memory = MemoryMedium::new();
    let plain = open(&memory, "plain", &document(&[], &plain_sharding, &[]));
    write(&plain);
    let array = open(&memory, "encoded", &document(&[], &plain_sharding, &behind));
    let shard = stored(&memory, "plain/c/0/0").unwrap();
    // The shard, its first inner chunk somewhere else.
    let moved = |offset: u64, len: u64| {
        let at = shard.len() - 4 - 128;
        let mut index = shard[at..shard.len() - 4].to_vec();
        index[..8].copy_from_slice(&offset.to_le_bytes());
        index[8..16].copy_from_slice(&len.to_le_bytes());
        [&shard[..at], &encoded(&index, &behind)].concat()
    };
    for (broken, message) in [
        (moved(1, u64::MAX), "points to"),
        (moved(400, 24), "points to"),
        (moved(0, 23), "inner chunk 0"),
        (shard[..20].to_vec(), "cannot hold its index"),
    ] {
        memory.put("encoded/c/0/0", encoded(&broken, &behind));
        let error = array.read(&"0:8, 0:12".parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Shards of a count of chunks of one byte each, gzipped, that are gzipped once more.
fn many_small_chunks(count: u64) -> Value {
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let inner = [json!({"name": "bytes"}), gzip.clone()];
    let mut sharding = sharding([1, 1], "end", &inner);
    sharding["configuration"]["chunk_shape"] = json!([1]);
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [count], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [sharding, gzip],
    })
}

#[test]
fn many_small_chunks_in_an_encoded_shard_are_read_and_written() {
    let memory = MemoryMedium::new();
    let array = open(&memory, "many", &many_small_chunks(8000));
    let values: Vec<u8> = (0..8000u32).map(|number| (number % 251) as u8).collect();
    array.write(&"...".parse().unwrap(), &values).unwrap();
    assert_eq!(array.read(&"...".parse().unwrap()).unwrap().as_bytes(), values);
}

#[test]
fn a_short_object_never_asks_for_memory_for_the_longest_shard() {
    // All of these shard's chunks may have some 19 GB.
    let memory = MemoryMedium::new();
    let array = open(&memory, "many", &many_small_chunks(64 << 20));
    memory.put("many/c/0", encoded(b"", &[json!({"name": "gzip", "configuration": {"level": 1}})]));
    let error = array.read(&"5:6".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("a shard of 0 bytes cannot hold its index"), "{error}");
}

#[test]
fn what_cannot_be_taken_apart_is_refused() {
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let round = json!({"name": "numcodecs.astype", "configuration": {
        "encode_dtype": "|i1", "decode_dtype": "<i2"}});
    let memory = MemoryMedium::new();
    let document = document(&[round], &sharding([4, 3], "end", &[bytes("little")]), &[gzip]);
    memory.put("refused/zarr.json", document.to_string().into_bytes());
    let error = Array::open_in(&Store::memory(&memory), "refused").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`gzip` behind `sharding_indexed` and codec `astype`"), "{error}");
}
