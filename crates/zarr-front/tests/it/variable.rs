//! Arrays of strings and byte strings of any length.

use serde_json::{Value, json};
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, DecodedCache, ErrorKind, Selection, Store};

/// A chunk as `vlen-utf8` and its like store it.
fn chunk(elements: &[&[u8]]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
    let mut bytes = length(elements.len()).to_vec();
    for element in elements {
        bytes.extend(length(element.len()));
        bytes.extend(*element);
    }
    bytes
}

/// A 3 x 5 array in chunks of 2 x 2, of which only those of the first row of chunks are stored.
fn memory(data_type: &str, codecs: Value, fill_value: &str) -> MemoryMedium {
    let memory = MemoryMedium::new();
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": data_type, "fill_value": fill_value,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    });
    memory.put("zarr.json", document.to_string().into_bytes());
    for column in 0..3 {
        let texts: Vec<String> = (0..4).map(|number| format!("{column}{}", "é".repeat(number))).collect();
        let elements: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        memory.put(&format!("c/0/{column}"), chunk(&elements));
    }
    memory
}

fn open(memory: &MemoryMedium) -> Array {
    Array::open_in(&Store::memory(memory), "").unwrap()
}

fn read(array: &Array, selection: &str) -> Vec<String> {
    let read = array.read_variable(&selection.parse().unwrap()).unwrap();
    assert_eq!(read.len(), usize::try_from(read.shape().iter().product::<u64>()).unwrap());
    read.strings().unwrap().into_iter().map(str::to_owned).collect()
}

#[test]
fn selections_of_strings_are_read() {
    let array = open(&memory("string", json!(["vlen-utf8"]), "fill"));
    assert_eq!(read(&array, "0, :"), ["0", "0é", "1", "1é", "2"]);
    assert_eq!(read(&array, "1:, 3"), ["1ééé", "fill"]);
    assert_eq!(read(&array, "::-2, ::-2"), ["fill", "fill", "fill", "2", "1", "0"]);
    assert_eq!(read(&array, "2:2"), [""; 0]);
    let many = array.read_many_variable(&["1, 1".parse().unwrap(), Selection::all()]).unwrap();
    assert_eq!((many[0].shape(), many[0].strings().unwrap()), (&[][..], vec!["0ééé"]));
    assert_eq!((many[1].shape(), many[1].len()), (&[3, 5][..], 15));
    assert_eq!(many[1].offsets().len(), 16);
    // Chunks of no fixed size are not kept.
    let kept = array.with_decoded_cache(&DecodedCache::new(1 << 20));
    assert_eq!(read(&kept, "0, :2"), read(&kept, "0, :2"));
}

#[test]
fn transposed_chunks_are_read() {
    let codecs = json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, "vlen-bytes"]);
    let array = open(&memory("bytes", codecs, ""));
    assert_eq!(read(&array, ":, :2"), ["0", "0éé", "0é", "0ééé", "", ""]);
}

#[test]
fn each_way_of_reading_refuses_the_other_elements() {
    let array = open(&memory("string", json!(["vlen-utf8"]), ""));
    let error = array.read(&Selection::all()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("`read_variable`"), "{error}");
    let mut target = vec![0; 15 * 16];
    assert_eq!(array.read_into(&Selection::all(), &mut target).unwrap_err().kind(), ErrorKind::Unsupported);
    let numbers = memory("uint8", json!(["bytes"]), "");
    let document = numbers_document();
    numbers.put("zarr.json", document.to_string().into_bytes());
    let error = open(&numbers).read_variable(&Selection::all()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("`uint8`"), "{error}");
}

fn numbers_document() -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": ["bytes"],
    })
}

#[test]
fn chunks_that_make_no_sense_are_corrupt() {
    let sound = chunk(&[b"a", b"b", b"c", b"d"]);
    let mut far = sound.clone();
    far[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let broken = [
        Vec::new(),
        chunk(&[b"a"]),
        sound[..sound.len() - 1].to_vec(),
        far,
        chunk(&[b"\xff", b"", b"", b""]),
    ];
    for bytes in broken {
        let memory = memory("string", json!(["vlen-utf8"]), "");
        memory.put("c/0/1", bytes.clone());
        let error = open(&memory).read_variable(&Selection::all()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{bytes:?}: {error}");
        assert_eq!(read(&open(&memory), "0, :2"), ["0", "0é"]);
    }
}

#[test]
fn huge_fill_values_are_refused() {
    let huge = |fill_value: &str, length: u64| {
        let memory = MemoryMedium::new();
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [length], "data_type": "string", "codecs": ["vlen-utf8"],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1_u64 << 20]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value,
        });
        memory.put("zarr.json", document.to_string().into_bytes());
        Array::open_in(&Store::memory(&memory), "")
    };
    let error = huge(&"x".repeat((1 << 20) + 1), 4).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("`fill_value`"), "{error}");
    let array = huge(&"x".repeat(1 << 20), 1 << 24).unwrap();
    assert_eq!(array.read_variable(&"7:9".parse().unwrap()).unwrap().as_bytes().len(), 2 << 20);
}

#[test]
fn codecs_must_fit_the_elements() {
    for (data_type, codecs) in [
        ("string", json!([{"name": "bytes", "configuration": {"endian": "little"}}])),
        ("uint8", json!(["vlen-bytes"])),
        ("string", json!(["vlen-utf8", "vlen-utf8"])),
    ] {
        let mut document = numbers_document();
        document["data_type"] = data_type.into();
        document["fill_value"] = if data_type == "string" { "".into() } else { 0.into() };
        document["codecs"] = codecs;
        let memory = MemoryMedium::new();
        memory.put("zarr.json", document.to_string().into_bytes());
        let error = Array::open_in(&Store::memory(&memory), "").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}
