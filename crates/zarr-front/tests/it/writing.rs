//! Writes against an array in memory: random arrays, and sequences of writes of random parts of them.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Map, Value, json};
use std::num::NonZeroI64;
use swath_ioengine::{
    Engine, EngineConfig, Freshness, Limits, MemoryMedium, PutCondition, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, DecodedCache, Elements, EmptyChunks, ErrorKind, Existing,
    FillValue, Group, Selection, Store, WriteOptions, ZarrFormat,
};

/// Numbers of one case, which its seed decides.
pub(crate) struct Dice(TestRng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Dice(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A random array, made in `store`.
pub(crate) fn create(dice: &mut Dice, store: &Store) -> Array {
    let rank = dice.below(4);
    let shape: Vec<u64> = (0..rank).map(|_| dice.below(14)).collect();
    let chunks: Vec<u64> = (0..rank).map(|_| 1 + dice.below(6)).collect();
    let fields = json!({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"},
        {"name": "b", "data_type": "uint8"}, {"name": "c", "data_type": "complex64"}]}});
    let structure = DataType::from_v3(&fields).unwrap();
    let data_type = dice
        .pick(&[DataType::UInt8, DataType::Int16, DataType::Float32, DataType::Complex128, structure])
        .clone();
    let fill = dice.pick(&[json!(0), json!(7)]).clone();
    let fill = match data_type {
        DataType::Complex128 => json!([0.0, fill]),
        DataType::Struct(_) => json!({"a": fill}),
        _ => fill,
    };
    let fill = FillValue::from_json(&fill, &data_type, ZarrFormat::V3).unwrap();
    let builder = ArrayBuilder::new(&shape, data_type).chunk_shape(&chunks).fill_value(fill);
    let order: Vec<u64> = (0..rank).rev().collect();
    if dice.one_in(3) {
        let compressors =
            [vec![], vec![json!({"id": "zlib", "level": 1})], vec![json!({"id": "zstd", "level": 1})]];
        let builder = if dice.one_in(3) { builder.no_fill_value() } else { builder };
        let builder = if dice.one_in(2) { builder.byte_order(swath_codecs::ByteOrder::Big) } else { builder };
        let builder = if dice.one_in(2) { builder.order(swath_zarr_front::MemoryOrder::F) } else { builder };
        let compressors = dice.pick(&compressors).clone();
        return builder.zarr_format(ZarrFormat::V2).compressors(compressors).create(store, "v2").unwrap();
    }
    let compressors = [
        vec![],
        vec![json!({"name": "crc32c"})],
        vec![json!({"name": "gzip", "configuration": {"level": 1}}), json!({"name": "crc32c"})],
        vec![json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}})],
    ];
    let mut builder = builder.compressors(dice.pick(&compressors).clone());
    if dice.one_in(3) {
        builder = builder.byte_order(swath_codecs::ByteOrder::Big);
    }
    if dice.one_in(3) {
        builder = builder.filters([json!({"name": "transpose", "configuration": {"order": order}})]);
    }
    if dice.one_in(2) {
        let shards: Vec<u64> = chunks.iter().map(|chunk| chunk * (1 + dice.below(4))).collect();
        let end = *dice.pick(&[swath_zarr_front::IndexLocation::Start, swath_zarr_front::IndexLocation::End]);
        builder = builder.shard_shape(&shards).index_location(end);
    }
    let array = builder.create(store, "a/v3").unwrap();
    if array.shard_shape().is_some() && dice.one_in(2) { nested(dice, store, &array) } else { array }
}

