//! Reads that convert, through every kind of medium and of selection, against the same steps done one by one.

#![expect(clippy::cast_possible_truncation, reason = "rounds to the nearest, as the steps do")]

use crate::block_on::block_on;
use crate::oracle::{engine, narrow_engine, spec};
use crate::picks::{Wanted, any_wanted};
use crate::written::{FILL, Spec, Written, odometer};
use proptest::prelude::*;
use std::num::NonZeroI64;
use std::time::Duration;
use swath_ioengine::{
    Engine, EngineConfig, FileAccess, Limits, LocalFiles, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, Conversion, DataType, DecodedCache, Error, ErrorKind, NanMeans,
    NumberType, Points, ReadOptions, ReadPlan, Selection, Store,
};

/// A read, and its elements in order.
struct Expected {
    selection: Selection,
    shape: Vec<u64>,
    values: Vec<f32>,
}

const SCALE: f64 = 0.01;
const OFFSET: f64 = -273.15;

/// What elements of an index along an axis are normalised by.
fn pair(index: u64) -> (f64, f64) {
    (f64::from(u32::try_from(index % 7).unwrap()) - 2.5, 0.5 + f64::from(u32::try_from(index % 5).unwrap()))
}

/// The conversion of an array of this shape, normalised along an axis if there is one.
fn conversion(shape: &[u64], axis: Option<usize>) -> Conversion {
    let conversion = Conversion::to(NumberType::Float32).mask([FILL]).scale(SCALE).offset(OFFSET);
    let conversion = conversion.decode_in(NumberType::Float64);
    match axis {
        None => conversion,
        Some(axis) => {
            let (means, deviations): (Vec<f64>, Vec<f64>) = (0..shape[axis]).map(pair).unzip();
            conversion.normalise_along(axis, &means, &deviations)
        }
    }
}

/// The same steps of the element at these coordinates.
fn value(written: &Written, at: &[u64], axis: Option<usize>) -> f32 {
    let mut wide = [0; 8];
    let bytes = written.bytes_of(&[at.to_vec()]);
    let native =
        if cfg!(target_endian = "little") { &mut wide[..bytes.len()] } else { &mut wide[8 - bytes.len()..] };
    native.copy_from_slice(&bytes);
    let stored = u64::from_ne_bytes(wide);
    if stored == u64::from(FILL) {
        return f32::NAN;
    }
    let decoded = (stored as f64 * SCALE + OFFSET) as f32;
    axis.map_or(decoded, |axis| {
        let (mean, deviation) = pair(at[axis]);
        (decoded - mean as f32) / deviation as f32
    })
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

/// Equal, or both NaN, or next to each other where they are means.
fn check_values(found: &[f32], expected: &[f32], ulps: i64, name: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let apart = (i64::from(found.to_bits()) - i64::from(expected.to_bits())).abs();
        let is_same = found.is_nan() && expected.is_nan() || found == expected || apart <= ulps;
        prop_assert!(is_same, "{} element {}: {} not {}", name, number, found, expected);
    }
    Ok(())
}

fn check(
    array: &Array,
    conversion: &Conversion,
    expected: &[Expected],
    ulps: i64,
    name: &str,
) -> Result<(), TestCaseError> {
    let failed = |error: Error| TestCaseError::fail(format!("{name}: {error}"));
    let converted = array.converted(conversion).map_err(failed)?;
    let selections: Vec<Selection> = expected.iter().map(|expected| expected.selection.clone()).collect();
    let many = converted.read_many(&selections).map_err(failed)?;
    prop_assert_eq!(many.len(), expected.len());
    for (read, expected) in many.iter().zip(expected) {
        prop_assert_eq!(read.shape(), &expected.shape[..], "{} {:?}", name, expected.selection);
        prop_assert_eq!(read.data_type(), &DataType::Float32);
        check_values(&numbers(read.as_bytes()), &expected.values, ulps, name)?;
    }
    // Bit for bit, whatever the order of chunks.
    let again = block_on(converted.read_many_async(&selections, &ReadOptions::default())).map_err(failed)?;
    prop_assert!(again == many, "{} async", name);
    if let Some((selection, read)) = selections.first().zip(many.first()) {
        let mut target = vec![0xA5; read.as_bytes().len()];
        converted.read_into(selection, &mut target).map_err(failed)?;
        prop_assert_eq!(&target[..], read.as_bytes(), "{} into {:?}", name, selection);
    }
    Ok(())
}

fn check_everywhere(
    written: &Written,
    conversion: &Conversion,
    expected: &[Expected],
    ulps: i64,
) -> Result<(), TestCaseError> {
    let check = |array: &Array, name: &str| check(array, conversion, expected, ulps, name);
    let memory = written.memory();
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    check(&array.with_engine(engine()), "memory")?;
    check(&array.with_engine(narrow_engine()), "narrow")?;
    let cached = array.with_engine(engine()).with_decoded_cache(&DecodedCache::new(1 << 20));
    for name in ["not kept yet", "kept"] {
        check(&cached, name)?;
    }
    let folder = written.folder();
    let array = Array::open(folder.path()).unwrap().with_engine(engine());
    check(&array, "files")?;
    let mapped = LocalFiles::open(folder.path(), FileAccess::Mapped).unwrap();
    let array = Array::open_in(&Store::new(mapped.medium(), "", "mapped"), "").unwrap().with_engine(engine());
    check(&array, "mapped")?;
    let config = SimulatedConfig { latency: Duration::from_micros(50), ..SimulatedConfig::default() };
    let remote = SimulatedRemote::new(config).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
    check(&array, "remote")
}

