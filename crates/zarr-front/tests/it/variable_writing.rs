//! Strings and byte strings that are written, also where they may be missing, against a list in memory.

use crate::writing::{Dice, seeds, selection, store_of};
use crate::writing_picks::{numbers, picked};
use serde_json::json;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{
    Array, ArrayBuilder, DataType, EmptyChunks, ErrorKind, FillValue, IndexLocation, MemoryOrder, Selection,
    Store, VariableArrayData, WriteOptions, ZarrFormat,
};

/// An element: its text, and how many of the times that it may be missing it is there.
type Element = (u8, String);

fn optional(times: u8, inner: DataType) -> DataType {
    (0..times).fold(inner, |inner, _| DataType::Optional(inner.into()))
}

/// A word of any length, now and then one of many bytes of each.
fn element(dice: &mut Dice, times: u8) -> Element {
    let present =
        if times != 0 && dice.one_in(3) { u8::try_from(dice.below(times.into())).unwrap() } else { times };
    let word = *dice.pick(&["", "a", "bc", "h\u{e9}llo", "\u{1f600}\n\"\\", "fill"]);
    let text = word.repeat(usize::try_from(1 + dice.below(3)).unwrap());
    (present, if present == times { text } else { String::new() })
}

fn data_of(data_type: &DataType, times: u8, shape: &[u64], elements: &[Element]) -> VariableArrayData {
    let texts = elements.iter().map(|(_, text)| text);
    let data = match data_type.to_string().contains("string") {
        true => VariableArrayData::of_strings(shape, texts).unwrap(),
        false => VariableArrayData::of_bytes(shape, texts).unwrap(),
    };
    match times {
        0 => data,
        _ => data
            .with_presence(data_type.clone(), elements.iter().map(|(present, _)| *present).collect())
            .unwrap(),
    }
}

fn read(array: &Array, times: u8) -> Vec<Element> {
    let read = array.read_variable(&Selection::all()).unwrap();
    let texts = read.strings().unwrap();
    (0..)
        .zip(texts)
        .map(|(number, text): (usize, &str)| {
            (read.presence().get(number).copied().unwrap_or(times), text.to_owned())
        })
        .collect()
}

