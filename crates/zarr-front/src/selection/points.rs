//! Single elements, named by their coordinates.

use super::lists::check;
use crate::Error;
use crate::raveling::cell_count;
use std::sync::Arc;

/// Single elements of an array, each named by an index for every axis: what NumPy takes by one list of indices an axis, and
/// zarr-python by `vindex`.
///
/// Indices may be in any order, repeat themselves, and count from the end where they are negative. Each chunk that some of
/// the elements lie in is read and decoded once, whatever their order.
///
/// ```
/// use swath_zarr_front::{Points, Selection};
///
/// // The elements (0, 7), (5, 7) and (0, -1).
/// let points = Points::new([vec![0, 5, 0], vec![7, 7, -1]])?;
/// assert_eq!(points.shape(), [3]);
/// let selection = Selection::from(points);
/// # drop(selection);
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Points {
    shape: Vec<u64>,
    /// The result's axes as values are gone through: neighbours are one where they can be.
    walk: Vec<u64>,
    axes: Vec<Coordinates>,
    count: u64,
}

/// The indices of all points along one axis of the array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Coordinates {
    values: Arc<[i64]>,
    /// From one point to the next along each axis of the walk; 0 where they share an index.
    strides: Vec<usize>,
}

impl Points {
    /// Points by one list an axis of the array, in its order, all equally long. A list of one index stands for all points.
    ///
    /// # Errors
    ///
    /// `Invalid` for lists of different lengths, `OutOfBounds` for none.
    pub fn new<A: Into<Arc<[i64]>>>(axes: impl IntoIterator<Item = A>) -> Result<Points, Error> {
        Points::broadcast(axes.into_iter().map(|values| {
            let values = values.into();
            (vec![swath_ioengine::storage_len(values.len())], values)
        }))
    }

    /// Points by one array of indices an axis of the array, each of a shape and in C order. Their shapes are matched as
    /// NumPy does: counted from the last axis, lengths are equal or one of them is 1. The result has the shape that comes
    /// of it.
    ///
    /// # Errors
    ///
    /// `Invalid` for shapes that do not match and for arrays of other lengths than their shapes say, `OutOfBounds` for none.
    pub fn broadcast(axes: impl IntoIterator<Item = (Vec<u64>, Arc<[i64]>)>) -> Result<Points, Error> {
        let axes: Vec<(Vec<u64>, Arc<[i64]>)> = axes.into_iter().collect();
        let shape = common_shape(axes.iter().map(|(shape, _)| shape.as_slice()))?;
        let count = cell_count(&shape).ok_or_else(|| Error::invalid("more points than 64 bits count"))?;
        for (own, values) in &axes {
            let found = swath_ioengine::storage_len(values.len());
            if cell_count(own) != Some(found) {
                return Err(Error::invalid(format!("wanted indices of shape {own:?}, found {found}")));
            }
        }
        let mut strides: Vec<Vec<usize>> = axes.iter().map(|(own, _)| strides_of(own, shape.len())).collect();
        let walk = merged(&shape, &mut strides);
        let axes = axes.into_iter().zip(strides);
        let axes = axes.map(|((_, values), strides)| Coordinates { values, strides }).collect();
        Ok(Points { shape, walk, axes, count })
    }

    /// The shape of the result.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Points in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Checks that there is an index for each axis of an array of `shape`, within it.
    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), Error> {
        let (wanted, found) = (shape.len(), self.axes.len());
        if wanted != found {
            return Err(Error::out_of_bounds(format!(
                "wanted points with an index for each of {wanted} axes, found {found}"
            )));
        }
        let mut axes = self.axes.iter().zip(shape).enumerate();
        axes.try_for_each(|(axis, (coordinates, length))| check(&coordinates.values, axis, *length))
    }

    /// The indices along an axis of the array of the points from number `start` on, in C order of the result: as many as
    /// there is room for, all of which must be points.
    pub(crate) fn indices(&self, axis: usize, start: u64, mut room: &mut [i64]) {
        let Some(Coordinates { values, strides }) = self.axes.get(axis) else { return };
        let row_len = self.walk.last().copied().unwrap_or(1).max(1);
        let stride = strides.last().copied().unwrap_or(0);
        let (mut row, mut within) = (start / row_len, start % row_len);
        while !room.is_empty() {
            let count = room.len().min(memory(row_len - within));
            let (filled, left) = std::mem::take(&mut room).split_at_mut(count);
            let first = self.row_start(strides, row) + memory(within) * stride;
            if stride == 0 {
                filled.fill(values.get(first).copied().unwrap_or(0));
            } else {
                // Values lie one behind the other along the last axis, or are shared along it.
                let found = values.get(first..first + count).unwrap_or_default();
                filled.iter_mut().zip(found).for_each(|(place, value)| *place = *value);
            }
            (room, row, within) = (left, row + 1, 0);
        }
    }

    /// Which value the first point of a row has.
    fn row_start(&self, strides: &[usize], mut row: u64) -> usize {
        let mut first = 0;
        for (extent, stride) in self.walk.iter().zip(strides).rev().skip(1) {
            let extent = (*extent).max(1);
            first += memory(row % extent) * stride;
            row /= extent;
        }
        first
    }
}

