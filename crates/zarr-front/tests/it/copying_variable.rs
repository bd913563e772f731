//! Copies of strings and byte strings into random chunks, interrupted and gone on with.

use crate::writing::{Dice, seeds};
use serde_json::json;
use std::cell::Cell;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{
    Array, ArrayBuilder, CopyExisting, CopyOptions, CopyShards, DataType, ErrorKind, Selection, Store,
    VariableArrayData, Verify, WriteOptions, ZarrFormat,
};

fn words(dice: &mut Dice, count: u64) -> Vec<String> {
    (0..count)
        .map(|_| {
            let word = *dice.pick(&["", "a", "bc", "h\u{e9}llo", "\u{1f600}\n\"\\"]);
            word.repeat(usize::try_from(1 + dice.below(40)).unwrap())
        })
        .collect()
}

/// A new array of strings, byte strings or strings that may be missing, and all its elements.
fn create(dice: &mut Dice, store: &Store) -> (Array, VariableArrayData) {
    let shape: Vec<u64> = (0..1 + dice.below(3)).map(|_| 1 + dice.below(12)).collect();
    let chunks: Vec<u64> = shape.iter().map(|_| 1 + dice.below(5)).collect();
    let words = words(dice, shape.iter().product());
    let (strings, bytes) = (DataType::String, DataType::Bytes);
    let data = match dice.below(3) {
        0 => VariableArrayData::of_bytes(&shape, &words).unwrap(),
        1 => {
            let presence: Vec<u8> = words.iter().map(|word| u8::from(!word.is_empty())).collect();
            let data = VariableArrayData::of_strings(&shape, &words).unwrap();
            data.with_presence(DataType::Optional(strings.clone().into()), presence).unwrap()
        }
        _ => VariableArrayData::of_strings(&shape, &words).unwrap(),
    };
    let mut builder = ArrayBuilder::new(&shape, data.data_type().clone()).chunk_shape(&chunks);
    if [&strings, &bytes].contains(&data.data_type()) && dice.one_in(3) {
        builder = builder.zarr_format(ZarrFormat::V2);
        if *data.data_type() == strings && dice.one_in(2) {
            builder = builder.filters([json!({"id": "json2"})]);
        }
    } else if dice.one_in(2) {
        let shards: Vec<u64> = chunks.iter().map(|chunk| chunk * (1 + dice.below(3))).collect();
        builder = builder.shard_shape(&shards);
    }
    let array = builder.create(store, "source").unwrap();
    array.write_variable(&Selection::all(), &data, &WriteOptions::default()).unwrap();
    (array, data)
}

#[test]
fn copies_have_the_same_elements() {
    let (mut whole, mut stages) = (0, 0);
    for seed in seeds(150) {
        let mut dice = Dice::new(seed);
        let store = Store::memory(&MemoryMedium::new());
        let (source, data) = create(&mut dice, &store);
        let chunks: Vec<u64> = source.shape().iter().map(|_| 1 + dice.below(9)).collect();
        let is_v2 = dice.one_in(3);
        let shards: Option<Vec<u64>> = (!is_v2 && dice.one_in(2))
            .then(|| chunks.iter().map(|chunk| chunk * (1 + dice.below(3))).collect());
        let (asked, patience) = (Cell::new(0), dice.below(12));
        let interrupt = || asked.replace(asked.get() + 1) == patience;
        let mut options = CopyOptions {
            chunk_shape: Some(chunks),
            shards: shards.map_or(CopyShards::None, CopyShards::Of),
            zarr_format: Some(if is_v2 { ZarrFormat::V2 } else { ZarrFormat::V3 }),
            memory_bytes: 20_000 + dice.below(400_000),
            verify: if dice.one_in(2) { Verify::Yes } else { Verify::No },
            existing: CopyExisting::Resume,
            interrupt: Some(&interrupt),
            ..CopyOptions::default()
        };
        match source.copy_to(&store, "copy", &options) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            Err(error) if error.to_string().contains("wanted memory for objects") => continue,
            // v2 has no elements that may be missing.
            Err(error) if is_v2 && error.kind() == ErrorKind::Unsupported => {
                assert!(matches!(data.data_type(), DataType::Optional(_)), "seed {seed}: {error}");
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        options.interrupt = None;
        stages += usize::from(source.copy_plan(&options).unwrap().stages.len() == 2);
        source.copy_to(&store, "copy", &options).unwrap();
        let copy = Array::open_in(&store, "copy").unwrap();
        assert!(copy.read_variable(&Selection::all()).unwrap() == data, "seed {seed}");
        whole += 1;
    }
    println!("{whole} copies, {stages} of them by an intermediate array");
    assert!(50 < whole);
}

/// How long elements are is looked at before a plan is made: longer ones make smaller boxes.
#[test]
fn plans_count_what_elements_hold() {
    let regions = |length: usize| {
        let store = Store::memory(&MemoryMedium::new());
        let array =
            ArrayBuilder::new(&[4096], DataType::String).chunk_shape(&[16]).create(&store, "").unwrap();
        let data = VariableArrayData::of_strings(&[4096], vec!["x".repeat(length); 4096]).unwrap();
        array.write_variable(&Selection::all(), &data, &WriteOptions::default()).unwrap();
        let options = CopyOptions { memory_bytes: 4_000_000, ..CopyOptions::default() };
        let plan = array.copy_plan(&options).unwrap();
        (plan.element_bytes, plan.stages[0].region.clone())
    };
    assert_eq!(regions(1), (42, vec![4096]));
    let (element_bytes, region) = regions(4000);
    assert_eq!(element_bytes, 8040);
    assert!(region[0] * 8040 < 4_000_000, "{region:?}");
}
