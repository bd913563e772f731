//! Random arrays, read by lists, points, masks and blocks through every kind of medium, against plain indexing.

use crate::block_on::block_on;
use crate::oracle::{engine, narrow_engine, spec};
use crate::written::{Spec, Written, odometer};
use proptest::prelude::*;
use std::num::NonZeroI64;
use std::sync::Arc;
use std::time::Duration;
use swath_ioengine::{
    Engine, EngineConfig, FileAccess, Limits, LocalFiles, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{
    Array, AxisSelection, DecodedCache, ErrorKind, Points, ReadOptions, ReadPlan, Selection, Store,
};

/// Numbers that look random, from a seed that a failure prints.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    /// An index within an axis, from either end.
    fn index(&mut self, length: u64) -> i64 {
        let index = i64::try_from(self.below(length)).unwrap();
        if self.below(3) == 0 { index - i64::try_from(length).unwrap() } else { index }
    }

    fn list(&mut self, length: u64) -> Vec<i64> {
        if length == 0 {
            return Vec::new();
        }
        let count = self.below(8);
        let mut list: Vec<i64> = (0..count).map(|_| self.index(length)).collect();
        match self.below(4) {
            0 => list.sort_unstable(),
            1 => {
                // Runs of neighbours.
                let start = self.below(length);
                list.extend((start..length.min(start + 1 + count)).map(u64::cast_signed));
            }
            _ => {}
        }
        list
    }
}

/// A selection, the shape of its result, and the coordinates of its elements in order.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) selection: Selection,
    pub(crate) shape: Vec<u64>,
    pub(crate) elements: Vec<Vec<u64>>,
}

/// The element at an index.
fn at(index: i64, length: u64) -> u64 {
    u64::try_from(if index < 0 { index + i64::try_from(length).unwrap() } else { index }).unwrap()
}

/// All combinations of what is taken of each axis.
pub(crate) fn combined(taken: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let counts: Vec<u64> = taken.iter().map(|taken| taken.len() as u64).collect();
    let mut elements = Vec::new();
    odometer(&counts, |at| {
        elements.push(at.iter().zip(taken).map(|(at, taken)| taken[usize::try_from(*at).unwrap()]).collect());
    });
    elements
}

