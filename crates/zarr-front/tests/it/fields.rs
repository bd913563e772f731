//! Arrays of structures, read by some of their fields, against their whole elements.

use crate::oracle::engine;
use crate::picks::{Numbers, mask, orthogonal, points};
use proptest::prelude::*;
use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, Scratch};
use swath_ioengine::{FileAccess, LocalFiles, MemoryMedium};
use swath_zarr_front::{Array, DataType, DecodedCache, ErrorKind, Selection, Store};

/// `a` of two bytes, big-endian; `b` of five; `c` of eight, little-endian; `d` of four bytes, twice.
const ELEMENT_BYTES: usize = 23;

/// The bytes of each field in an element, and how they are swapped to be native.
fn place(name: &str) -> (std::ops::Range<usize>, usize, bool) {
    let is_little = cfg!(target_endian = "little");
    match name {
        "a" => (0..2, 2, is_little),
        "b" => (2..7, 1, false),
        "c" => (7..15, 8, !is_little),
        _ => (15..23, 4, is_little),
    }
}

fn document(shape: &[u64], chunks: &[u64], compressor: &Value) -> Value {
    json!({
        "zarr_format": 2, "shape": shape, "chunks": chunks, "order": "C", "filters": null, "compressor": compressor,
        "dtype": [["a", ">u2"], ["b", "|V5"], ["c", "<i8"], ["d", ">f4", [2]]],
        "fill_value": "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhc=",
    })
}

struct Case {
    shape: Vec<u64>,
    memory: MemoryMedium,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(axes: &[(u64, u64)], compressed: bool, numbers: &mut Numbers) -> Case {
        let (shape, chunks): (Vec<u64>, Vec<u64>) = axes.iter().copied().unzip();
        let compressor = if compressed { json!({"id": "zstd", "level": 1}) } else { Value::Null };
        let (memory, folder) = (MemoryMedium::new(), tempfile::tempdir().unwrap());
        let put = |key: &str, bytes: Vec<u8>| {
            std::fs::write(folder.path().join(key), &bytes).unwrap();
            memory.put(key, bytes);
        };
        put(".zarray", document(&shape, &chunks, &compressor).to_string().into_bytes());
        let mut codecs = vec![Codec::from_v3("bytes", &Value::Null).unwrap()];
        if compressed {
            codecs.push(Codec::from_v2(&compressor).unwrap());
        }
        let layout = ChunkLayout { shape: chunks.clone(), element: Element::opaque(ELEMENT_BYTES, 1) };
        let chain = Chain::compile(&codecs, &layout).unwrap();
        let grid: Vec<u64> = axes.iter().map(|(length, chunk)| length.div_ceil(*chunk)).collect();
        crate::written::odometer(&grid, |at| {
            if numbers.below(5) == 0 {
                return;
            }
            let chunk: Vec<u8> =
                (0..chain.decoded_len()).map(|_| u8::try_from(numbers.below(256)).unwrap()).collect();
            let mut stored = Vec::new();
            chain.encode(&chunk, &mut stored, &mut Scratch::default()).unwrap();
            let key: Vec<String> = at.iter().map(ToString::to_string).collect();
            put(&key.join("."), stored);
        });
        Case { shape, memory, folder }
    }

    fn arrays(&self) -> Vec<Array> {
        let memory = Array::open_in(&Store::memory(&self.memory), "").unwrap();
        let kept = memory.with_decoded_cache(&DecodedCache::new(1 << 20));
        let mapped = LocalFiles::open(self.folder.path(), FileAccess::Mapped).unwrap();
        let mapped = Array::open_in(&Store::new(mapped.medium(), "", "mapped"), "").unwrap();
        let arrays = [memory, kept.clone(), kept, Array::open(self.folder.path()).unwrap(), mapped];
        arrays.into_iter().map(|array| array.with_engine(engine())).collect()
    }
}

/// The fields of whole elements, one behind the other. Whole elements are native already.
fn fields_of(whole: &[u8], names: &[&str]) -> Vec<u8> {
    let parts =
        whole.chunks(ELEMENT_BYTES).flat_map(|element| names.iter().map(move |name| &element[place(name).0]));
    parts.flatten().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fields_are_those_of_whole_elements(
        axes in prop::collection::vec((1u64..9, 1u64..5), 1..3), compressed: bool, seed: u64,
        names in prop::sample::subsequence(vec!["a", "b", "c", "d"], 1..4).prop_shuffle(),
    ) {
        let mut numbers = Numbers(seed);
        let case = Case::new(&axes, compressed, &mut numbers);
        let mut wanted = vec![mask(&case.shape, &mut numbers).selection, Selection::all()];
        wanted.push(orthogonal(&case.shape, &mut numbers).selection);
        wanted.extend(points(&case.shape, &mut numbers).map(|points| points.selection));
        for array in case.arrays() {
            let whole = array.read_many(&wanted).unwrap();
            let seen = array.with_fields(&names).unwrap();
            let some = seen.read_many(&wanted).unwrap();
            prop_assert_eq!(seen.fill_value().bytes(), fields_of(array.fill_value().bytes(), &names));
            for (some, whole) in some.iter().zip(&whole) {
                prop_assert_eq!(some.as_bytes(), &fields_of(whole.as_bytes(), &names)[..], "{:?}", names);
                prop_assert_eq!((some.shape(), some.data_type()), (whole.shape(), seen.data_type()));
            }
            let c = array.with_field("c").unwrap();
            prop_assert_eq!(c.data_type(), &DataType::Int64);
            let read = c.read(&Selection::all()).unwrap();
            prop_assert_eq!(read.as_bytes(), &fields_of(whole[1].as_bytes(), &["c"])[..]);
        }
    }
}

#[test]
fn whole_elements_are_native() {
    let memory = MemoryMedium::new();
    memory.put(".zarray", document(&[1], &[1], &Value::Null).to_string().into_bytes());
    let stored: Vec<u8> = (0..23).collect();
    memory.put("0", stored.clone());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    for name in ["a", "b", "c", "d"] {
        let (range, unit, is_foreign) = place(name);
        let mut wanted = stored[range].to_vec();
        if is_foreign {
            wanted.chunks_mut(unit).for_each(<[u8]>::reverse);
        }
        let read = array.with_fields(&[name]).unwrap().read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes(), wanted, "{name}");
    }
}

#[test]
fn what_are_no_fields_is_refused() {
    let memory = MemoryMedium::new();
    memory.put(".zarray", document(&[4], &[2], &Value::Null).to_string().into_bytes());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let kind = |found: Result<Array, swath_zarr_front::Error>| found.map(|_| ()).unwrap_err().kind();
    assert_eq!(kind(array.with_field("x")), ErrorKind::Invalid);
    assert_eq!(kind(array.with_fields(&["a", "x"])), ErrorKind::Invalid);
    assert_eq!(kind(array.with_fields(&["a", "a"])), ErrorKind::Invalid);
    assert_eq!(kind(array.with_fields(&[])), ErrorKind::Invalid);
    assert_eq!(kind(array.with_field("d")), ErrorKind::Unsupported);
    let seen = array.with_field("a").unwrap();
    assert_eq!(seen.read(&Selection::all()).unwrap().as_slice::<u16>().unwrap(), [0x0102; 4]);
    let error = seen.write(&"0:1".parse().unwrap(), &[1, 2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
