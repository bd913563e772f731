//! Writes whose elements come part by part, against writes of all of them at once.

use crate::writing::{Dice, Oracle, create, seeds, store_of};
use serde_json::Value;
use std::num::NonZeroUsize;
use swath_ioengine::{ByteRange, Engine, Entry, Medium, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, Elements, EmptyChunks, ErrorKind, IndexLocation, Selection,
    Store, WriteMemory, WriteOptions,
};

/// What parts must be whole numbers of, along each axis: the entries of the outermost shards, or the chunks.
fn granules(array: &Array) -> Vec<u64> {
    let codecs = array.metadata().document().get("codecs").and_then(Value::as_array).cloned();
    let is_sharding = |codec: &&Value| codec["name"] == "sharding_indexed";
    match codecs.unwrap_or_default().iter().find(is_sharding) {
        Some(sharding) => serde_json::from_value(sharding["configuration"]["chunk_shape"].clone()).unwrap(),
        None => array.chunk_shape().to_vec(),
    }
}

/// Cuts an array into boxes of whole granules, in any order.
fn parts(dice: &mut Dice, array: &Array) -> Vec<Vec<(u64, u64)>> {
    let mut boxes = vec![Vec::new()];
    for (length, granule) in array.shape().iter().zip(granules(array)) {
        let (mut ranges, mut start) = (Vec::new(), 0);
        while start < *length {
            let end = (start + granule * (1 + dice.below(3))).min(*length);
            ranges.push((start, end));
            start = end;
        }
        let with = |range: &(u64, u64)| {
            boxes.iter().map(|of: &Vec<_>| [&of[..], &[*range]].concat()).collect::<Vec<_>>()
        };
        boxes = ranges.iter().flat_map(with).collect();
    }
    for last in (1..boxes.len()).rev() {
        boxes.swap(last, usize::try_from(dice.below(last as u64 + 1)).unwrap());
    }
    boxes
}

fn selection_of(part: &[(u64, u64)]) -> Selection {
    let axis = |(start, end): &(u64, u64)| AxisSelection::from(start.cast_signed()..end.cast_signed());
    Selection::new(part.iter().map(axis).collect())
}

fn check_case(seed: u64, medium: &Medium, memory: WriteMemory) -> WriteMemory {
    let mut dice = Dice::new(seed);
    let store = store_of(medium);
    let array = create(&mut dice, &store);
    let mut oracle = Oracle::of(&array);
    let element = array.data_type().size_bytes();
    // What was there before is gone with the shards that it was in.
    let before: Vec<u8> = oracle.bytes.iter().map(|byte| byte ^ 0x55).collect();
    array.write(&Selection::all(), &before).unwrap();
    let is_sharded = array.shard_shape().is_some();
    let empty_chunks = *dice.pick(&[EmptyChunks::Omit, EmptyChunks::Store]);
    let past_cache = dice.below(2) == 1;
    let options = WriteOptions { empty_chunks, past_cache, ..WriteOptions::default() };
    let mut write = array.gathered_write(&options, memory).unwrap();
    for part in parts(&mut dice, &array) {
        let selection = selection_of(&part);
        let data = crate::writing::data(&mut dice, &array, &selection);
        oracle.write(&selection, &data);
        let shape: Vec<u64> = part.iter().map(|(start, end)| end - start).collect();
        write.add(&selection, &Elements::new(&data, &shape, element).unwrap()).unwrap();
    }
    if is_sharded {
        assert!(array.read(&Selection::all()).unwrap().as_bytes() == before, "seed {seed}: stored too soon");
    }
    let memory = write.store().unwrap();
    let read = array.read(&Selection::all()).unwrap();
    assert!(read.as_bytes() == oracle.bytes, "seed {seed}: {:?}", array.metadata().document());
    if !is_sharded {
        return memory;
    }
    let found = objects(medium, array.path());
    let source = Elements::new(&oracle.bytes, array.shape(), element).unwrap();
    remove(medium, &found);
    array.write_from(&Selection::all(), &source, &options).unwrap();
    assert!(objects(medium, array.path()) == found, "seed {seed}: other bytes than one write's");
    memory
}

/// What is stored of an array, but its metadata.
fn objects(medium: &Medium, path: &str) -> Vec<(String, Vec<u8>)> {
    let mut folders = vec![path.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in medium.list(&format!("{folder}/")).unwrap() {
            let key = format!("{folder}/{}", entry.name());
            match entry {
                Entry::Object { .. } if entry.name().starts_with(['.', 'z']) => {}
                Entry::Object { .. } => found.push((key.clone(), stored(medium, &key).unwrap())),
                _ => folders.push(key.trim_end_matches('/').to_owned()),
            }
        }
    }
    found.sort();
    found
}

fn remove(medium: &Medium, objects: &[(String, Vec<u8>)]) {
    objects.iter().for_each(|(key, _)| medium.delete(key).unwrap());
}