/// The same array with shards around its shards, and perhaps a transpose in between: no builder makes these.
fn nested(dice: &mut Dice, store: &Store, array: &Array) -> Array {
    let mut document = array.metadata().document().clone();
    let shard = array.shard_shape().unwrap().to_vec();
    let outer: Vec<u64> = shard.iter().map(|extent| extent * (1 + dice.below(3))).collect();
    let mut inner = document["codecs"].as_array().unwrap().clone();
    if dice.one_in(2) {
        // Ahead of the inner shards: they see the axes in another order.
        let order: Vec<usize> = (0..shard.len()).rev().collect();
        let sharding = inner[0]["configuration"].as_object_mut().unwrap();
        let chunk: Vec<Value> = sharding["chunk_shape"].as_array().unwrap().iter().rev().cloned().collect();
        sharding.insert("chunk_shape".to_owned(), Value::from(chunk));
        inner.insert(0, json!({"name": "transpose", "configuration": {"order": order}}));
    }
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": shard, "codecs": inner,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "big"}}], "index_location": "start"}}]);
    document["chunk_grid"]["configuration"]["chunk_shape"] = json!(outer);
    put(store, "nested/zarr.json", document.to_string().into_bytes());
    Array::open_in(store, "nested").unwrap()
}

/// Stores that the tests write to are those of these media.
fn put(store: &Store, key: &str, bytes: Vec<u8>) {
    let medium = medium_of(store);
    medium.put(key, bytes.into(), &PutCondition::Always).unwrap();
}

thread_local! {
    static MEDIUM: std::cell::RefCell<Option<swath_ioengine::Medium>> = const { std::cell::RefCell::new(None) };
}

/// The medium of the store that this thread made last.
fn medium_of(_store: &Store) -> swath_ioengine::Medium {
    MEDIUM.with_borrow(|medium| medium.clone().unwrap())
}

pub(crate) fn store_of(medium: &swath_ioengine::Medium) -> Store {
    MEDIUM.set(Some(medium.clone()));
    Store::new(medium.clone(), "", "store")
}

/// A selection of an array of this shape.
pub(crate) fn selection(dice: &mut Dice, shape: &[u64]) -> Selection {
    let axis = |length: &u64| {
        let length = i64::try_from(*length).unwrap();
        let place = |dice: &mut Dice| i64::try_from(dice.below(20)).unwrap() - 3;
        match dice.below(5) {
            0 => AxisSelection::ALL,
            1 if length != 0 => {
                AxisSelection::Index(i64::try_from(dice.below(length.cast_unsigned())).unwrap())
            }
            2 => {
                let step = *dice.pick(&[-7, -3, -2, -1, 2, 3, 9]);
                let start = dice.one_in(2).then(|| place(dice));
                AxisSelection::Slice { start, stop: None, step: NonZeroI64::new(step).unwrap() }
            }
            _ => {
                let (start, stop) = (Some(place(dice)), Some(place(dice)));
                AxisSelection::Slice {
                    start,
                    stop,
                    step: NonZeroI64::MIN.saturating_abs().min(NonZeroI64::new(1).unwrap()),
                }
            }
        }
    };
    Selection::new(shape.iter().map(axis).collect())
}

