//! Planning a copy, without reading anything: which boxes are read and written, and how often chunks are read.

use crate::raveling::cell_count;
use crate::{Error, RegionGrid};

/// What a copy goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyPlan {
    /// Elements of the target along each axis.
    pub shape: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// One stage from the source to the target; two where an intermediate array lies in between.
    pub stages: Vec<CopyStage>,
    /// Bytes of the intermediate array on the local disk; 0 without one.
    pub intermediate_bytes: u64,
    /// Boxes in memory at once: the next is read while one is written where there are two or more, but for one that is read
    /// back. One at a time where that makes them so much larger that the source is read clearly less.
    pub boxes_in_memory: u64,
    /// Bytes that may be in flight while reading.
    pub(super) in_flight_bytes: u64,
    /// Lanes that read and decode.
    pub(super) lanes: u64,
    /// Bytes that writing may take.
    pub(super) writing_bytes: u64,
}

/// One pass over all elements.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyStage {
    /// Elements of what is decoded at once on the reading side, along each axis.
    pub source_chunk: Vec<u64>,
    /// Elements of an object of the writing side.
    pub target_object: Vec<u64>,
    /// Elements of a box that is read and written at once: whole objects, but at the array's end.
    pub region: Vec<u64>,
    /// Boxes.
    pub region_count: u64,
    /// Bytes of a box.
    pub region_bytes: u64,
    /// How often a chunk of the reading side is read and decoded, on average; 1 at best.
    pub read_amplification: f64,
}

/// What a plan is made from.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    /// Elements of the target.
    pub(super) shape: &'a [u64],
    pub(super) element_bytes: u64,
    /// Where the target's first element lies in the source, and how far apart neighbours are there.
    pub(super) origin: &'a [(u64, u64)],
    pub(super) source_chunk: &'a [u64],
    pub(super) target_object: &'a [u64],
    pub(super) memory_bytes: u64,
    /// Bytes that a lane decodes a chunk into ahead of its box: 0 where chunks are stored as they are.
    pub(super) decoded_bytes: u64,
    /// Lanes, and writing threads, that there may be.
    pub(super) lanes: u64,
    /// Boxes in memory beside those that are read and written: one where they are read back.
    pub(super) more_boxes: u64,
}

/// Reading the next box while one is written is given up for plans that cost less than this share of those that do. Both keep
/// all cores busy, so little more than waiting is lost. Not measured against other values.
const ALONE_BELOW: f64 = 0.8;

/// A source that would be read more often than this is copied by an intermediate array, which costs to write and to read
/// everything once more, without codecs, on a local disk. Not measured against other values.
const AMPLIFICATION_MAX: f64 = 4.0;

/// Boxes beyond this have no better plans, only slower answers.
const REGION_BYTES_MAX: u64 = 1 << 30;

/// Combinations of extents that are tried.
const TRIED_MAX: usize = 200_000;