pub(crate) fn orthogonal(shape: &[u64], numbers: &mut Numbers) -> Wanted {
    let (mut axes, mut kept, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for length in shape {
        let (axis, elements): (AxisSelection, Vec<u64>) = match numbers.below(6) {
            0 if *length != 0 => {
                let index = numbers.index(*length);
                (index.into(), vec![at(index, *length)])
            }
            1 => {
                let mask: Vec<bool> = (0..*length).map(|_| numbers.below(3) != 0).collect();
                let elements =
                    (0..*length).zip(&mask).filter(|(_, taken)| **taken).map(|(at, _)| at).collect();
                (mask.into(), elements)
            }
            2 => {
                let step = 1 + numbers.below(3).cast_signed();
                let start = numbers.below(length + 1);
                let stop = start + numbers.below(length + 1);
                let elements = start..stop.min(*length).max(start);
                let step = NonZeroI64::new(step).unwrap();
                let slice = AxisSelection::Slice {
                    start: Some(start.cast_signed()),
                    stop: Some(stop.cast_signed()),
                    step,
                };
                (slice, elements.step_by(usize::try_from(step.get()).unwrap()).collect())
            }
            3 => (AxisSelection::ALL, (0..*length).collect()),
            _ => {
                let list = numbers.list(*length);
                let elements = list.iter().map(|index| at(*index, *length)).collect();
                (list.into(), elements)
            }
        };
        if !matches!(axis, AxisSelection::Index(_)) {
            kept.push(elements.len() as u64);
        }
        axes.push(axis);
        taken.push(elements);
    }
    Wanted { selection: Selection::new(axes), shape: kept, elements: combined(&taken) }
}

pub(crate) fn points(shape: &[u64], numbers: &mut Numbers) -> Option<Wanted> {
    if shape.is_empty() {
        return None;
    }
    let is_empty = shape.contains(&0);
    let (rows, columns) = if is_empty { (0, 1) } else { (numbers.below(9), 1 + numbers.below(5)) };
    let result = if numbers.below(2) == 0 { vec![rows * columns] } else { vec![rows, columns] };
    let count = rows * columns;
    let mut elements = vec![Vec::new(); usize::try_from(count).unwrap()];
    let mut axes = Vec::new();
    for (axis, length) in shape.iter().enumerate() {
        // Shapes that are matched: one a point, one a row, one a column, or one for all.
        let own = match numbers.below(4) {
            _ if axis == 0 || result.len() == 1 || is_empty => result.clone(),
            0 => vec![rows, 1],
            1 => vec![columns],
            2 => vec![],
            _ => result.clone(),
        };
        let values = own.iter().product::<u64>();
        let start = numbers.index(*length);
        let is_run = numbers.below(3) == 0;
        let values: Vec<i64> = (0..values.cast_signed())
            .map(|number| {
                if is_run {
                    at(start, *length).cast_signed().saturating_add(number) % length.cast_signed()
                } else {
                    numbers.index(*length)
                }
            })
            .collect();
        for (number, element) in elements.iter_mut().enumerate() {
            let (row, column) = (number as u64 / columns, number as u64 % columns);
            let place = match own.as_slice() {
                [] => 0,
                [_] if result.len() == 1 => number as u64,
                [_] => column,
                [_, 1] if columns != 1 => row,
                _ => number as u64,
            };
            element.push(at(values[usize::try_from(place).unwrap()], *length));
        }
        axes.push((own, Arc::from(values)));
    }
    let points = Points::broadcast(axes).unwrap();
    Some(Wanted { selection: points.into(), shape: result, elements })
}

pub(crate) fn mask(shape: &[u64], numbers: &mut Numbers) -> Wanted {
    let density = [0, 1, 30, 90, 100][usize::try_from(numbers.below(5)).unwrap()];
    let (mut values, mut elements) = (Vec::new(), Vec::new());
    odometer(shape, |at| {
        let is_taken = numbers.below(100) < density;
        values.push(is_taken);
        if is_taken {
            elements.push(at.to_vec());
        }
    });
    let selection = Selection::mask(shape.to_vec(), values).unwrap();
    Wanted { selection, shape: vec![elements.len() as u64], elements }
}

fn blocks(spec: &Spec, numbers: &mut Numbers) -> Wanted {
    let (mut axes, mut taken) = (Vec::new(), Vec::new());
    for (length, extent) in spec.shape.iter().zip(&spec.chunk_shape) {
        let objects = length.div_ceil(*extent);
        let (axis, first, last) = if numbers.below(2) == 0 && objects != 0 {
            let index = numbers.index(objects);
            (AxisSelection::Index(index), at(index, objects), at(index, objects) + 1)
        } else {
            let start = numbers.below(objects);
            let stop = start + numbers.below(objects + 1 - start);
            ((start..stop).into(), start, stop)
        };
        axes.push(axis);
        taken.push((first * extent..(last * extent).min(*length)).collect::<Vec<u64>>());
    }
    let shape = taken.iter().map(|taken| taken.len() as u64).collect();
    Wanted { selection: Selection::blocks(axes), shape, elements: combined(&taken) }
}

/// Some selections of any kind.
pub(crate) fn any_wanted(spec: &Spec, seed: u64, count: usize) -> Vec<Wanted> {
    let (mut numbers, mut wanted) = (Numbers(seed), Vec::new());
    for _ in 0..count {
        match numbers.below(8) {
            0..=2 => wanted.push(orthogonal(&spec.shape, &mut numbers)),
            3..=5 => wanted.extend(points(&spec.shape, &mut numbers)),
            6 => wanted.push(mask(&spec.shape, &mut numbers)),
            _ => wanted.push(blocks(spec, &mut numbers)),
        }
    }
    wanted
}

impl Written {
    pub(crate) fn bytes_of(&self, elements: &[Vec<u64>]) -> Vec<u8> {
        let size = self.spec.element_bytes;
        let number = |at: &Vec<u64>| {
            at.iter().zip(&self.spec.shape).fold(0, |number, (at, length)| number * length + at)
        };
        let bytes =
            elements.iter().map(|at| &self.elements[usize::try_from(number(at)).unwrap() * size..][..size]);
        bytes.flatten().copied().collect()
    }
}

fn check(array: &Array, written: &Written, wanted: &[Wanted], name: &str) -> Result<(), TestCaseError> {
    let failed = |error: swath_zarr_front::Error| TestCaseError::fail(format!("{name}: {error}"));
    let selections: Vec<Selection> = wanted.iter().map(|wanted| wanted.selection.clone()).collect();
    let many = array.read_many(&selections).map_err(failed)?;
    prop_assert_eq!(many.len(), wanted.len());
    for (read, wanted) in many.iter().zip(wanted) {
        prop_assert_eq!(read.shape(), &wanted.shape[..], "{} {:?}", name, wanted.selection);
        let expected = written.bytes_of(&wanted.elements);
        prop_assert_eq!(read.as_bytes(), &expected[..], "{} {:?}", name, wanted.selection);
    }
    let again = block_on(array.read_many_async(&selections, &ReadOptions::default())).map_err(failed)?;
    prop_assert!(again == many, "{} async", name);
    if let Some((selection, read)) = selections.first().zip(many.first()) {
        let mut target = vec![0xA5; read.as_bytes().len()];
        array.read_into(selection, &mut target).map_err(failed)?;
        prop_assert_eq!(&target[..], read.as_bytes(), "{} into {:?}", name, selection);
    }
    Ok(())
}

/// One array, read by some selections of each kind through every medium.
fn check_everywhere(written: &Written, wanted: &[Wanted]) -> Result<(), TestCaseError> {
    let memory = written.memory();
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    check(&array.with_engine(engine()), written, wanted, "memory")?;
    check(&array.with_engine(narrow_engine()), written, wanted, "narrow")?;
    let cache = DecodedCache::new(1 << 20);
    let cached = array.with_engine(engine()).with_decoded_cache(&cache);
    for name in ["not kept yet", "kept"] {
        check(&cached, written, wanted, name)?;
    }
    let folder = written.folder();
    let array = Array::open(folder.path()).unwrap().with_engine(engine());
    check(&array, written, wanted, "files")?;
    let mapped = LocalFiles::open(folder.path(), FileAccess::Mapped).unwrap();
    let array = Array::open_in(&Store::new(mapped.medium(), "", "mapped"), "").unwrap().with_engine(engine());
    check(&array, written, wanted, "mapped")?;
    let config = SimulatedConfig { latency: Duration::from_micros(50), ..SimulatedConfig::default() };
    let remote = SimulatedRemote::new(config).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap().with_engine(engine());
    check(&array, written, wanted, "remote")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_picks_are_what_indexing_says(spec in spec(), seed: u64, count in 1usize..6) {
        let wanted = any_wanted(&spec, seed, count);
        check_everywhere(&spec.write(), &wanted)?;
    }
}

#[test]
fn each_chunk_is_read_and_decoded_once() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[64, 64], &[32, 32], &[&[8, 8]]) };
    let written = spec.write();
    let memory = written.memory();
    let engine = Engine::new(EngineConfig::default());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine.clone());
    let mut numbers = Numbers(5);
    let all: Vec<i64> = (0..50_000).map(|_| numbers.index(64)).collect();
    let points = Points::new([all.clone(), all.iter().rev().copied().collect()]).unwrap();
    let elements = all.iter().zip(all.iter().rev()).map(|(row, column)| vec![at(*row, 64), at(*column, 64)]);
    let expected = written.bytes_of(&elements.collect::<Vec<_>>());
    assert_eq!(array.read(&points.into()).unwrap().as_bytes(), expected);
    assert_eq!(
        engine.stats().logical_reads,
        written.stored_chunks + 4,
        "64 chunks, and the indexes of 4 shards"
    );
}