/// An array in memory, in C order.
pub(crate) struct Oracle {
    shape: Vec<u64>,
    pub(crate) element: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Oracle {
    pub(crate) fn of(array: &Array) -> Oracle {
        let fill = array.fill_value().bytes();
        let count = usize::try_from(array.shape().iter().product::<u64>()).unwrap();
        Oracle { shape: array.shape().to_vec(), element: fill.len(), bytes: fill.repeat(count) }
    }

    /// Puts elements where a selection is, one by one.
    pub(crate) fn write(&mut self, selection: &Selection, data: &[u8]) {
        let resolved = selection.resolve(&self.shape).unwrap();
        for (number, element) in data.chunks_exact(self.element).enumerate() {
            let (mut rest, mut place, mut stride) = (number as u64, 0, 1);
            for (axis, length) in resolved.axes.iter().zip(&self.shape).rev() {
                place += axis.element(rest % axis.count).unwrap() * stride;
                rest /= axis.count;
                stride *= length;
            }
            let at = usize::try_from(place).unwrap() * self.element;
            self.bytes[at..][..self.element].copy_from_slice(element);
        }
    }
}

/// Elements of a selection: noise, or the fill value.
pub(crate) fn data(dice: &mut Dice, array: &Array, selection: &Selection) -> Vec<u8> {
    let count = selection.resolve(array.shape()).unwrap().element_count().unwrap();
    let element = array.data_type().size_bytes();
    if dice.one_in(4) {
        return array.fill_value().bytes().repeat(usize::try_from(count).unwrap());
    }
    (0..count * element as u64).map(|_| u8::try_from(dice.below(256)).unwrap()).collect()
}

fn check_case(seed: u64, medium: &swath_ioengine::Medium) {
    let mut dice = Dice::new(seed);
    let store = store_of(medium);
    let array = create(&mut dice, &store);
    let limits = Limits { lanes: 1 + usize::try_from(dice.below(4)).unwrap(), ..Limits::default() };
    let freshness = *dice.pick(&[Freshness::Checked, Freshness::Immutable]);
    let array = array.with_engine(Engine::new(EngineConfig { limits, freshness }));
    let array = array.with_decoded_cache(&DecodedCache::new(1 << 20));
    let mut oracle = Oracle::of(&array);
    for _ in 0..1 + dice.below(6) {
        let selection = selection(&mut dice, array.shape());
        let data = data(&mut dice, &array, &selection);
        let empty_chunks = *dice.pick(&[EmptyChunks::Omit, EmptyChunks::Store]);
        let resolved = array.resolve(&selection).unwrap();
        let source = Elements::new(&data, &resolved.output_shape(), array.data_type().size_bytes()).unwrap();
        let options = WriteOptions { empty_chunks, ..WriteOptions::default() };
        array.write_from(&selection, &source, &options).unwrap();
        oracle.write(&selection, &data);
        let read = array.read(&Selection::all()).unwrap();
        assert!(
            read.as_bytes() == oracle.bytes,
            "seed {seed}: {selection} of {:?}",
            array.metadata().document()
        );
    }
    // Another handle, which knows nothing, reads the same.
    let opened = Array::open_in(&store, array.path()).unwrap();
    assert!(opened.read(&Selection::all()).unwrap().as_bytes() == oracle.bytes, "seed {seed}, opened again");
}

/// Cases that are tried, from this seed on: `SWATH_CASES`, `SWATH_SEED`.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SWATH_SEED").unwrap_or(1);
    first..first + number("SWATH_CASES").unwrap_or(usual)
}

#[test]
fn what_is_written_to_memory_is_read() {
    for seed in seeds(400) {
        check_case(seed, &MemoryMedium::new().medium());
    }
}

#[test]
fn what_is_written_to_files_is_read() {
    for seed in seeds(60) {
        let folder = tempfile::tempdir().unwrap();
        let files =
            swath_ioengine::LocalFiles::open(folder.path(), swath_ioengine::FileAccess::preferred().unwrap());
        check_case(seed, &files.unwrap().medium());
    }
}

#[test]
fn what_is_written_to_a_remote_store_is_read() {
    for seed in seeds(60) {
        check_case(seed, &SimulatedRemote::new(SimulatedConfig::default()).unwrap().medium());
    }
}

fn keys(memory: &MemoryMedium, prefix: &str) -> Vec<String> {
    let entries = memory.medium().list(prefix).unwrap();
    let names = entries.into_iter().map(|entry| format!("{prefix}{}", entry.name()));
    names.filter(|name| !name.ends_with("zarr.json")).collect()
}

#[test]
fn chunks_of_nothing_but_the_fill_value_are_not_stored() {
    let memory = MemoryMedium::new();
    let store = Store::memory(&memory);
    let array = ArrayBuilder::new(&[6], DataType::UInt8).chunk_shape(&[2]).create(&store, "").unwrap();
    array.write(&Selection::all(), &[0, 0, 1, 0, 0, 0]).unwrap();
    assert_eq!(keys(&memory, "c/"), ["c/1"]);
    array.write(&"2".parse().unwrap(), &[0]).unwrap();
    assert_eq!(keys(&memory, "c/"), [""; 0]);
    let options = WriteOptions { empty_chunks: EmptyChunks::Store, ..WriteOptions::default() };
    array.write_from(&"1:4".parse().unwrap(), &Elements::one(&[0]), &options).unwrap();
    assert_eq!(keys(&memory, "c/"), ["c/0", "c/1"]);
    // What a v2 array without a fill value has where nothing is stored is nobody's to say.
    let array = ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(ZarrFormat::V2).no_fill_value();
    array.chunk_shape(&[2]).create(&store, "v2").unwrap().write(&"0:3".parse().unwrap(), &[0; 3]).unwrap();
    assert_eq!(keys(&memory, "v2/"), ["v2/.zarray", "v2/.zattrs", "v2/0", "v2/1"]);
}

