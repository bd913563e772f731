//! Shards whose index anyone may have written.

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, ErrorKind, Selection, Store};

/// Chunks of one shard.
const CHUNKS: usize = 8;

/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 4;

/// One shard of raw chunks, in one level or two.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    /// Whether the index lies at the start.
    pub at_start: bool,
    /// Whether there are shards in the shard, of two chunks each.
    pub is_nested: bool,
    /// Offsets and lengths: as they are, or `None` for one that lies where it should.
    pub entries: [Option<(Number, Number)>; CHUNKS],
    /// Everything else.
    pub bytes: &'a [u8],
}

/// Small numbers, numbers near the end, and any.
#[derive(Debug, Arbitrary, Clone, Copy)]
pub enum Number {
    /// Below 256.
    Small(u8),
    /// Below the largest by so much.
    Large(u8),
    /// Anything.
    Any(u64),
}

impl Number {
    fn value(self) -> u64 {
        match self {
            Number::Small(value) => u64::from(value),
            Number::Large(value) => u64::MAX - u64::from(value),
            Number::Any(value) => value,
        }
    }
}

fn sharding(chunk: usize, codecs: &Value, location: &str) -> Value {
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [chunk], "codecs": codecs, "index_location": location,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }}])
}

/// Reads every chunk: the bytes that its entry points to, the fill value, or an error.
pub fn read(case: &Case<'_>) {
    let location = if case.at_start { "start" } else { "end" };
    let chunk_elements = CHUNK_BYTES as usize;
    let bytes = json!([{"name": "bytes"}]);
    let codecs = if case.is_nested {
        let inner = sharding(chunk_elements, &bytes, location);
        sharding(chunk_elements * 2, &inner, location)
    } else {
        sharding(chunk_elements, &bytes, location)
    };
    let memory = MemoryMedium::new();
    let elements = CHUNKS * chunk_elements;
    memory.put("zarr.json", json!({
        "zarr_format": 3, "node_type": "array", "shape": [elements], "data_type": "uint8", "fill_value": 7,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [elements]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    }).to_string());
    let count = if case.is_nested { CHUNKS / 2 } else { CHUNKS };
    let entries: Vec<(u64, u64)> = case.entries[..count]
        .iter()
        .enumerate()
        .map(|(number, entry)| match entry {
            Some((offset, len)) => (offset.value(), len.value()),
            None => {
                (number as u64 * CHUNK_BYTES + if case.at_start { 16 * count as u64 } else { 0 }, CHUNK_BYTES)
            }
        })
        .collect();
    let index: Vec<u8> = entries
        .iter()
        .flat_map(|(offset, len)| [offset.to_le_bytes(), len.to_le_bytes()])
        .flatten()
        .collect();
    let shard = if case.at_start { [&index, case.bytes].concat() } else { [case.bytes, &index].concat() };
    memory.put("c/0", shard.clone());
    let array = Array::open_in(&Store::memory(&memory), "").expect("sound metadata");
    for chunk in 0..CHUNKS {
        let start = chunk * chunk_elements;
        let selection: Selection = format!("{start}:{}", start + chunk_elements).parse().expect("a slice");
        let read = array.read(&selection);
        if let Err(error) = &read {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        if !case.is_nested {
            let (offset, len) = entries[chunk];
            let end = offset.checked_add(len).filter(|end| *end <= shard.len() as u64 && len == CHUNK_BYTES);
            let expected = match end {
                Some(end) => Some(shard[offset as usize..end as usize].to_vec()),
                None if (offset, len) == (u64::MAX, u64::MAX) => Some(vec![7; chunk_elements]),
                None => None,
            };
            assert_eq!(read.ok().map(|read| read.into_bytes()), expected);
        }
    }
    // All at once, most of it in one merged read; an error of one chunk is one of the whole.
    if let Err(error) = array.read(&Selection::all()) {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}
