//! Random arrays, read by random selections through every kind of medium, against plain indexing.

use crate::block_on::block_on;
use crate::written::{Layout, Level, Spec, Written};
use proptest::prelude::*;
use std::num::NonZeroI64;
use std::sync::OnceLock;
use std::time::Duration;
use swath_ioengine::{
    Engine, EngineConfig, FileAccess, Limits, LocalFiles, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{Array, AxisSelection, DecodedCache, ReadOptions, Selection, Store};

/// The shapes along one axis: elements, and chunks of each level, each a multiple of the next.
fn axis() -> impl Strategy<Value = (u64, [u64; 4])> {
    let lengths = prop_oneof![1 => Just(0u64), 9 => 1u64..14];
    (lengths, [1u64..4, 1u64..4, 1u64..3, 1u64..3])
        .prop_map(|(length, [chunk, a, b, c])| (length, [chunk * a * b * c, chunk * a * b, chunk * a, chunk]))
}

fn order(rank: usize) -> impl Strategy<Value = Option<Vec<usize>>> {
    let axes: Vec<usize> = (0..rank).collect();
    prop_oneof![2 => Just(None), 1 => Just(axes).prop_shuffle().prop_map(Some)]
}

/// What a case is beside its shape.
#[derive(Clone, Debug)]
struct Kind {
    v2: bool,
    depth: usize,
    at_start: [bool; 3],
    checksum: [bool; 3],
    orders: Vec<Option<Vec<usize>>>,
}

pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    (0usize..5).prop_flat_map(|rank| {
        let levels = (
            prop_oneof![2 => Just(0usize), 4 => Just(1), 2 => Just(2), 1 => Just(3)],
            any::<[bool; 3]>(),
            any::<[bool; 3]>(),
        );
        let orders = prop::collection::vec(order(rank), 4);
        let kind = (any::<bool>(), levels, orders).prop_map(|(v2, (depth, at_start, checksum), orders)| {
            Kind { v2: v2 && depth == 0, depth, at_start, checksum, orders }
        });
        let compressor = prop::sample::select(vec![None, Some("zstd"), Some("gzip"), Some("crc32c")]);
        let element = (prop::sample::select(vec![1usize, 2, 4, 8]), any::<bool>(), compressor);
        let chances = (prop::sample::select(vec![0u32, 10, 60]), any::<bool>(), any::<u64>());
        let axes = (prop::collection::vec(axis(), rank), prop::sample::select(vec![1u64, WIDE]));
        let axes = axes.prop_map(|(mut axes, factor)| {
            if let Some((length, extents)) = axes.last_mut() {
                *length *= factor;
                *extents = extents.map(|extent| extent * factor);
            }
            axes
        });
        (axes, kind, element, chances).prop_map(make)
    })
}

/// Makes rows long enough that mapped chunks are copied row by row.
const WIDE: u64 = 37;

/// Size, byte order and compressor.
type Stored = (usize, bool, Option<&'static str>);

/// Missing chunks of a hundred, whether keys have dots, and a seed.
type Chances = (u32, bool, u64);

fn make((axes, kind, stored, chances): (Vec<(u64, [u64; 4])>, Kind, Stored, Chances)) -> Spec {
    let (element_bytes, big_endian, compressor) = stored;
    let (missing_percent, dot, seed) = chances;
    let Kind { v2, depth, at_start, checksum, mut orders } = kind;
    let rank = axes.len();
    let shape_of = |level: usize| -> Vec<u64> { axes.iter().map(|(_, extents)| extents[level]).collect() };
    // Shapes of a level are told in its frame.
    let mut frame: Vec<usize> = (0..rank).collect();
    let mut levels = Vec::new();
    for level in 0..depth {
        let order = orders.pop().flatten();
        if let Some(order) = &order {
            frame = order.iter().map(|axis| frame[*axis]).collect();
        }
        let logical = shape_of(4 - depth + level);
        let chunk_shape = frame.iter().map(|axis| logical[*axis]).collect();
        levels.push(Level { chunk_shape, at_start: at_start[level], checksum: checksum[level], order });
    }
    let order = match orders.pop().flatten() {
        Some(_) if v2 => Some((0..rank).rev().collect()),
        order => order,
    };
    Spec {
        v2,
        shape: axes.iter().map(|(length, _)| *length).collect(),
        chunk_shape: shape_of(3 - depth),
        levels,
        element_bytes,
        big_endian,
        compressor: compressor.filter(|_| !v2 || compressor == Some("zstd")),
        order,
        separator: if dot { '.' } else { '/' },
        layout: if seed % 2 == 0 { Layout::Morton } else { Layout::Random },
        missing_percent,
        seed,
    }
}

fn axis_selection() -> impl Strategy<Value = (u8, i64, i64, i64, i64)> {
    (0u8..8, -15i64..15, -15i64..15, prop_oneof![3 => Just(1i64), 1 => -5i64..0, 2 => 1i64..7], 0i64..14)
}

/// Selections of an array of this shape, from numbers.
fn selection(shape: &[u64], numbers: &[(u8, i64, i64, i64, i64)]) -> Selection {
    let axes = shape.iter().zip(numbers).map(|(length, (kind, start, stop, step, index))| {
        let length = i64::try_from(*length).unwrap();
        let step = NonZeroI64::new(*step).unwrap();
        match kind {
            0 | 1 if 0 < length => AxisSelection::Index(index % length - if kind == &0 { length } else { 0 }),
            2 => AxisSelection::Slice { start: None, stop: None, step },
            3..=5 => AxisSelection::Slice { start: Some(*start), stop: Some(*stop), step },
            // A crop around the middle: many of these overlap.
            _ => AxisSelection::Slice { start: Some(length / 3), stop: Some(length / 3 + index), step },
        }
    });
    Selection::new(axes.collect())
}

pub(crate) fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let make = || {
        Engine::new(EngineConfig {
            limits: Limits { lanes: 3, ..Limits::default() },
            ..EngineConfig::default()
        })
    };
    ENGINE.get_or_init(make).clone()
}