#[test]
fn inner_chunks_that_are_not_written_keep_their_bytes() {
    let memory = MemoryMedium::new();
    let store = Store::memory(&memory);
    let array = ArrayBuilder::new(&[8], DataType::UInt8).chunk_shape(&[2]).shard_shape(&[8]);
    let array = array.compressors([json!({"name": "gzip", "configuration": {"level": 1}})]);
    let array = array.create(&store, "").unwrap();
    array.write(&Selection::all(), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let shard = |memory: &MemoryMedium| {
        let object = memory.object("c/0");
        let bytes = Engine::global()
            .read_object(&object, swath_ioengine::ByteRange::Whole { len_max: 1 << 20 })
            .unwrap();
        let words = bytes[bytes.len() - 68..][..64].chunks_exact(8);
        let index: Vec<usize> = words
            .map(|word| usize::try_from(u64::from_le_bytes(word.try_into().unwrap())).unwrap())
            .collect();
        (0..4).map(|number| bytes[index[2 * number]..][..index[2 * number + 1]].to_vec()).collect::<Vec<_>>()
    };
    let before = shard(&memory);
    // A part of the second one, whose bytes nobody can decode: it has to be decoded, the others need not be.
    array.write(&"3".parse().unwrap(), &[9]).unwrap();
    let after = shard(&memory);
    assert_eq!((&before[0], &before[2], &before[3]), (&after[0], &after[2], &after[3]));
    assert_ne!(before[1], after[1]);
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [1, 2, 3, 9, 5, 6, 7, 8]);
}

/// Objects that cannot be decoded are left alone, unless they are written whole.
#[test]
fn what_is_damaged_is_not_written_over_in_part() {
    let memory = MemoryMedium::new();
    let store = Store::memory(&memory);
    let plain = ArrayBuilder::new(&[8], DataType::UInt8).chunk_shape(&[2]);
    for (path, array) in [("chunk", plain.clone()), ("shard", plain.shard_shape(&[8]))] {
        let array = array.create(&store, path).unwrap();
        let key = format!("{path}/c/0");
        memory.put(&key, vec![0xff; 100]);
        let error = array.write(&"1".parse().unwrap(), &[9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&key), "{error}");
        let object = memory.object(&key);
        let whole = swath_ioengine::ByteRange::Whole { len_max: 1 << 20 };
        assert_eq!(Engine::global().read_object(&object, whole).unwrap()[..], [0xff; 100]);
        array.write(&Selection::all(), &[3; 8]).unwrap();
        assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [3; 8]);
    }
}

/// Writers of parts of one object lose nothing: of one engine, and of two, which know nothing of each other.
#[test]
fn writers_of_one_object_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engines = || [Engine::new(EngineConfig::default()), Engine::new(EngineConfig::default())];
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    let stores = [
        (Store::memory(&MemoryMedium::new()), engines()),
        (Store::new(remote.medium(), "", "remote"), engines()),
        (Store::directory(folder.path()).unwrap(), engines()),
    ];
    for (store, engines) in stores {
        let plain = ArrayBuilder::new(&[48], DataType::UInt8);
        for (path, array) in [
            ("chunk", plain.clone().chunk_shape(&[48])),
            ("shard", plain.chunk_shape(&[4]).shard_shape(&[48])),
        ] {
            let array = array.create(&store, path).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let array = array.with_engine(engines[thread % engines.len()].clone());
                    scope.spawn(move || {
                        for place in (thread..48).step_by(4) {
                            let value = u8::try_from(place + 1).unwrap();
                            let place = AxisSelection::Index(i64::try_from(place).unwrap());
                            array.write(&Selection::new(vec![place]), &[value]).unwrap();
                        }
                    });
                }
            });
            let written = array.read(&Selection::all()).unwrap();
            assert_eq!(written.as_bytes(), (1..49).collect::<Vec<u8>>(), "{}", array.name());
        }
    }
}

