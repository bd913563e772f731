//! Boxes of elements that have lengths of their own.

use super::run::differing;
use crate::data_type::PLACE_BYTES;
use crate::raveling::{cell_count, unravel};
use crate::read::{ReadOptions, ReadPlan};
use crate::region::Region;
use crate::variable::VariableArrayData;
use crate::{Array, Error, ErrorKind, ResolvedAxis, Selection, WriteOptions};
use swath_ioengine::storage_len;

/// Chunks that are looked at to tell how long elements are.
const SAMPLES: u64 = 8;

/// Elements of a chunk that are looked at, at most.
const SAMPLED_MAX: u64 = 1 << 14;

/// Bytes of memory that an element takes while its box is copied: its place when it is read and when it is written, where it starts,
/// and its bytes, in the chunks that were decoded and behind each other. As the chunk of some, spread evenly over what is copied, says
/// that has the longest ones.
///
/// # Errors
///
/// Those of reading these chunks.
pub(super) fn variable_bytes(source: &Array, axes: &[ResolvedAxis]) -> Result<u64, Error> {
    let fixed = storage_len(2 * PLACE_BYTES + size_of::<usize>());
    let extents: Vec<u64> = source.chunk_shape().iter().map(|extent| (*extent).max(1)).collect();
    let counts: Vec<u64> =
        axes.iter().zip(&extents).map(|(axis, extent)| span(axis).div_ceil(*extent)).collect();
    let chunks = cell_count(&counts).unwrap_or(u64::MAX);
    let (mut longest, mut place) = (1, vec![0; counts.len()]);
    for sample in 0..SAMPLES.min(chunks) {
        let number = u128::from(chunks - 1) * u128::from(sample) / u128::from(SAMPLES.min(chunks).max(2) - 1);
        unravel(u64::try_from(number).unwrap_or(0), &counts, &mut place);
        let (start, mut shape): (Vec<u64>, Vec<u64>) = axes
            .iter()
            .zip(&extents)
            .zip(&place)
            .map(|((axis, extent), place)| {
                let first = place * extent;
                (axis.start + first, (*extent).min(span(axis) - first))
            })
            .unzip();
        clip(&mut shape);
        let found = source.verifying().read_variable(&Region { start, shape }.selection()?)?;
        let mean = storage_len(found.as_bytes().len()).div_ceil(storage_len(found.len()).max(1));
        longest = longest.max(mean);
    }
    Ok(longest.saturating_mul(2).saturating_add(fixed))
}

/// Elements of the source from the first one that is copied to the last one, along an axis.
fn span(axis: &ResolvedAxis) -> u64 {
    match axis.count {
        0 => 0,
        count => (count - 1).saturating_mul(axis.step.unsigned_abs()).saturating_add(1),
    }
}

/// Shortens a box to the elements that are looked at, its first axes first.
fn clip(shape: &mut [u64]) {
    for axis in 0..shape.len() {
        let count = cell_count(shape).unwrap_or(u64::MAX);
        if SAMPLED_MAX < count {
            let others = (count / shape[axis].max(1)).max(1);
            shape[axis] = (SAMPLED_MAX / others).clamp(1, shape[axis].max(1));
        }
    }
}

/// Reads a box and writes it, and compares what is there then where `verifies` says so.
///
/// # Errors
///
/// Those of reading and writing; `Corrupt` where what is read back differs.
pub(super) fn copy_variable(
    (source, selection, read): (&Array, &Selection, &ReadOptions<'_>),
    (target, region, write): (&Array, &Region, &WriteOptions<'_>),
    verifies: bool,
) -> Result<(), Error> {
    let found = read_box(source, selection, read)?;
    let own = region.selection()?;
    target.write_variable(&own, &found, write)?;
    if !verifies {
        return Ok(());
    }
    let again = read_box(target, &own, &ReadOptions::default())?;
    let mut pairs = again.options().zip(found.options());
    match pairs.position(|(again, found)| again != found) {
        None if again.presence() == found.presence() && again.len() == found.len() => Ok(()),
        different => Err(differing(target, region, different.unwrap_or(0))),
    }
}

fn read_box(
    array: &Array,
    selection: &Selection,
    options: &ReadOptions<'_>,
) -> Result<VariableArrayData, Error> {
    let mut read = ReadPlan::new(array, std::slice::from_ref(selection))?.read_variable(options)?;
    read.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a read of one selection gave none"))
}