impl CopyPlan {
    /// Bytes of all elements.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        cell_count(&self.shape).unwrap_or(u64::MAX).saturating_mul(self.element_bytes)
    }

    pub(super) fn new(problem: &Problem<'_>) -> Result<CopyPlan, Error> {
        let overlapped = CopyPlan::with_boxes(problem, 2 + problem.more_boxes)?;
        let alone = CopyPlan::with_boxes(problem, 1 + problem.more_boxes)?;
        match (overlapped, alone) {
            (Some(overlapped), Some(alone)) if alone.cost() < ALONE_BELOW * overlapped.cost() => Ok(alone),
            (Some(plan), _) | (None, Some(plan)) => Ok(plan),
            (None, None) => Err(too_little(problem)),
        }
    }

    /// The plan with so many boxes in memory; `None` where they do not fit.
    fn with_boxes(problem: &Problem<'_>, boxes: u64) -> Result<Option<CopyPlan>, Error> {
        let object_bytes = bytes_of(problem, problem.target_object);
        let in_flight_bytes = (problem.memory_bytes / 6).max(1);
        let lanes = lanes(problem);
        // Beside what is in flight, and what decoders keep; one chunk that is larger is in flight alone.
        let kept = (problem.memory_bytes / 16).max(problem.decoded_bytes.saturating_mul(lanes));
        let reading = in_flight_bytes.max(problem.decoded_bytes).saturating_add(kept);
        // An encoder has its object as encoded chunks and put together.
        let writing = in_flight_bytes.max(object_bytes.saturating_mul(2));
        // What one box at a time is read with is free again by the time that it is written.
        let is_overlapped = 1 + problem.more_boxes < boxes;
        let others = if is_overlapped { reading.saturating_add(writing) } else { reading.max(writing) };
        let room = problem.memory_bytes.saturating_sub(others) / boxes.max(1);
        let room = room.min(REGION_BYTES_MAX.max(object_bytes));
        if room < object_bytes {
            return Ok(None);
        }
        let (stages, intermediate_bytes) = stages(problem, room)?;
        let boxes_bytes =
            stages.iter().map(|stage| stage.region_bytes).max().unwrap_or(0).saturating_mul(boxes);
        let held =
            boxes_bytes.saturating_add(if is_overlapped { reading } else { problem.memory_bytes / 16 });
        Ok(Some(CopyPlan {
            shape: problem.shape.to_vec(),
            element_bytes: problem.element_bytes,
            stages,
            intermediate_bytes,
            boxes_in_memory: boxes,
            in_flight_bytes,
            lanes,
            writing_bytes: problem.memory_bytes.saturating_sub(held).max(in_flight_bytes),
        }))
    }

    /// What is read and written of all elements, in passes over them.
    fn cost(&self) -> f64 {
        self.stages.iter().map(|stage| stage.read_amplification + 1.0).sum()
    }
}

/// As many lanes as can decode at once in a quarter of the memory.
fn lanes(problem: &Problem<'_>) -> u64 {
    let fit = (problem.memory_bytes / 4).checked_div(problem.decoded_bytes).unwrap_or(u64::MAX);
    fit.min(problem.lanes).max(1)
}

fn too_little(problem: &Problem<'_>) -> Error {
    let object_bytes = bytes_of(problem, problem.target_object);
    let objects = object_bytes.saturating_mul(3 + problem.more_boxes);
    let least = objects.saturating_add(problem.decoded_bytes.saturating_mul(2)).saturating_mul(4) / 3;
    Error::invalid(format!(
        "wanted memory for objects of {object_bytes} bytes and chunks of {} bytes, about {} bytes, found {}",
        problem.decoded_bytes,
        least.max(1 << 22),
        problem.memory_bytes
    ))
}

/// The stages with boxes of so many bytes, and the bytes of the intermediate array between them.
fn stages(problem: &Problem<'_>, room: u64) -> Result<(Vec<CopyStage>, u64), Error> {
    let direct = stage(problem, room)?;
    if direct.read_amplification <= AMPLIFICATION_MAX {
        return Ok((vec![direct], 0));
    }
    let elements = cell_count(problem.shape).unwrap_or(u64::MAX);
    Ok(match by_intermediate(problem, &direct, room)? {
        Some(stages) => (stages, elements.saturating_mul(problem.element_bytes)),
        None => (vec![direct], 0),
    })
}

/// Two stages, where they read less than the direct one even so: the intermediate chunks are what both sides' boxes share.
fn by_intermediate(
    problem: &Problem<'_>,
    direct: &CopyStage,
    room: u64,
) -> Result<Option<Vec<CopyStage>>, Error> {
    let source = clipped(problem.source_chunk, problem.shape);
    if room < bytes_of(problem, &source) {
        return Ok(None);
    }
    // Boxes that are whole chunks of the source: each is read once.
    let whole = stage(&Problem { target_object: &source, ..problem.clone() }, room)?;
    let shared: Vec<u64> =
        whole.region.iter().zip(&direct.region).map(|(one, other)| *one.min(other)).collect();
    let first = stage(&Problem { target_object: &shared, ..problem.clone() }, room)?;
    let plain = vec![(0, 1); problem.shape.len()];
    let second = stage(&Problem { source_chunk: &shared, origin: &plain, ..problem.clone() }, room)?;
    let both = first.read_amplification + second.read_amplification;
    Ok((both < direct.read_amplification).then(|| vec![first, second]))
}