#[test]
fn parts_are_read_as_one() {
    for threads in 1..4 {
        let mut memory = WriteMemory::of_threads(NonZeroUsize::new(threads).unwrap());
        for seed in seeds(200) {
            memory = check_case(seed, &MemoryMedium::new().medium(), memory);
        }
    }
}

#[test]
fn parts_are_read_as_one_from_files_and_remote_stores() {
    let mut memory = WriteMemory::default();
    for seed in seeds(40) {
        let folder = tempfile::tempdir().unwrap();
        let files =
            swath_ioengine::LocalFiles::open(folder.path(), swath_ioengine::FileAccess::preferred().unwrap());
        memory = check_case(seed, &files.unwrap().medium(), memory);
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        memory = check_case(seed, &remote.medium(), memory);
    }
}

/// What is stored under a key; `None` where nothing is.
fn stored(medium: &Medium, key: &str) -> Option<Vec<u8>> {
    let object = swath_ioengine::ObjectRef { key: key.into(), medium: medium.clone() };
    let range = ByteRange::Whole { len_max: 1 << 20 };
    Engine::global().read_object(&object, range).ok().map(|bytes| bytes.to_vec())
}

/// An array of two shards of four chunks of a row each, whose last row lies outside.
fn rows(index: IndexLocation) -> (Medium, Array) {
    let medium = MemoryMedium::new().medium();
    let builder = ArrayBuilder::new(&[7, 3], DataType::UInt16).chunk_shape(&[1, 3]).shard_shape(&[4, 3]);
    let array = builder.index_location(index).create(&Store::new(medium.clone(), "", "store"), "a").unwrap();
    (medium, array)
}

fn row(number: u16) -> Vec<u8> {
    (0..3).flat_map(|column| (number * 10 + column).to_ne_bytes()).collect()
}

#[test]
fn shards_are_those_of_a_write_of_all() {
    let orders = [[0, 1, 2, 3, 4, 5, 6], [6, 2, 0, 3, 5, 4, 1]];
    for (index, order) in [IndexLocation::Start, IndexLocation::End]
        .into_iter()
        .zip(orders)
        .chain([(IndexLocation::End, orders[0]), (IndexLocation::Start, orders[1])])
    {
        let ((medium, array), (medium_of_all, array_of_all)) = (rows(index), rows(index));
        let mut write = array.gathered_write(&WriteOptions::default(), WriteMemory::default()).unwrap();
        for number in order {
            let elements = row(number);
            write
                .add(&number.to_string().parse().unwrap(), &Elements::new(&elements, &[3], 2).unwrap())
                .unwrap();
        }
        write.store().unwrap();
        array_of_all.write(&Selection::all(), &(0..7).flat_map(row).collect::<Vec<_>>()).unwrap();
        for key in ["a/c/0/0", "a/c/1/0"] {
            let found = stored(&medium, key);
            assert!(found.is_some() && found == stored(&medium_of_all, key), "{key}, index at the {index:?}");
        }
    }
}

/// Shards of some mebibytes, which a device takes from where parts were encoded to, if these came in the order of their places.
#[test]
fn large_shards_past_the_page_cache_are_those_of_a_write_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let files =
        swath_ioengine::LocalFiles::open(folder.path(), swath_ioengine::FileAccess::preferred().unwrap());
    let medium = files.unwrap().medium();
    // Of 3 x 2 chunks of a mebibyte less a row, the last ones outside.
    let (rows, columns, left) = (5, 2048, 1024);
    let plane = 1023 * columns;
    let bytes: Vec<u8> = (0..=250).cycle().take(rows * plane).collect();
    let mut memory = WriteMemory::default();
    for (case, index) in [IndexLocation::Start, IndexLocation::End].into_iter().cycle().take(4).enumerate() {
        let builder = ArrayBuilder::new(&[5, 1023, 2048], DataType::UInt8).chunk_shape(&[1, 1023, 1024]);
        let builder = builder.shard_shape(&[3, 1023, 2048]).index_location(index);
        let store = Store::new(medium.clone(), "", "store");
        let (path, path_of_all) = (format!("parts{case}"), format!("all{case}"));
        let array = builder.clone().create(&store, &path).unwrap();
        let options = WriteOptions { past_cache: true, ..WriteOptions::default() };
        let mut write = array.gathered_write(&options, memory).unwrap();
        let mut order: Vec<_> = (0..rows).flat_map(|row| [(row, 0), (row, left)]).collect();
        match case < 2 {
            true => {
                order.sort_by_key(|(row, column)| write.place_in_shard(&[*row as u64, 0, *column as u64]))
            }
            false => order.reverse(),
        }
        for (row, column) in order {
            let lines = bytes[row * plane..(row + 1) * plane].chunks_exact(columns);
            let data = lines.map(|line| &line[column..column + left]).collect::<Vec<_>>().concat();
            let selection = format!("{row}, :, {column}:{}", column + left).parse().unwrap();
            write.add(&selection, &Elements::new(&data, &[1023, 1024], 1).unwrap()).unwrap();
        }
        memory = write.store().unwrap();
        let array_of_all = builder.create(&store, &path_of_all).unwrap();
        array_of_all.write(&Selection::all(), &bytes).unwrap();
        for shard in ["0/0/0", "1/0/0"] {
            let of = |path: &str| std::fs::read(folder.path().join(path).join("c").join(shard)).unwrap();
            assert!(of(&path) == of(&path_of_all), "case {case}, shard {shard}, index at the {index:?}");
        }
    }
}

