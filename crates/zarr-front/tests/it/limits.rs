//! Arrays larger than anything: what is read of them is, and what cannot be is refused before it takes memory.

use crate::written::Spec;
use serde_json::json;
use std::time::{Duration, Instant};
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, Error, ErrorKind, Selection, Store};

fn open(memory: &MemoryMedium, spec: &Spec) -> Result<Array, Error> {
    memory.put("zarr.json", spec.document().1.to_string());
    Array::open_in(&Store::memory(memory), "")
}

fn parse(text: &str) -> Selection {
    text.parse().unwrap()
}

#[test]
fn results_that_no_memory_holds_are_refused() {
    let memory = MemoryMedium::new();
    let array = open(&memory, &Spec::plain(&[1 << 55], &[1 << 40])).unwrap();
    for selections in [&[Selection::all()][..], &[parse("0"), parse(":"), parse("::2")]] {
        let error = array.read_many(selections).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("no memory for"), "{error}");
    }
    let array = open(&memory, &Spec::plain(&[u64::MAX], &[1])).unwrap();
    assert_eq!(array.read(&Selection::all()).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(array.nbytes(), None);
}

#[test]
fn reads_of_too_many_objects_are_refused() {
    let memory = MemoryMedium::new();
    let array =
        open(&memory, &Spec { element_bytes: 1, ..Spec::plain(&[1 << 14, 1 << 14], &[1, 1]) }).unwrap();
    let error = array.read(&Selection::all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("stored objects: read it in parts"), "{error}");
    assert_eq!(array.read(&parse("::1000, ::1000")).unwrap().as_bytes(), [7; 17 * 17]);
}

#[test]
fn the_ends_of_huge_arrays_are_read() {
    let memory = MemoryMedium::new();
    let array = open(&memory, &Spec::plain(&[u64::MAX], &[1000])).unwrap();
    let last = (u64::MAX - 1) / 1000;
    memory.put(&format!("c/{last}"), (0..1000u16).flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let read = array.read(&parse("-1")).unwrap();
    assert_eq!(u64::from(read.as_slice::<u16>().unwrap()[0]), (u64::MAX - 1) % 1000);
    assert_eq!(array.read(&parse(":-4:-1")).unwrap().as_slice::<u16>().unwrap(), [614, 613, 612]);
    assert_eq!(array.read(&parse("-3:")).unwrap().as_slice::<u16>().unwrap(), [612, 613, 614]);
    assert_eq!(array.read(&parse("5:1005:999")).unwrap().as_slice::<u16>().unwrap(), [7, 7]);

    // More elements than there are numbers.
    for shape in [[1 << 40, 1 << 40], [u64::MAX, 4]] {
        assert_eq!(open(&memory, &Spec::plain(&shape, &[1, 1])).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn empty_axes_make_empty_results_whatever_the_others_are() {
    let memory = MemoryMedium::new();
    for shape in [[1 << 40, 1 << 40, 0], [0, 1 << 40, 1 << 40], [u64::MAX, 0, u64::MAX]] {
        let array = open(&memory, &Spec::plain(&shape, &[1, 1, 1])).unwrap();
        let read = array.read_many(&[Selection::all(), Selection::all(), parse("..., :0")]).unwrap();
        assert!(read.iter().all(|read| read.as_bytes().is_empty() && read.shape().len() == 3));
    }
    let array = open(&memory, &Spec::plain(&[u64::MAX / 4, 4], &[1, 1])).unwrap();
    assert_eq!(array.read(&parse(":, 2:2")).unwrap().shape(), [u64::MAX / 4, 0]);
}

#[test]
fn an_index_that_is_too_large_takes_no_memory() {
    let memory = MemoryMedium::new();
    let spec = Spec::sharded(&[1 << 50], &[1 << 50], &[&[1 << 10]]);
    let array = open(&memory, &spec).unwrap();
    assert_eq!(array.read(&parse("5:8")).unwrap().as_slice::<u16>().unwrap(), [7; 3]);
    memory.put("c/0", vec![0; 1000]);
    let error = array.read(&parse("5:8")).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, Some("memory/c/0")), "{error}");
    assert!(error.message().contains("17592186044420 bytes") && error.message().contains("1000"), "{error}");
    // More chunks than there are numbers: refused when it is opened, by whichever bound is first.
    let side = 1 << 31;
    let spec = Spec::sharded(&[side, side], &[side, side], &[&[1 << 16, 1 << 16], &[1, 1]]);
    if let Ok(array) = open(&memory, &spec) {
        memory.put("c/0/0", vec![0; 1000]);
        assert_eq!(array.read(&parse("0, 0")).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    for document in [json!([1u64 << 40, 1u64 << 40]), json!([u64::MAX, u64::MAX])] {
        let mut metadata = Spec::plain(&[4, 4], &[1, 1]).document().1;
        metadata["chunk_grid"]["configuration"]["chunk_shape"] = document;
        memory.put("zarr.json", metadata.to_string());
        assert!(Array::open_in(&Store::memory(&memory), "").is_err());
    }
}

#[test]
fn far_ends_of_a_shard_are_not_joined_by_windows() {
    let memory = MemoryMedium::new();
    let array = open(&memory, &Spec::sharded(&[1 << 50, 4], &[1 << 50, 4], &[&[1 << 10, 1]])).unwrap();
    let selections = [parse("0"), parse("-1, ::-1"), parse("3::1125899906842600, 2:")];
    for read in array.read_many(&selections).unwrap() {
        assert!(read.as_slice::<u16>().unwrap().iter().all(|value| *value == 7));
    }
    assert!(array.read(&parse("::1125899906842600")).is_ok());
}

#[test]
fn a_shard_of_many_chunks_is_cut_into_windows_quickly() {
    // Chunks in a row, two bytes each: finding a window's own among them must not mean looking at all.
    const CHUNKS: u64 = 1 << 17;
    let written = Spec::sharded(&[CHUNKS], &[CHUNKS], &[&[1]]).write();
    let array = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
    for text in [":", "::-1", "::3", "::-1000"] {
        let started = Instant::now();
        assert_eq!(array.read(&parse(text)).unwrap().as_bytes(), written.select(&parse(text)), "{text}");
        eprintln!("{text}: {:?}", started.elapsed());
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