/// The boxes by which the fewest chunks are read more than once; of those, the largest.
fn stage(problem: &Problem<'_>, room_bytes: u64) -> Result<CopyStage, Error> {
    let rank = problem.shape.len();
    let room = (room_bytes / problem.element_bytes.max(1)).max(1);
    let candidates: Vec<Vec<Extent>> = (0..rank).map(|axis| candidates(problem, axis)).collect();
    let tried: usize =
        candidates.iter().map(Vec::len).try_fold(1_usize, usize::checked_mul).unwrap_or(usize::MAX);
    let candidates = if TRIED_MAX < tried { fewer(candidates) } else { candidates };
    let mut best = Best { reads: f64::INFINITY, elements: 0, extents: Vec::new() };
    search(&candidates, room, (1.0, 1), &mut Vec::with_capacity(rank), &mut best);
    let region = match best.extents.is_empty() && rank != 0 {
        false => best.extents,
        // Not even one object fits; the caller has seen to that.
        true => clipped(problem.target_object, problem.shape),
    };
    let grid = RegionGrid::new(problem.shape, &region)?;
    let reads = region.iter().enumerate().map(|(axis, extent)| amplification(problem, axis, *extent));
    Ok(CopyStage {
        source_chunk: problem.source_chunk.to_vec(),
        target_object: problem.target_object.to_vec(),
        region_count: grid.len(),
        region_bytes: bytes_of(problem, &region),
        read_amplification: reads.product(),
        region,
    })
}

/// An extent of boxes along one axis, and how often chunks are read for it.
#[derive(Clone, Copy, Debug)]
struct Extent {
    elements: u64,
    reads: f64,
}

struct Best {
    reads: f64,
    elements: u64,
    extents: Vec<u64>,
}

/// Tries all combinations that fit: those that read least, then the largest.
fn search(
    candidates: &[Vec<Extent>],
    room: u64,
    (reads, elements): (f64, u64),
    chosen: &mut Vec<u64>,
    best: &mut Best,
) {
    let Some((axis, others)) = candidates.split_first() else {
        // Rounding must not prefer one of equals.
        let is_better = reads < best.reads * (1.0 - 1e-9)
            || (reads < best.reads * (1.0 + 1e-9) && best.elements < elements);
        if is_better {
            *best = Best { reads, elements, extents: chosen.clone() };
        }
        return;
    };
    for extent in axis {
        let elements = elements.saturating_mul(extent.elements.max(1));
        if elements <= room && reads <= best.reads * (1.0 + 1e-9) {
            chosen.push(extent.elements);
            search(others, room, (reads * extent.reads, elements), chosen, best);
            chosen.pop();
        }
    }
}

/// Extents along one axis that may be worth it: whole objects, doubled until they are the axis, and multiples of those that
/// are whole chunks too.
fn candidates(problem: &Problem<'_>, axis: usize) -> Vec<Extent> {
    let length = problem.shape[axis].max(1);
    let object = problem.target_object[axis].max(1);
    let chunk = (problem.source_chunk[axis] / problem.origin[axis].1.max(1)).max(1);
    let both = (chunk / gcd(chunk, object)).saturating_mul(object);
    let mut extents = vec![length];
    for unit in [object, both] {
        for times in [1_u64, 3, 5, 7] {
            let mut extent = unit.saturating_mul(times);
            while extent < length {
                extents.push(extent);
                extent = extent.saturating_mul(2);
            }
        }
    }
    extents.sort_unstable();
    extents.dedup();
    let extent = |elements| Extent { elements, reads: amplification(problem, axis, elements) };
    extents.into_iter().map(extent).collect()
}

/// One object, the whole axis, and those in between that no smaller one equals in reads.
fn fewer(candidates: Vec<Vec<Extent>>) -> Vec<Vec<Extent>> {
    let few = |axis: Vec<Extent>| {
        let mut kept: Vec<Extent> = Vec::new();
        let count = axis.len();
        for (number, extent) in axis.into_iter().enumerate() {
            let is_end = number == 0 || number + 1 == count;
            let is_better = kept.last().is_none_or(|last| extent.reads < last.reads);
            if is_end || (is_better && kept.len() < 3) {
                kept.push(extent);
            }
        }
        kept
    };
    candidates.into_iter().map(few).collect()
}

