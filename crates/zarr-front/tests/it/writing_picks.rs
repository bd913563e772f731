//! Writes by lists, masks, points and blocks, against an array in memory.

use crate::writing::{Dice, Oracle, create, seeds, selection, store_of};
use serde_json::json;
use std::sync::Arc;
use swath_ioengine::{Engine, EngineConfig, Limits, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, Elements, ErrorKind, Points, Selection, Store, WriteOptions,
};

/// A list of indices of an axis: sorted or not, with repeats, some of them negative.
fn list(dice: &mut Dice, length: u64, count: u64) -> Arc<[i64]> {
    let length = i64::try_from(length).unwrap();
    let index = |dice: &mut Dice| {
        let index = i64::try_from(dice.below(length.cast_unsigned())).unwrap();
        if dice.one_in(4) { index - length } else { index }
    };
    let mut list: Vec<i64> = (0..count).map(|_| index(dice)).collect();
    if dice.one_in(2) {
        list.sort_unstable();
    }
    list.into()
}

fn mask(dice: &mut Dice, count: u64) -> Arc<[bool]> {
    let share = 1 + dice.below(4);
    (0..count).map(|_| dice.below(share) == 0).collect()
}

/// Any selection that is not by integers and slices alone.
pub(crate) fn picked(dice: &mut Dice, shape: &[u64], grid: &[u64]) -> Selection {
    let count: u64 = shape.iter().product();
    match dice.below(4) {
        0 if count != 0 && !shape.is_empty() => {
            let outer = dice.below(4);
            let inner = 1 + dice.below(9);
            let axes = shape.iter().map(|length| match dice.below(3) {
                0 => (vec![inner], list(dice, *length, inner)),
                1 => (vec![outer, 1], list(dice, *length, outer)),
                _ => (vec![outer, inner], list(dice, *length, outer * inner)),
            });
            Points::broadcast(axes.collect::<Vec<_>>()).unwrap().into()
        }
        1 => Selection::mask(shape.to_vec(), mask(dice, count)).unwrap(),
        2 if !grid.contains(&0) => {
            let block = |objects: &u64| match dice.below(3) {
                0 => AxisSelection::ALL,
                1 => AxisSelection::Index(list(dice, *objects, 1)[0]),
                _ => (i64::try_from(dice.below(*objects)).unwrap()..).into(),
            };
            Selection::blocks(grid.iter().map(block).collect())
        }
        _ => {
            let plain = selection(dice, shape);
            let axes = plain.axes().unwrap().iter().zip(shape).map(|(entry, length)| match dice.below(3) {
                0 if *length != 0 => {
                    let count = dice.below(9);
                    AxisSelection::List(list(dice, *length, count))
                }
                1 => AxisSelection::Mask(mask(dice, *length)),
                _ => entry.clone(),
            });
            Selection::new(axes.collect())
        }
    }
}

/// An array of the same shape and grid that holds the number of each element: reading it tells where a selection's are.
pub(crate) fn numbers(array: &Array) -> Array {
    let store = Store::memory(&MemoryMedium::new());
    let chunks = array.metadata().chunk_shape();
    let numbers = ArrayBuilder::new(array.shape(), DataType::UInt64).chunk_shape(chunks).create(&store, "");
    let numbers = numbers.unwrap();
    let count: u64 = array.shape().iter().product();
    let values: Vec<u8> = (0..count).flat_map(u64::to_ne_bytes).collect();
    numbers.write(&Selection::all(), &values).unwrap();
    numbers
}