/// Means of blocks along each axis, of slices and indices.
fn means(
    written: &Written,
    numbers: &[(u8, i64, i64, u64)],
    normal: Option<usize>,
    nan: NanMeans,
) -> (Vec<u64>, Expected) {
    let (mut axes, mut taken, mut factors) = (Vec::new(), Vec::new(), Vec::new());
    let mut shape = Vec::new();
    for (length, (kind, start, step, factor)) in written.spec.shape.iter().zip(numbers) {
        let wide = i64::try_from(*length).unwrap();
        if *kind == 0 && 0 < wide {
            axes.push(AxisSelection::Index(start % wide));
            taken.push(vec![(start % wide).cast_unsigned()]);
            factors.push(1);
            continue;
        }
        let from = if *step < 0 { wide - 1 - start % wide.max(1) } else { start % wide.max(1) };
        let slice = AxisSelection::Slice {
            start: Some(from.max(0)),
            stop: None,
            step: NonZeroI64::new(*step).unwrap(),
        };
        let at = |number: i64| u64::try_from(from + number * step).ok().filter(|at| at < length);
        let mut elements: Vec<u64> = (0..).map_while(at).collect();
        elements
            .truncate(elements.len() / usize::try_from(*factor).unwrap() * usize::try_from(*factor).unwrap());
        shape.push(elements.len() as u64 / factor);
        axes.push(slice);
        taken.push(elements);
        factors.push(*factor);
    }
    let counts: Vec<u64> =
        taken.iter().zip(&factors).map(|(taken, factor)| taken.len() as u64 / factor).collect();
    let mut values = Vec::new();
    odometer(&counts, |block| {
        let (mut sum, mut count) = (0.0, 0.0);
        odometer(&factors, |within| {
            let place = |axis: usize| usize::try_from(block[axis] * factors[axis] + within[axis]).unwrap();
            let at: Vec<u64> = (0..counts.len()).map(|axis| taken[axis][place(axis)]).collect();
            let value = f64::from(value(written, &at, normal));
            if nan == NanMeans::Propagate || !value.is_nan() {
                (sum, count) = (sum + value, count + 1.0);
            }
        });
        values.push((sum / count) as f32);
    });
    (factors, Expected { selection: Selection::new(axes), shape, values })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_selection_is_converted(spec in spec(), seed: u64, count in 1usize..5, axis in prop::option::of(0usize..4)) {
        let written = spec.write();
        let axis = axis.filter(|axis| *axis < spec.shape.len());
        let expected: Vec<Expected> = any_wanted(&spec, seed, count).into_iter().map(|wanted| {
            let Wanted { selection, shape, elements } = wanted;
            let values = elements.iter().map(|at| value(&written, at, axis)).collect();
            Expected { selection, shape, values }
        }).collect();
        check_everywhere(&written, &conversion(&spec.shape, axis), &expected, 0)?;
    }

    #[test]
    fn means_are_of_blocks_across_chunks(
        spec in spec(),
        numbers in prop::collection::vec((0u8..6, 0i64..9, prop_oneof![3 => Just(1i64), 1 => -3i64..0, 1 => 2i64..4], 1u64..6), 4),
        axis in prop::option::of(0usize..4),
        skips in any::<bool>(),
    ) {
        let written = spec.write();
        let axis = axis.filter(|axis| *axis < spec.shape.len());
        let nan_means = if skips { NanMeans::Skip } else { NanMeans::Propagate };
        let (factors, expected) = means(&written, &numbers, axis, nan_means);
        let conversion = conversion(&spec.shape, axis).downsample(&factors).nan_means(nan_means);
        check_everywhere(&written, &conversion, &[expected], 1)?;
    }
}

