//! Selections of a sharded array that is stored as it is: whatever is not a copy of its bytes is overhead.

use crate::ranges::engine;
use crate::{Failure, Round};
use serde_json::{Value, json};
use std::path::Path;
use swath::codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
use swath::ioengine::{FileAccess, LocalFiles, MemoryMedium};
use swath::{Array, ReadOptions, Selection, Store};

/// Elements along each axis of the array, of a shard, and of an inner chunk; 2 bytes each.
const SIDE: usize = 1024;
const SHARD: usize = 256;
const CHUNK: usize = 32;

/// A prime, by which crops are shuffled.
const STRIDE: usize = 97;

/// Crops of 2 x 2 elements, each where four chunks meet: 1024 tiles of one element, each of another chunk. One operation
/// is one tile: a share of resolving, grouping, placing and locating, its read from memory, and a copy of 2 bytes.
pub(crate) fn plan() -> Result<Round, Failure> {
    let per_axis = SIDE / CHUNK / 2;
    let corners: Vec<[usize; 2]> = (0..per_axis * per_axis)
        .map(|number| number * STRIDE % (per_axis * per_axis))
        .map(|number| [number / per_axis, number % per_axis].map(|at| (at * 2 + 1) * CHUNK - 1))
        .collect();
    let round = crops(&memory_store()?, &corners, 2)?;
    let tiles = corners.len() as u64 * 4;
    Ok(counted_as(round, tiles))
}

/// One crop of 32 x 32 elements out of four chunks. One operation is one such read.
pub(crate) fn one_crop_of_memory() -> Result<Round, Failure> {
    let round = crops(&memory_store()?, &[[317, 413]], CHUNK)?;
    Ok(counted_as(round, 1))
}

/// The same from a file in the page cache, by reads on the calling thread.
pub(crate) fn one_crop_of_file(folder: &Path) -> Result<Round, Failure> {
    let files = LocalFiles::open(folder, FileAccess::PreadThreads)?;
    let round = crops(&Store::new(files.medium(), "", "files"), &[[317, 413]], CHUNK)?;
    Ok(counted_as(round, 1))
}

fn counted_as(mut round: impl FnMut() -> Result<(), Failure> + 'static, operations: u64) -> Round {
    Box::new(move || round().map(|()| operations))
}

/// Reads square crops with their first corner at `corners`, all by one call, and has compared them once.
fn crops(
    store: &Store,
    corners: &[[usize; 2]],
    crop: usize,
) -> Result<impl FnMut() -> Result<(), Failure> + 'static, Failure> {
    let array = Array::open_in(store, "")?.with_engine(engine(u64::MAX));
    let selections: Vec<Selection> =
        corners.iter().map(|[y, x]| Selection::from((*y..y + crop, *x..x + crop))).collect();
    let places = corners.iter().flat_map(|[y, x]| {
        (*y..y + crop).flat_map(move |row| (*x..x + crop).map(move |column| (row, column)))
    });
    let expected: Vec<u8> = places.flat_map(|(row, column)| element(row, column)).collect();
    let mut target = vec![0; expected.len()];
    let options = ReadOptions::default();
    array.read_many_into(&selections, &mut target, &options)?;
    if target != expected {
        return Err("the crops hold other elements".into());
    }
    Ok(move || match selections.as_slice() {
        [one] => Ok(array.read_into(one, &mut target)?),
        many => Ok(array.read_many_into(many, &mut target, &options)?),
    })
}

fn memory_store() -> Result<Store, Failure> {
    let memory = MemoryMedium::new();
    for (key, bytes) in objects()? {
        memory.put(&key, bytes);
    }
    Ok(Store::memory(&memory))
}

/// Writes the files that [`one_crop_of_file`] reads.
pub(crate) fn write_files(folder: &Path) -> Result<(), Failure> {
    for (key, bytes) in objects()? {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().ok_or("a key without a folder")?)?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

fn element(row: usize, column: usize) -> [u8; 2] {
    let [low, high, ..] = (row * 1021 + column).to_le_bytes();
    [low, high]
}

/// Every object of the array by its key, its metadata included.
fn objects() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let index_codecs = json!([bytes, {"name": "crc32c"}]);
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [SIDE, SIDE], "data_type": "uint16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [SHARD, SHARD]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [CHUNK, CHUNK], "codecs": [bytes], "index_location": "end",
            "index_codecs": index_codecs}}],
    });
    let mut objects = vec![("zarr.json".to_owned(), document.to_string().into_bytes())];
    for row in 0..SIDE / SHARD {
        for column in 0..SIDE / SHARD {
            objects.push((format!("c/{row}/{column}"), shard([row * SHARD, column * SHARD], &index_codecs)?));
        }
    }
    Ok(objects)
}

/// Inner chunks in C order, then their index with its checksum.
fn shard([row, column]: [usize; 2], index_codecs: &Value) -> Result<Vec<u8>, Failure> {
    let (mut bytes, mut index) = (Vec::new(), Vec::new());
    for y in (row..row + SHARD).step_by(CHUNK) {
        for x in (column..column + SHARD).step_by(CHUNK) {
            let start = bytes.len();
            for row in y..y + CHUNK {
                bytes.extend((x..x + CHUNK).flat_map(|column| element(row, column)));
            }
            index.extend([start, bytes.len() - start].iter().flat_map(|word| (*word as u64).to_le_bytes()));
        }
    }
    let codecs: Vec<Codec> =
        index_codecs.as_array().into_iter().flatten().map(codec).collect::<Result<_, _>>()?;
    let element = Element::number(NumberType::UInt8);
    let chain = Chain::compile(&codecs, &ChunkLayout { shape: vec![index.len() as u64], element })?;
    let mut stored = Vec::new();
    chain.encode(&index, &mut stored, &mut Scratch::default())?;
    bytes.extend(stored);
    Ok(bytes)
}

fn codec(value: &Value) -> Result<Codec, swath::codecs::Error> {
    Codec::from_v3(value["name"].as_str().unwrap_or_default(), &value["configuration"])
}