#[test]
fn what_does_not_fit_the_array_is_out_of_bounds() {
    let written = Spec::plain(&[10, 9], &[4, 3]).write();
    let memory = written.memory();
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let points =
        |axes: &[&[i64]]| Selection::from(Points::new(axes.iter().map(|axis| axis.to_vec())).unwrap());
    let cases = [
        (points(&[&[0, 10], &[0, 0]]), "index 10 is out of bounds for axis 0 with length 10"),
        (points(&[&[0, 1], &[0, -10]]), "index -10 is out of bounds for axis 1 with length 9"),
        (points(&[&[0]]), "wanted points with an index for each of 2 axes, found 1"),
        (Selection::from((.., [8, 9, 0])), "index 9 is out of bounds for axis 1 with length 9"),
        (Selection::from(([true, false], 0)), "wanted a mask of 10 elements for axis 0"),
        (Selection::from((AxisSelection::Ellipsis, [1], [2], [3])), "too many indices"),
        (Selection::mask(vec![9, 10], vec![true; 90]).unwrap(), "wanted a mask of the array's shape [10, 9]"),
        (Selection::blocks(vec![3.into()]), "index 3 is out of bounds for axis 0 with length 3"),
    ];
    for (selection, message) in cases {
        let error = array.read(&selection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfBounds, "{selection}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(array.read_into(&selection, &mut []).is_err());
    }
    assert_eq!(Selection::mask(vec![2], vec![true]).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn plans_take_no_more_than_their_limit() {
    let written = Spec::plain(&[1000], &[10]).write();
    let memory = written.memory();
    let limits = Limits { plan_bytes_max: 20 << 10, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine);
    let list = |count: i64| -> Vec<i64> { (0..count).map(|number| number * 7 % 1000).collect() };
    assert_eq!(array.read(&Selection::from((list(400),))).unwrap().shape(), [400]);
    for selection in [Selection::from((list(2000),)), Points::new([list(2000)]).unwrap().into()] {
        let error = array.read(&selection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("plan_bytes_max"), "{error}");
    }
    // Neighbours take as much as one element.
    let mask = Selection::mask(vec![1000], (0..1000).map(|at| at != 500).collect::<Vec<_>>()).unwrap();
    assert_eq!(array.read(&mask).unwrap().shape(), [999]);
}

#[test]
fn plans_tell_shapes() {
    let written = Spec::plain(&[10, 9], &[4, 3]).write();
    let memory = written.memory();
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let points = || Selection::from(Points::new([vec![1, 1, 3], vec![2]]).unwrap());
    let plan =
        ReadPlan::new(&array, &[points(), Selection::from((0, [1, 1, 5])), Selection::from((0..2, 0))])
            .unwrap();
    assert_eq!((plan.shape(0), plan.shape(1), plan.shape(2)), (vec![3], vec![3], vec![2]));
    assert_eq!((plan.other_shape(), plan.total_bytes()), (Some(2), 8 * written.spec.element_bytes));
    assert_eq!(ReadPlan::new(&array, &[points(), points()]).unwrap().other_shape(), None);
    assert_eq!(ReadPlan::new(&array, &[]).unwrap().other_shape(), None);
}
