//! Chunks that skip filters of their array: those that a filter would have made longer.

use hdf5_reader::Hdf5File;
use hdf5_reader::chunk_index::ChunkEntry;
use serde_json::{Value, json};
use swath_ioengine::memory_len;
use swath_zarr_front::{ArrayMetadata, ChunkCodec};

/// Bytes of all such chunks of an array, at most: they are held in the references.
const BYTES_MAX: u64 = 64 << 20;

/// Makes of chunks that skip filters chunks that do not.
#[derive(Default)]
pub(super) struct Skipped {
    bytes: u64,
}

impl Skipped {
    /// The bytes of a chunk as if it had been through all filters, of which `codecs` has one each.
    ///
    /// # Errors
    ///
    /// Where filters before one that it went through are skipped, where such chunks are too many, and those of the storage.
    pub(super) fn encoded(
        &mut self,
        file: &Hdf5File,
        entry: &ChunkEntry,
        codecs: &[Option<Value>],
    ) -> Result<Vec<u8>, String> {
        let is_skipped = |number: usize| {
            1u32.checked_shl(u32::try_from(number).ok()?).map(|bit| bit & entry.filter_mask != 0)
        };
        let first =
            (0..codecs.len()).find(|number| is_skipped(*number) == Some(true)).unwrap_or(codecs.len());
        if (first..codecs.len()).any(|number| is_skipped(number) != Some(true)) {
            return Err(format!("a chunk at {:?} that skips filters before others", entry.offsets));
        }
        self.bytes = self.bytes.saturating_add(entry.size);
        if BYTES_MAX < self.bytes {
            return Err(format!("chunks of over {BYTES_MAX} bytes that skip filters"));
        }
        let len = memory_len(entry.size).map_err(|error| error.to_string())?;
        let stored = file.storage().read_range(entry.address, len).map_err(|error| error.to_string())?;
        let rest: Vec<Value> = codecs.get(first..).unwrap_or_default().iter().flatten().map(quick).collect();
        let document = json!({
            "zarr_format": 2, "shape": [len], "chunks": [len], "dtype": "|u1", "compressor": null, "filters": rest,
            "fill_value": null, "order": "C",
        });
        let metadata = ArrayMetadata::parse_v2(document.to_string().as_bytes(), None, "a chunk");
        let codec = metadata.and_then(|metadata| ChunkCodec::new(&metadata));
        let encoded = codec.and_then(|codec| codec.encode_many(&[&stored]));
        encoded
            .map_err(|error| error.to_string())?
            .pop()
            .ok_or_else(|| "a chunk that was not encoded".to_owned())
    }
}

/// A codec that takes the least time and memory to encode, and is decoded by what the array names: what its writer found not worth
/// filtering is not worth more, and a file may ask for gigabytes.
fn quick(codec: &Value) -> Value {
    let mut codec = codec.clone();
    for effort in ["level", "clevel"] {
        if let Some(effort) = codec.get_mut(effort) {
            *effort = json!(1);
        }
    }
    codec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_effort_is_taken_over_from_a_file() {
        assert_eq!(quick(&json!({"id": "zstd", "level": 22})), json!({"id": "zstd", "level": 1}));
        let blosc =
            |level| json!({"id": "blosc", "cname": "zstd", "clevel": level, "shuffle": 1, "blocksize": 0});
        assert_eq!(quick(&blosc(9)), blosc(1));
        assert_eq!(
            quick(&json!({"id": "shuffle", "elementsize": 4})),
            json!({"id": "shuffle", "elementsize": 4})
        );
    }
}