#[test]
fn places_in_a_shard_grow_as_chunks_are_stored() {
    let medium = MemoryMedium::new().medium();
    let store = Store::new(medium, "", "store");
    let builder = ArrayBuilder::new(&[8, 7], DataType::UInt8).chunk_shape(&[1, 2]);
    let array = builder.clone().shard_shape(&[4, 4]).create(&store, "sharded").unwrap();
    let write = array.gathered_write(&WriteOptions::default(), WriteMemory::default()).unwrap();
    let place = |row, column| write.place_in_shard(&[row, column]).unwrap();
    // Of 4 x 2 chunks, in Morton order: the lowest bit is that of the first axis.
    let ordered = [(0, 0), (1, 0), (0, 2), (1, 2), (2, 0), (3, 0), (2, 2), (3, 2)];
    assert!(ordered.is_sorted_by(|one, next| place(one.0, one.1) < place(next.0, next.1)));
    // All elements of a chunk have its place, in each shard.
    assert_eq!(place(1, 3), place(1, 2));
    assert_eq!(place(5, 6), place(1, 2));
    assert_eq!(write.place_in_shard(&[1]), None);
    let array = builder.create(&store, "chunked").unwrap();
    let write = array.gathered_write(&WriteOptions::default(), WriteMemory::default()).unwrap();
    assert_eq!(write.place_in_shard(&[1, 2]), None);
}

#[test]
fn what_is_no_whole_chunk_or_comes_twice_is_refused() {
    let (_, array) = rows(IndexLocation::End);
    let mut write = array.gathered_write(&WriteOptions::default(), WriteMemory::default()).unwrap();
    let mut add = |selection: &str, shape: &[u64]| {
        let count: u64 = shape.iter().product();
        let elements = vec![1; usize::try_from(count).unwrap() * 2];
        let source = Elements::new(&elements, shape, 2).unwrap();
        write.add(&selection.parse().unwrap(), &source)
    };
    let told = add("2, :2", &[2]).unwrap_err();
    assert_eq!(told.kind(), ErrorKind::Invalid);
    assert_eq!(told.object(), Some("store/a/c/0/0"));
    assert!(told.to_string().contains("found one of some elements of the inner chunk at [2, 0]"), "{told}");
    // Nothing of it was added.
    add("2", &[3]).unwrap();
    let told = add("1:3", &[2, 3]).unwrap_err();
    assert!(told.to_string().contains("found another part of the one at [2, 0]"), "{told}");
    add("1", &[3]).unwrap();
    assert_eq!(add("7", &[3]).unwrap_err().kind(), ErrorKind::OutOfBounds);
    assert_eq!(add("0", &[2]).unwrap_err().kind(), ErrorKind::Invalid);
    // As far as it lies in the array.
    add("4:7", &[3, 3]).unwrap();
    write.store().unwrap();
    let read = array.read(&":, 0".parse().unwrap()).unwrap();
    assert_eq!(read.as_slice::<u16>().unwrap(), [0, 257, 257, 0, 257, 257, 257]);
}

#[test]
fn shards_of_nothing_are_removed_and_dropped_writes_store_none() {
    let (medium, array) = rows(IndexLocation::End);
    array.write(&Selection::all(), &[7; 42]).unwrap();
    let begin = || array.gathered_write(&WriteOptions::default(), WriteMemory::default()).unwrap();
    let zeros = [0; 24];
    let mut write = begin();
    write.add(&":4".parse().unwrap(), &Elements::new(&zeros, &[4, 3], 2).unwrap()).unwrap();
    drop(write);
    assert!(array.read(&Selection::all()).unwrap().as_bytes() == [7; 42]);
    let mut write = begin();
    write.add(&":4".parse().unwrap(), &Elements::new(&zeros, &[4, 3], 2).unwrap()).unwrap();
    write.store().unwrap();
    assert!(stored(&medium, "a/c/0/0").is_none() && stored(&medium, "a/c/1/0").is_some());
}

#[test]
fn interrupts_are_heard() {
    let (_, array) = rows(IndexLocation::End);
    let is_over = std::cell::Cell::new(false);
    let ask = || is_over.get();
    let options = WriteOptions { interrupt: Some(&ask), ..WriteOptions::default() };
    let mut write = array.gathered_write(&options, WriteMemory::default()).unwrap();
    let source = Elements::one(&[1, 0]);
    write.add(&"0".parse().unwrap(), &source).unwrap();
    is_over.set(true);
    assert_eq!(write.add(&"1".parse().unwrap(), &source).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(write.store().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(array.read(&Selection::all()).unwrap().as_bytes() == [0; 42]);
}