/// A new array, of every kind that is written, and what its elements are at first.
fn create(dice: &mut Dice, store: &Store, times: u8) -> (Array, Element) {
    let rank = usize::try_from(dice.below(4)).unwrap();
    let shape: Vec<u64> = (0..rank).map(|_| dice.below(9)).collect();
    let chunks: Vec<u64> = (0..rank).map(|_| 1 + dice.below(4)).collect();
    let is_text = dice.one_in(2);
    let data_type = optional(times, if is_text { DataType::String } else { DataType::Bytes });
    let mut builder = ArrayBuilder::new(&shape, data_type.clone()).chunk_shape(&chunks);
    let mut first = (0, String::new());
    if dice.one_in(2) {
        let text = if is_text { json!("fill") } else { json!("ZmlsbA==") };
        let value = (0..times).fold(text, |value, _| json!([value]));
        builder = builder.fill_value(FillValue::from_json(&value, &data_type, ZarrFormat::V3).unwrap());
        first = (times, "fill".to_owned());
    }
    let is_v2 = times == 0 && dice.one_in(3);
    if is_v2 {
        builder = builder.zarr_format(ZarrFormat::V2);
        if dice.one_in(2) {
            builder = builder.order(MemoryOrder::F);
        }
        if is_text && dice.one_in(3) {
            builder = builder.filters([json!({"id": "json2"})]);
        }
        builder = match dice.below(3) {
            0 => builder.compressors([]),
            1 => builder.compressors([json!({"id": "zlib", "level": 1})]),
            _ => builder,
        };
        return (builder.create(store, "a").unwrap(), first);
    }
    if dice.one_in(2) {
        let shards: Vec<u64> = chunks.iter().map(|chunk| chunk * (1 + dice.below(3))).collect();
        builder = builder.shard_shape(&shards);
        if dice.one_in(2) {
            builder = builder.index_location(IndexLocation::Start);
        }
    }
    if dice.one_in(3) {
        let order: Vec<usize> = (0..rank).rev().collect();
        builder = builder.filters([json!({"name": "transpose", "configuration": {"order": order}})]);
    }
    if times == 0 && dice.one_in(3) {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let location = *dice.pick(&["start", "end"]);
        builder = builder.serializer(json!({"name": "zarrs.vlen", "configuration": {
            "index_codecs": [bytes], "data_codecs": ["bytes"], "index_data_type": "uint64",
            "index_location": location}}));
    }
    builder = match dice.below(4) {
        0 => builder.compressors([]),
        1 => builder
            .compressors([json!({"name": "gzip", "configuration": {"level": 1}}), json!({"name": "crc32c"})]),
        2 => builder.compressors([json!({"name": "blosc", "configuration": {
            "cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "blocksize": 0}})]),
        _ => builder,
    };
    (builder.create(store, "a").unwrap(), first)
}

fn check_case(seed: u64, store: &Store) {
    let mut dice = Dice::new(seed);
    let times = u8::try_from(dice.below(6)).unwrap().saturating_sub(3);
    let (array, first) = create(&mut dice, store, times);
    let data_type = array.data_type().clone();
    let mut oracle = vec![first; usize::try_from(array.shape().iter().product::<u64>()).unwrap()];
    let numbers = numbers(&array);
    for _ in 0..1 + dice.below(5) {
        let selection = match dice.one_in(2) {
            true => picked(&mut dice, array.shape(), array.stored_grid()),
            false => selection(&mut dice, array.shape()),
        };
        let places = numbers.read(&selection).unwrap();
        let (words, _) = places.as_bytes().as_chunks();
        let places_of: Vec<usize> =
            words.iter().map(|word| usize::try_from(u64::from_ne_bytes(*word)).unwrap()).collect();
        let is_one = dice.one_in(4);
        let count = if is_one { 1 } else { places_of.len() };
        let elements: Vec<Element> = (0..count).map(|_| element(&mut dice, times)).collect();
        let shape = if is_one { &[] } else { places.shape() };
        let data = data_of(&data_type, times, shape, &elements);
        let empty_chunks = if dice.one_in(3) { EmptyChunks::Store } else { EmptyChunks::Omit };
        let options = WriteOptions { empty_chunks, ..WriteOptions::default() };
        array.write_variable(&selection, &data, &options).unwrap();
        for (number, place) in places_of.into_iter().enumerate() {
            oracle[place] = elements[if is_one { 0 } else { number }].clone();
        }
        let found = read(&array, times);
        assert_eq!(found, oracle, "seed {seed}: {selection} of {}", array.metadata().document());
    }
    if let Some(length) = array.shape().first().copied() {
        let mut shape = array.shape().to_vec();
        shape[0] = 1 + dice.below(4);
        let count: u64 = shape.iter().product();
        let added: Vec<Element> = (0..count).map(|_| element(&mut dice, times)).collect();
        let data = data_of(&data_type, times, &shape, &added);
        let grown = array.append_variable(0, &data, &WriteOptions::default()).unwrap();
        assert_eq!(grown.shape()[0], length + shape[0]);
        oracle.extend(added);
        assert_eq!(read(&grown, times), oracle, "seed {seed}, appended");
        let kept = grown.resize(array.shape()).unwrap();
        oracle.truncate(oracle.len() - usize::try_from(count).unwrap());
        assert_eq!(read(&kept, times), oracle, "seed {seed}, resized");
    }
    let mut damages = Vec::new();
    array
        .validate(&swath_zarr_front::ValidateOptions::default(), &mut |finding| damages.push(finding))
        .unwrap();
    damages.retain(|finding| finding.severity == swath_zarr_front::Severity::Damage);
    assert!(damages.is_empty(), "seed {seed}: {damages:?}");
}

#[test]
fn what_is_written_is_read() {
    for seed in seeds(600) {
        check_case(seed, &store_of(&MemoryMedium::new().medium()));
    }
}

#[test]
fn documents_are_those_of_zarr_python() {
    let store = Store::memory(&MemoryMedium::new());
    let document = |builder: &ArrayBuilder, path: &str| {
        builder.create(&store, path).unwrap().metadata().document().clone()
    };
    let strings = ArrayBuilder::new(&[10, 4], DataType::String);
    let zstd = json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}});
    let found = document(&strings, "s3");
    assert_eq!(found["codecs"], json!([{"name": "vlen-utf8", "configuration": {}}, zstd]));
    assert_eq!((&found["data_type"], &found["fill_value"]), (&json!("string"), &json!("")));
    let found = document(&strings.clone().zarr_format(ZarrFormat::V2), "s2");
    assert_eq!((&found["dtype"], &found["filters"]), (&json!("|O"), &json!([{"id": "vlen-utf8"}])));
    assert_eq!(found["fill_value"], json!(""));
    let found = document(&ArrayBuilder::new(&[3], DataType::Bytes), "b3");
    assert_eq!(found["codecs"], json!([{"name": "vlen-bytes", "configuration": {}}, zstd]));
    assert_eq!((&found["data_type"], &found["fill_value"]), (&json!("variable_length_bytes"), &json!("")));
    let large = ArrayBuilder::new(&[100_000, 400], DataType::String).create(&store, "large").unwrap();
    assert_eq!(large.chunk_shape(), [12_500, 50]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let store = Store::memory(&MemoryMedium::new());
    let strings = ArrayBuilder::new(&[4], DataType::String).create(&store, "s").unwrap();
    let (all, options) = (Selection::all(), WriteOptions::default());
    let bytes = VariableArrayData::of_bytes(&[4], [b"a"; 4]).unwrap();
    let error = strings.write_variable(&all, &bytes, &options).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.message().contains("`string`"), "{error}");
    let three = VariableArrayData::of_strings(&[3], ["a"; 3]).unwrap();
    assert_eq!(strings.write_variable(&all, &three, &options).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(VariableArrayData::of_strings(&[3], ["a"; 2]).is_err());
    assert!(three.clone().with_presence(optional(1, DataType::Bytes), vec![1; 3]).is_err());
    assert!(three.clone().with_presence(optional(1, DataType::String), vec![1; 2]).is_err());
    let numbers = ArrayBuilder::new(&[3], DataType::Int8).create(&store, "n").unwrap();
    assert_eq!(numbers.write_variable(&all, &three, &options).unwrap_err().kind(), ErrorKind::Invalid);
}