fn check_case(seed: u64, medium: &swath_ioengine::Medium) {
    let mut dice = Dice::new(seed);
    let array = create(&mut dice, &store_of(medium));
    let limits = Limits { lanes: 1 + usize::try_from(dice.below(3)).unwrap(), ..Limits::default() };
    let array = array.with_engine(Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
    let (numbers, mut oracle) = (numbers(&array), Oracle::of(&array));
    let element = oracle.element;
    for _ in 0..1 + dice.below(5) {
        let selection = picked(&mut dice, array.shape(), array.stored_grid());
        let read = numbers.read(&selection).unwrap();
        let (words, _) = read.as_bytes().as_chunks();
        let places: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let is_one = dice.one_in(4);
        let count = if is_one { 1 } else { places.len() };
        let data: Vec<u8> = (0..count * element).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        // Broadcast along the first axis, now and then.
        let mut shape = read.shape().to_vec();
        let rows = shape.first().copied().filter(|rows| *rows != 0 && !is_one && dice.one_in(3)).unwrap_or(1);
        let data = &data[..data.len() / usize::try_from(rows).unwrap()];
        if rows != 1 {
            shape[0] = 1;
        }
        let source = match is_one {
            true => Elements::one(data),
            false => Elements::new(data, &shape, element).unwrap(),
        };
        array.write_from(&selection, &source, &WriteOptions::default()).unwrap();
        for (number, place) in places.iter().enumerate() {
            let place = usize::try_from(*place).unwrap() * element;
            let from = if is_one { 0 } else { number * element % data.len() };
            oracle.bytes[place..][..element].copy_from_slice(&data[from..][..element]);
        }
        let read = array.read(&Selection::all()).unwrap();
        let document = array.metadata().document();
        assert!(read.as_bytes() == oracle.bytes, "seed {seed}: {selection} of {document:?}");
    }
}

#[test]
fn what_is_picked_is_written_to_memory() {
    for seed in seeds(600) {
        check_case(seed, &MemoryMedium::new().medium());
    }
}

#[test]
fn what_is_picked_is_written_to_files() {
    for seed in seeds(40) {
        let folder = tempfile::tempdir().unwrap();
        let files =
            swath_ioengine::LocalFiles::open(folder.path(), swath_ioengine::FileAccess::preferred().unwrap());
        check_case(seed, &files.unwrap().medium());
    }
}

/// However many elements of an object are named, and in whatever order, it is read once; written whole, not at all.
#[test]
fn objects_are_read_once() {
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    let store = Store::new(remote.medium(), "", "remote");
    let plain = ArrayBuilder::new(&[8, 8], DataType::UInt8);
    for (path, builder) in [
        ("chunks", plain.clone().chunk_shape(&[4, 4])),
        ("shards", plain.chunk_shape(&[2, 2]).shard_shape(&[4, 4])),
    ] {
        let array = builder.create(&store, path).unwrap();
        let reads = |selection: Selection| {
            let before = remote.requests();
            array.write_from(&selection, &Elements::one(&[1]), &WriteOptions::default()).unwrap();
            remote.requests() - before
        };
        let whole = vec![5, 0, 1, 7, 2, 3, 4, 6, 5];
        assert_eq!(reads((whole.clone(), ..).into()), 0);
        assert_eq!(reads((whole, vec![1, 2, 7]).into()), 4);
        assert_eq!(reads(Points::new([vec![0, 5, 1, 5], vec![7, 7, 6, 7]]).unwrap().into()), 2);
        assert_eq!(reads(Selection::blocks(vec![AxisSelection::Index(-1)])), 0);
        let corner: Vec<bool> = (0..64).map(|number| number < 4).collect();
        assert_eq!(reads(Selection::mask(vec![8, 8], corner).unwrap()), 1);
        assert_eq!(reads(Selection::mask(vec![8, 8], vec![false; 64]).unwrap()), 0);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let store = Store::memory(&MemoryMedium::new());
    let array =
        ArrayBuilder::new(&[4, 4], DataType::UInt8).attributes(json!({}).as_object().unwrap().clone());
    let array = array.create(&store, "a").unwrap();
    let write = |selection: Selection, bytes: &[u8]| array.write(&selection, bytes).unwrap_err();
    let error = write((vec![1, 4], ..).into(), &[]);
    assert!(error.kind() == ErrorKind::OutOfBounds && error.to_string().contains("index 4"), "{error}");
    let points = || Selection::from(Points::new([vec![0, 1, 2], vec![0, 1, 1]]).unwrap());
    let error = write(points(), &[1, 2]);
    assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("memory/a")));
    let source = Elements::new(&[1, 2], &[2], 1).unwrap();
    let error = array.write_from(&points(), &source, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("[2]") && error.to_string().contains("[3]"), "{error}");
    assert_eq!(write(Selection::mask(vec![2], vec![true; 2]).unwrap(), &[]).kind(), ErrorKind::OutOfBounds);
    assert_eq!(write(Selection::blocks(vec![AxisSelection::Index(7)]), &[]).kind(), ErrorKind::OutOfBounds);
    let limits = Limits { plan_bytes_max: 64, ..Limits::default() };
    let few = array.with_engine(Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
    let points = Points::new([[3, 1, 2, 0, 3, 1, 0], [2, 2, 0, 0, 1, 1, 3]].map(Vec::from)).unwrap();
    let error = few.write(&points.into(), &[0; 7]).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unsupported && error.to_string().contains("plan_bytes_max"),
        "{error}"
    );
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [0; 16]);
}