/// Of what is written whole, nothing is read.
#[test]
fn only_what_is_written_in_part_is_read() {
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    let store = Store::new(remote.medium(), "", "remote");
    let builder = ArrayBuilder::new(&[8, 8], DataType::UInt8).chunk_shape(&[2, 2]).shard_shape(&[4, 4]);
    let array = builder.create(&store, "").unwrap();
    let reads = |array: &Array, selection: &str| {
        let before = remote.requests();
        let source = Elements::one(&[1]);
        array.write_from(&selection.parse().unwrap(), &source, &WriteOptions::default()).unwrap();
        remote.requests() - before
    };
    assert_eq!(reads(&array, "..."), 0);
    assert_eq!(reads(&array, "4:, ::-1"), 0);
    assert_eq!(reads(&array, "3, 3"), 1);
    assert_eq!(reads(&array, "3:, 4:"), 1);
    assert_eq!(reads(&array, "0:0"), 0);
    // What lies beyond the edge may be somebody's who appended it.
    let edges =
        ArrayBuilder::new(&[8, 7], DataType::UInt8).chunk_shape(&[4, 4]).create(&store, "edges").unwrap();
    assert_eq!(reads(&edges, "..."), 2);
}

#[test]
fn errors_name_the_array_and_what_was_wrong() {
    let store = Store::memory(&MemoryMedium::new());
    let array = ArrayBuilder::new(&[4, 4], DataType::Int16).create(&store, "t2m").unwrap();
    let error = array.write(&"0".parse().unwrap(), &[0; 7]).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("memory/t2m")));
    let error = array.write(&"4".parse().unwrap(), &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
    let source = [0; 6];
    let source = Elements::new(&source, &[3], 2).unwrap();
    let error = array.write_from(&Selection::all(), &source, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("[3]") && error.to_string().contains("[4, 4]"), "{error}");
    let interrupt = || true;
    let options = WriteOptions { interrupt: Some(&interrupt), ..WriteOptions::default() };
    let error = array.write_from(&Selection::all(), &Elements::one(&[1, 0]), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    for broken in [
        ArrayBuilder::new(&[4], DataType::Int16).chunk_shape(&[0]),
        ArrayBuilder::new(&[4], DataType::Int16).chunk_shape(&[2, 2]),
        ArrayBuilder::new(&[4], DataType::Int16).chunk_shape(&[2]).shard_shape(&[3]),
        ArrayBuilder::new(&[4], DataType::Int16).zarr_format(ZarrFormat::V2).shard_shape(&[4]),
        ArrayBuilder::new(&[4], DataType::Int16).compressors([json!({"name": "bytes"})]),
        ArrayBuilder::new(&[4], DataType::Int16).dimension_names([]).attributes(Map::new()),
    ] {
        let error = broken.create(&store, "broken").unwrap_err();
        assert_eq!((error.kind(), error.object().is_some()), (ErrorKind::Invalid, true), "{error}");
    }
    assert!(!store.contains_node("broken").unwrap());
}

/// What links lead to is not the store's to remove.
#[cfg(unix)]
#[test]
fn removing_a_node_removes_links_and_leaves_what_they_lead_to() {
    use std::os::unix::fs::symlink;
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(elsewhere.path().join("data")).unwrap();
    for name in ["zarr.json", "data/zarr.json"] {
        std::fs::write(elsewhere.path().join(name), b"theirs").unwrap();
    }
    let store = Store::directory(folder.path()).unwrap();
    Group::create(&store, "group", ZarrFormat::V3, &Map::new(), Existing::Refuse).unwrap();
    symlink(elsewhere.path(), folder.path().join("group/link")).unwrap();
    symlink(elsewhere.path(), folder.path().join("linked")).unwrap();
    for path in ["group", "linked"] {
        store.remove_node(path).unwrap();
        assert!(!folder.path().join(path).exists(), "{path}");
    }
    for name in ["zarr.json", "data/zarr.json"] {
        assert_eq!(std::fs::read(elsewhere.path().join(name)).unwrap(), b"theirs", "{name}");
    }
}