/// An engine whose windows hold few reads.
pub(crate) fn narrow_engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let limits = Limits { lanes: 2, window_reads_max: 2, inline_reads_max: 0, ..Limits::default() };
    ENGINE.get_or_init(|| Engine::new(EngineConfig { limits, ..EngineConfig::default() })).clone()
}

fn check(
    array: &Array,
    written: &Written,
    selections: &[Selection],
    name: &str,
) -> Result<(), TestCaseError> {
    let expected: Vec<Vec<u8>> = selections.iter().map(|selection| written.select(selection)).collect();
    let many =
        array.read_many(selections).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
    prop_assert_eq!(many.len(), selections.len());
    for ((read, expected), selection) in many.iter().zip(&expected).zip(selections) {
        prop_assert_eq!(read.as_bytes(), &expected[..], "{} {:?}", name, selection);
        prop_assert_eq!(read.shape(), array.resolve(selection).unwrap().output_shape());
    }
    let again = block_on(array.read_many_async(selections, &ReadOptions::default()));
    prop_assert!(
        again.map_err(|error| TestCaseError::fail(format!("{name}: {error}")))? == many,
        "{} async",
        name
    );
    if let Some(selection) = selections.first() {
        let mut target = vec![0xA5; expected[0].len()];
        array.read_into(selection, &mut target).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&target, &expected[0], "{} into {:?}", name, selection);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_array_reads_as_indexing_says(
        spec in spec(),
        numbers in prop::collection::vec(prop::collection::vec(axis_selection(), 4), 0..12),
        duplicate in any::<bool>(),
    ) {
        let written = spec.write();
        let factor = if spec.shape.last().is_some_and(|length| 14 < *length) { i64::try_from(WIDE).unwrap() } else { 1 };
        let scaled = |numbers: &Vec<(u8, i64, i64, i64, i64)>| {
            let mut numbers = numbers.clone();
            if let Some((_, start, stop, _, index)) = spec.shape.len().checked_sub(1).and_then(|last| numbers.get_mut(last)) {
                (*start, *stop, *index) = (*start * factor, *stop * factor + 5, *index * factor);
            }
            selection(&spec.shape, &numbers)
        };
        let mut selections: Vec<Selection> = numbers.iter().map(scaled).collect();
        if duplicate && let Some(first) = selections.first().cloned() {
            selections.push(first);
        }
        selections.push(Selection::all());
        let memory = written.memory();
        let array = Array::open_in(&Store::memory(&memory), "").unwrap();
        check(&array.with_engine(engine()), &written, &selections, "memory")?;
        check(&array.with_engine(narrow_engine()), &written, &selections, "narrow")?;
        // Everything fits; or little does, and that changes all the time.
        let caches = [DecodedCache::new(1 << 20), DecodedCache::new(2000)];
        for (cache, engine) in caches.iter().zip([engine(), narrow_engine()]) {
            let array = array.with_engine(engine).with_decoded_cache(cache);
            for name in ["not kept yet", "kept"] {
                check(&array, &written, &selections, name)?;
            }
            prop_assert!(cache.bytes() <= cache.bytes_max());
        }

        let folder = written.folder();
        let array = Array::open(folder.path()).unwrap().with_engine(engine());
        check(&array, &written, &selections, "files")?;
        let mapped = LocalFiles::open(folder.path(), FileAccess::Mapped).unwrap();
        let array = Array::open_in(&Store::new(mapped.medium(), "", "mapped"), "").unwrap().with_engine(engine());
        check(&array, &written, &selections, "mapped")?;

        let config = SimulatedConfig { latency: Duration::from_micros(50), jitter: Duration::from_micros(100), ..SimulatedConfig::default() };
        let remote = SimulatedRemote::new(config).unwrap();
        written.put_to(&remote);
        let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
        check(&array, &written, &selections, "remote")?;
        let array = array.with_decoded_cache(&caches[0]);
        for name in ["remote, not kept yet", "remote, kept"] {
            check(&array, &written, &selections, name)?;
        }
    }
}

#[test]
fn shared_chunks_are_read_and_decoded_once() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[64, 64], &[32, 32], &[&[8, 8]]) };
    let written = spec.write();
    let memory = written.memory();
    let engine = Engine::new(EngineConfig::default());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine.clone());
    // Every crop of 16 x 16, at every place.
    let crops: Vec<Selection> = (0..48u64)
        .flat_map(|y| (0..48u64).map(move |x| format!("{y}:{}, {x}:{}", y + 16, x + 16).parse().unwrap()))
        .collect();
    let read = array.read_many(&crops).unwrap();
    for (crop, read) in crops.iter().zip(&read) {
        assert_eq!(read.as_bytes(), written.select(crop));
    }
    let stats = engine.stats();
    assert_eq!(stats.logical_reads, written.stored_chunks + 4, "64 chunks, and the indexes of 4 shards");
}