/// How often chunks are read along one axis: once, and once more for each border of boxes that lies within a chunk.
fn amplification(problem: &Problem<'_>, axis: usize, extent: u64) -> f64 {
    let (length, extent) = (problem.shape[axis], extent.max(1));
    let (start, step) = problem.origin[axis];
    let chunk = problem.source_chunk[axis].max(1);
    if length == 0 {
        return 1.0;
    }
    let borders = (length - 1) / extent;
    let end = start.saturating_add((length - 1).saturating_mul(step));
    let chunks = (end / chunk - start / chunk + 1).min(length);
    let aligned = if step == 1 && start % chunk == 0 {
        (length - 1) / (chunk / gcd(chunk, extent)).saturating_mul(extent)
    } else if borders < 100_000 {
        let is_aligned = |border: &u64| {
            let at = start.saturating_add(border.saturating_mul(extent).saturating_mul(step));
            at / chunk != (at - step) / chunk
        };
        let aligned = (1..=borders).filter(is_aligned).count();
        swath_ioengine::storage_len(aligned)
    } else {
        0
    };
    (chunks + (borders - aligned)) as f64 / chunks as f64
}

fn bytes_of(problem: &Problem<'_>, extents: &[u64]) -> u64 {
    let elements = cell_count(&clipped(extents, problem.shape)).unwrap_or(u64::MAX);
    elements.saturating_mul(problem.element_bytes)
}