/// The shape that arrays of these shapes have together.
fn common_shape<'a>(shapes: impl Iterator<Item = &'a [u64]> + Clone) -> Result<Vec<u64>, Error> {
    let rank = shapes.clone().map(<[u64]>::len).max();
    let rank =
        rank.ok_or_else(|| Error::out_of_bounds("wanted points with an index for each axis, found none"))?;
    let mut common = vec![1; rank];
    for shape in shapes.clone() {
        for (place, extent) in common.iter_mut().rev().zip(shape.iter().rev()) {
            match (*place, *extent) {
                (before, now) if before == now || now == 1 => {}
                (1, now) => *place = now,
                _ => {
                    let found: Vec<&[u64]> = shapes.take(8).collect();
                    return Err(Error::invalid(format!(
                        "wanted indices of shapes that match each other, found {found:?}"
                    )));
                }
            }
        }
    }
    Ok(common)
}

/// From one value to the next along each axis of the result; `own` is the values' shape.
fn strides_of(own: &[u64], rank: usize) -> Vec<usize> {
    let (mut strides, mut stride) = (vec![0; rank], 1usize);
    for (place, extent) in strides.iter_mut().rev().zip(own.iter().rev()) {
        *place = if *extent == 1 { 0 } else { stride };
        stride = stride.saturating_mul(memory(*extent));
    }
    strides
}

/// Merges neighbouring axes that values go through as through one, and leaves out those of one point: how many points
/// there are along each that is left. Strides follow.
fn merged(shape: &[u64], strides: &mut [Vec<usize>]) -> Vec<u64> {
    let mut walk: Vec<u64> = Vec::new();
    let mut kept: Vec<Vec<usize>> = vec![Vec::new(); strides.len()];
    // From the last axis to the first; turned around at the end.
    for (axis, extent) in shape.iter().enumerate().rev().filter(|(_, extent)| **extent != 1) {
        let goes_on = |inner: u64| {
            let mut axes = kept.iter().zip(strides.iter());
            axes.all(|(kept, strides)| {
                kept.last().and_then(|stride| stride.checked_mul(memory(inner))) == Some(strides[axis])
            })
        };
        match walk.last_mut() {
            Some(inner) if goes_on(*inner) => *inner = inner.saturating_mul(*extent),
            _ => {
                walk.push(*extent);
                kept.iter_mut().zip(strides.iter()).for_each(|(kept, strides)| kept.push(strides[axis]));
            }
        }
    }
    walk.reverse();
    for (strides, mut kept) in strides.iter_mut().zip(kept) {
        kept.reverse();
        *strides = kept;
    }
    walk
}

/// Numbers of values in memory fit.
fn memory(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use proptest::prelude::*;

    /// The indices of all points along an axis, some at a time.
    fn indices(points: &Points, axis: usize, at_once: usize) -> Vec<i64> {
        let mut found = vec![i64::MIN; memory(points.count())];
        for (number, room) in found.chunks_mut(at_once).enumerate() {
            points.indices(axis, (number * at_once) as u64, room);
        }
        found
    }

    #[test]
    fn shapes_match_as_numpys_do() {
        let array = |shape: &[u64]| {
            let count = shape.iter().product::<u64>() as i64;
            (shape.to_vec(), (0..count).collect::<Arc<[i64]>>())
        };
        let points = Points::broadcast([array(&[2, 1]), array(&[3]), array(&[])]).unwrap();
        assert_eq!((points.shape(), points.count()), (&[2, 3][..], 6));
        assert_eq!(indices(&points, 0, 4), [0, 0, 0, 1, 1, 1]);
        assert_eq!(indices(&points, 1, 4), [0, 1, 2, 0, 1, 2]);
        assert_eq!(indices(&points, 2, 4), [0; 6]);
        let error = Points::broadcast([array(&[2, 3]), array(&[2])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(Points::new([vec![1, 2], vec![1, 2, 3]]).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(Points::new(Vec::<Vec<i64>>::new()).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(Points::broadcast([array(&[0, 3]), array(&[1])]).unwrap().count(), 0);
        assert_eq!(Points::broadcast([array(&[2, 3, 4])]).unwrap().walk, [24]);
        let lengths = Points::broadcast([(vec![2], Arc::from([1, 2, 3]))]).unwrap_err();
        assert_eq!(lengths.kind(), ErrorKind::Invalid);
    }

    proptest! {
        #[test]
        fn values_are_found_as_by_walking_all_axes(
            shape in prop::collection::vec(0u64..4, 0..4), kept in prop::collection::vec(any::<[bool; 4]>(), 1..4),
            leading in 0usize..3, at_once in 1usize..9,
        ) {
            let owns: Vec<Vec<u64>> = kept.iter().enumerate().map(|(number, kept)| {
                // The first has all axes, so that the result's shape is known.
                let own = shape.iter().zip(kept).map(|(extent, kept)| if *kept || number == 0 { *extent } else { 1 });
                let own: Vec<u64> = own.collect();
                let skipped = own.iter().take(leading).take_while(|extent| **extent == 1 && number != 0).count();
                own[skipped..].to_vec()
            }).collect();
            let values = |own: &[u64]| (10..10 + own.iter().product::<u64>() as i64).collect::<Arc<[i64]>>();
            let points = Points::broadcast(owns.iter().map(|own| (own.clone(), values(own)))).unwrap();
            prop_assert_eq!(points.shape(), &shape[..]);
            for (axis, own) in owns.iter().enumerate() {
                let expected: Vec<i64> = (0..points.count()).map(|number| {
                    let mut at = vec![0; shape.len()];
                    crate::raveling::unravel(number, &shape, &mut at);
                    let at = &at[shape.len() - own.len()..];
                    let place = at.iter().zip(own).fold(0, |place, (at, extent)| place * extent + at.min(&(extent - 1)));
                    10 + place as i64
                }).collect();
                prop_assert_eq!(indices(&points, axis, at_once), expected);
            }
        }
    }
}
