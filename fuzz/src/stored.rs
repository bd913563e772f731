//! An array's own document and one stored object of it, both of which anyone may have written.

use std::sync::OnceLock;

use swath_ioengine::{Engine, EngineConfig, Limits, MemoryMedium};
use swath_zarr_front::{Array, AxisSelection, ErrorKind, Selection, Store, ZarrFormat};

/// Bytes of a decoded chunk at most, and of an element: more is a matter of memory, not of sound reading.
const CHUNK_BYTES_MAX: u64 = 1 << 20;

/// A document, a zero byte, and the bytes of the object of the array's first chunk. `scripts/fuzz-corpora` makes such of
/// sample arrays.
pub fn read(input: &[u8]) {
    let Some(end) = input.iter().position(|byte| *byte == 0) else { return };
    let (document, stored) = (&input[..end], &input[end + 1..]);
    for key in ["zarr.json", ".zarray"] {
        let memory = MemoryMedium::new();
        memory.put(key, document.to_vec());
        match Array::open_in(&Store::memory(&memory), "") {
            Ok(array) => read_first(&array, &memory, stored),
            Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
        }
    }
}

fn read_first(array: &Array, memory: &MemoryMedium, stored: &[u8]) {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let limits =
        Limits { lanes: 1, inline_reads_max: u64::MAX, inline_bytes_max: u64::MAX, ..Limits::default() };
    let engine = ENGINE.get_or_init(|| Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
    let array = array.with_engine(engine.clone());
    let element = u64::try_from(array.data_type().size_bytes()).unwrap_or(u64::MAX);
    let chunk = array.chunk_shape().iter().try_fold(element, |bytes, extent| bytes.checked_mul(*extent));
    if chunk.is_none_or(|bytes| CHUNK_BYTES_MAX < bytes) {
        return;
    }
    let mut key = String::new();
    let first = vec![0; array.shape().len()];
    array.metadata().chunk_key_encoding().write_key(&first, &mut key);
    // One that is called as its document is would take its place.
    let is_document = matches!(array.zarr_format(), ZarrFormat::V2) && key == ".zarray" || key == "zarr.json";
    if is_document || array.shape().contains(&0) {
        return;
    }
    memory.put(&key, stored.to_vec());
    // The first chunk whole, and its first element.
    let whole = array
        .chunk_shape()
        .iter()
        .zip(array.shape())
        .map(|(extent, length)| AxisSelection::from(0..*extent.min(length)));
    for selection in
        [Selection::new(whole.collect()), Selection::new(first.iter().map(|_| 0i64.into()).collect())]
    {
        let read = if array.data_type().is_variable_length() {
            array.read_variable(&selection).map(|_| ())
        } else {
            array.read(&selection).map(|_| ())
        };
        if let Err(error) = read {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
        }
    }
}