/// Extents no longer than the array.
fn clipped(extents: &[u64], shape: &[u64]) -> Vec<u64> {
    extents.iter().zip(shape).map(|(extent, length)| (*extent).min(*length).max(1)).collect()
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;
    use std::collections::HashMap;

    fn plan(shape: &[u64], source: &[u64], target: &[u64], memory_bytes: u64) -> Result<CopyPlan, Error> {
        let origin = vec![(0, 1); shape.len()];
        CopyPlan::new(&Problem {
            shape,
            element_bytes: 4,
            origin: &origin,
            source_chunk: source,
            target_object: target,
            memory_bytes,
            decoded_bytes: 0,
            lanes: 2,
            more_boxes: 0,
        })
    }

    /// Reads of chunks, counted one by one.
    fn counted(stage: &CopyStage, shape: &[u64], origin: &[(u64, u64)]) -> f64 {
        let grid = RegionGrid::new(shape, &stage.region).unwrap();
        let (mut reads, mut chunks) = (0_u64, HashMap::new());
        for number in 0..grid.len() {
            let Region { start, shape } = grid.region(number);
            let axes: Vec<Vec<u64>> = (0..start.len())
                .map(|axis| {
                    let at =
                        |place: u64| (origin[axis].0 + place * origin[axis].1) / stage.source_chunk[axis];
                    let mut touched: Vec<u64> = (start[axis]..start[axis] + shape[axis]).map(at).collect();
                    touched.dedup();
                    touched
                })
                .collect();
            let all = axes.iter().fold(vec![Vec::new()], |outer: Vec<Vec<u64>>, axis| {
                outer
                    .iter()
                    .flat_map(|chunk| axis.iter().map(move |at| [&chunk[..], &[*at]].concat()))
                    .collect()
            });
            reads += u64::try_from(all.len()).unwrap();
            all.into_iter().for_each(|chunk| *chunks.entry(chunk).or_insert(0) += 1);
        }
        reads as f64 / chunks.len() as f64
    }

    #[test]
    fn time_steps_become_time_series_in_one_pass() {
        // 2 GB of (time, level, y, x), chunks of one level, to chunks of all levels.
        let plan = plan(&[240, 10, 460, 460], &[24, 1, 460, 460], &[1, 10, 460, 460], 512_000_000).unwrap();
        assert_eq!(plan.stages.len(), 1);
        // Two boxes of 24 times do not fit; one does, and then each chunk is read once.
        assert_eq!((plan.boxes_in_memory, plan.stages[0].region_bytes), (1, 24 * 10 * 460 * 460 * 4));
        assert_eq!(plan.stages[0].read_amplification, 1.0);
        let plan =
            super::tests::plan(&[240, 10, 460, 460], &[1, 1, 460, 460], &[1, 10, 460, 460], 512_000_000)
                .unwrap();
        assert_eq!((plan.boxes_in_memory, plan.stages[0].read_amplification), (2, 1.0));
        assert!(
            (plan.stages[0].read_amplification - counted(&plan.stages[0], &plan.shape, &[(0, 1); 4])).abs()
                < 1e-9
        );
    }

    #[test]
    fn what_decoders_keep_is_memory_too() {
        let plan = |decoded_bytes, memory_bytes| {
            CopyPlan::new(&Problem {
                shape: &[96, 10, 1024, 1024],
                element_bytes: 2,
                origin: &[(0, 1); 4],
                source_chunk: &[24, 1, 1024, 1024],
                target_object: &[1, 10, 1024, 1024],
                memory_bytes,
                decoded_bytes,
                lanes: 16,
                more_boxes: 0,
            })
        };
        let (stored, decoded) = (plan(0, 512_000_000).unwrap(), plan(50_331_648, 512_000_000).unwrap());
        assert_eq!((stored.lanes, decoded.lanes), (16, 2));
        for plan in [stored, decoded] {
            // One box at a time, of half as many times as a chunk has.
            assert_eq!((plan.boxes_in_memory, plan.stages[0].read_amplification), (1, 2.0));
            let held = plan.stages[0].region_bytes + plan.writing_bytes;
            assert!(held <= 512_000_000 && 3 * 20_971_520 * 2 <= plan.writing_bytes, "{plan:?}");
        }
        let error = plan(300_000_000, 300_000_000).unwrap_err();
        assert!(error.to_string().contains("chunks of 300000000 bytes, about 883886080 bytes"), "{error}");
    }

    #[test]
    fn what_would_be_read_too_often_has_an_intermediate_array() {
        let plan = plan(&[1000, 800, 800], &[1, 800, 800], &[1000, 8, 8], 64_000_000).unwrap();
        let [first, second] = &plan.stages[..] else { panic!("{plan:?}") };
        assert_eq!((first.read_amplification, second.target_object.as_slice()), (1.0, &[1000, 8, 8][..]));
        assert!(second.read_amplification < 2.0, "{plan:?}");
        assert_eq!(plan.intermediate_bytes, plan.total_bytes());
        for stage in &plan.stages {
            assert!(stage.region_bytes < 48_000_000);
            let (object, region) = (&stage.target_object, &stage.region);
            for axis in 0..3 {
                assert!(
                    region[axis].is_multiple_of(object[axis]) || region[axis] == plan.shape[axis],
                    "{stage:?}"
                );
            }
        }
    }

    #[test]
    fn boxes_are_whole_objects_and_counted_as_they_are_read() {
        let mut state = 11_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1 + (state >> 33) % most
        };
        for round in 0..300 {
            let shape = [next(40), next(40)];
            let (source, target) = ([next(15), next(15)], [next(15), next(15)]);
            let origin = if round % 3 == 0 { [(next(9), next(3)), (next(9), 1)] } else { [(0, 1); 2] };
            let memory = 12 * 1024 + next(200_000);
            let problem = Problem {
                shape: &shape,
                element_bytes: 4,
                origin: &origin,
                source_chunk: &source,
                target_object: &target,
                memory_bytes: memory,
                decoded_bytes: 0,
                lanes: 2,
                more_boxes: 0,
            };
            let room = memory / 4;
            let found = stage(&problem, room).unwrap();
            for axis in 0..2 {
                let extent = found.region[axis];
                assert!(
                    extent.is_multiple_of(target[axis]) || extent == shape[axis],
                    "{problem:?} {found:?}"
                );
            }
            let wanted = counted(&found, &shape, &origin);
            assert!((found.read_amplification - wanted).abs() < 1e-9, "{problem:?} {found:?} {wanted}");
            assert!(found.region_bytes <= room, "{problem:?} {found:?}");
        }
    }

    #[test]
    fn too_little_memory_is_said_with_how_much_would_do() {
        let error = plan(&[100, 1000, 1000], &[1, 1000, 1000], &[100, 1000, 1000], 64_000_000).unwrap_err();
        assert!(error.to_string().contains("wanted memory for objects of 400000000 bytes"), "{error}");
        assert!(plan(&[], &[], &[], 1 << 26).unwrap().stages[0].region.is_empty());
        assert_eq!(plan(&[0, 5], &[1, 1], &[1, 1], 1 << 26).unwrap().stages[0].region_count, 0);
    }
}