fn uint16(shape: &[u64], chunk_shape: &[u64]) -> Array {
    let memory = swath_ioengine::MemoryMedium::new();
    let spec = Spec::plain(shape, chunk_shape);
    let written = spec.write();
    for (key, bytes) in &written.objects {
        memory.put(key, bytes.clone());
    }
    Array::open_in(&Store::memory(&memory), "").unwrap()
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let array = uint16(&[8, 9], &[4, 4]);
    let kind = |conversion: Conversion, selection: &Selection| {
        let converted = array.converted(&conversion);
        converted.and_then(|converted| converted.read(selection)).map(|_| ()).unwrap_err().kind()
    };
    let halves = || Conversion::to(NumberType::Float32).downsample(&[2, 1]);
    assert_eq!(kind(halves(), &"0".parse().unwrap()), ErrorKind::Invalid);
    assert_eq!(kind(halves(), &Selection::from(([0, 1, 3], ..))), ErrorKind::Unsupported);
    let points: Selection = Points::new([vec![0, 1], vec![0, 1]]).unwrap().into();
    assert_eq!(kind(halves(), &points), ErrorKind::Unsupported);
    assert_eq!(kind(halves(), &"9:, 9".parse().unwrap()), ErrorKind::OutOfBounds);
    assert_eq!(kind(Conversion::to(NumberType::Bool), &Selection::all()), ErrorKind::Unsupported);
    let message = array.converted(&Conversion::to(NumberType::Int8).mask([1])).unwrap_err().to_string();
    assert!(message.contains("wanted a value to fill what is masked, as `int8` has no NaN"), "{message}");
    // Lists pick along the axis that has a factor of 1.
    let read = array.converted(&halves()).unwrap().read(&Selection::from((.., [8, 0]))).unwrap();
    assert_eq!(read.shape(), [4, 2]);
    let dates = Store::memory(&swath_ioengine::MemoryMedium::new());
    let unit = swath_zarr_front::TimeUnit::new("s", 1).unwrap();
    let dates = ArrayBuilder::new(&[2], DataType::DateTime64(unit)).create(&dates, "").unwrap();
    let refused = dates.converted(&Conversion::to(NumberType::Float32)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("`datetime64[s]`, which are no numbers"), "{refused}");
}

#[test]
fn shares_of_blocks_take_no_more_than_their_limit() {
    let array = uint16(&[1024], &[1]);
    let limits = Limits { plan_bytes_max: 4 << 10, ..Limits::default() };
    let array = array.with_engine(Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
    let converted = array.converted(&Conversion::to(NumberType::Float32).downsample(&[8])).unwrap();
    assert_eq!(converted.read(&"0:64".parse().unwrap()).unwrap().shape(), [8]);
    let refused = converted.read(&Selection::all()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("take more than 4096 bytes: read it in parts"), "{refused}");
}

#[test]
fn chunks_are_decoded_once_for_all_that_is_converted() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[64, 64], &[32, 32], &[&[8, 8]]) };
    let written = spec.write();
    let memory = written.memory();
    let engine = Engine::new(EngineConfig::default());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine.clone());
    let converted = array.converted(&Conversion::to(NumberType::Float32).downsample(&[3, 3])).unwrap();
    let crops: Vec<Selection> =
        (0..40).map(|at| format!("{at}:{}, 5:50", at + 20).parse().unwrap()).collect();
    assert_eq!(converted.read_many(&crops).unwrap()[0].shape(), [6, 15]);
    assert!(
        engine.stats().logical_reads <= written.stored_chunks + 4,
        "64 chunks, and the indexes of 4 shards"
    );
}

#[test]
fn plans_tell_what_results_are() {
    let array = uint16(&[8, 9], &[4, 4]);
    let same = array.converted(&Conversion::default()).unwrap();
    assert_eq!(same.data_type(), DataType::UInt16);
    assert_eq!(
        same.read(&Selection::all()).unwrap().as_bytes(),
        array.read(&Selection::all()).unwrap().as_bytes()
    );
    let converted = array.converted(&Conversion::to(NumberType::BFloat16).downsample(&[2, 4])).unwrap();
    let mut plan = ReadPlan::converted(&converted);
    plan.push(&"1:, ::-1".parse().unwrap()).unwrap();
    assert_eq!((plan.shape(0), plan.total_bytes()), (vec![3, 2], 12));
    assert_eq!(plan.data_type().size_bytes(), 2);
}

#[test]
fn axes_whose_chunks_differ_in_length_keep_their_elements() {
    let memory = swath_ioengine::MemoryMedium::new();
    let document = br#"{"zarr_format": 3, "node_type": "array", "shape": [5, 4], "data_type": "uint8", "fill_value": 7,
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3], 2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}"#;
    memory.put("zarr.json", &document[..]);
    memory.put("c/1/0", vec![0, 1, 2, 3, 4, 5]);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let read = |conversion: Conversion, selection: &str| {
        let converted = array.converted(&conversion)?;
        converted.read(&selection.parse().unwrap()).map(|read| numbers(read.as_bytes()))
    };
    let columns = Conversion::to(NumberType::Float32).normalise_along(1, &[0.0, 1.0, 2.0, 3.0], &[1.0; 4]);
    assert_eq!(read(columns, "1:4, 1:").unwrap(), [6.0, 5.0, 4.0, 0.0, 5.0, 4.0, 2.0, 5.0, 4.0]);
    let halves = Conversion::to(NumberType::Float32).downsample(&[1, 2]);
    assert_eq!(read(halves, "1:4").unwrap(), [7.0, 7.0, 0.5, 7.0, 2.5, 7.0]);
    let rows = Conversion::to(NumberType::Float32).normalise_along(0, &[0.0; 5], &[1.0; 5]);
    for conversion in [rows, Conversion::to(NumberType::Float32).downsample(&[2, 1])] {
        let refused = read(conversion, "...").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert!(refused.to_string().contains("along axis 0, whose chunks differ in length"), "{refused}");
    }
}
