//! Selections against a shape: what NumPy's basic indexing gives.

use super::lists::{ResolvedList, resolve_list, resolve_mask};
use super::{AxisSelection, Selection};
use crate::Error;

/// Whether an axis of the array is an axis of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisKind {
    /// Selected by a slice: the result has the axis.
    Kept,
    /// Selected by an index: the result lacks it.
    Dropped,
}

/// The elements taken of one axis: for k in `0..count`, element `start + k * step`.
///
/// Every such element lies within the axis. A dropped axis has a count of 1; with fewer than two elements `step` is 1,
/// and with none `start` is 0, so that equal results look equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedAxis {
    /// The first element taken.
    pub start: u64,
    /// How many elements are taken.
    pub count: u64,
    /// From one element to the next; negative goes backwards, 0 never occurs.
    pub step: i64,
    /// Whether the result has this axis.
    pub kind: AxisKind,
}

/// A selection checked against a shape: one entry an axis of the array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedSelection {
    /// One entry for each axis of the array, in its order.
    pub axes: Vec<ResolvedAxis>,
}

impl ResolvedSelection {
    /// The shape of the result: the counts of the axes that are kept.
    #[must_use]
    pub fn output_shape(&self) -> Vec<u64> {
        output_shape(&self.axes)
    }

    /// The number of elements of the result: 1 where every axis is dropped, 0 where one selects nothing.
    ///
    /// # Errors
    ///
    /// `Invalid` where the number does not fit 64 bits.
    pub fn element_count(&self) -> Result<u64, Error> {
        element_count(&self.axes)
    }
}

/// The counts of the axes that are kept.
pub(crate) fn output_shape(axes: &[ResolvedAxis]) -> Vec<u64> {
    axes.iter().filter(|axis| axis.kind == AxisKind::Kept).map(|axis| axis.count).collect()
}

/// See [`ResolvedSelection::element_count`].
pub(crate) fn element_count(axes: &[ResolvedAxis]) -> Result<u64, Error> {
    if axes.iter().any(|axis| axis.count == 0) {
        return Ok(0);
    }
    let count = axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(axis.count));
    count.ok_or_else(|| {
        let shape = output_shape(axes);
        Error::invalid(format!("wanted a selection of at most 2^64 - 1 elements, found the shape {shape:?}"))
    })
}

impl ResolvedAxis {
    /// What an axis has where elements are not selected by axes.
    pub(crate) fn of_nothing() -> ResolvedAxis {
        ResolvedAxis { start: 0, count: 1, step: 1, kind: AxisKind::Dropped }
    }

    /// The lowest and the highest element taken, in this order, or `None` when none is.
    #[must_use]
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let last = self.element(self.count.checked_sub(1)?)?;
        Some((self.start.min(last), self.start.max(last)))
    }

    /// Element `k` of those taken, or `None` past the last.
    #[must_use]
    pub fn element(&self, k: u64) -> Option<u64> {
        if self.count <= k {
            return None;
        }
        u64::try_from(i128::from(self.start) + i128::from(k) * i128::from(self.step)).ok()
    }
}

impl Selection {
    /// Checks a selection by indices and slices against an array of `shape` and fills in what it leaves open.
    ///
    /// Indexes wrap once when negative and must then lie within their axis; slices are clamped and never fail; an
    /// ellipsis, or the end of the selection, stands for as many whole axes as are left.
    ///
    /// # Errors
    ///
    /// `OutOfBounds`, naming axis, index and length, for an index outside its axis; `OutOfBounds` too for more entries
    /// than axes and for two ellipses, which NumPy reports as `IndexError`. `Unsupported` for a selection by lists, masks,
    /// points or blocks that does not come to equal distances along each axis.
    ///
    /// Source: NumPy user guide, "Basic indexing"; Python reference, `slice.indices`.
    pub fn resolve(&self, shape: &[u64]) -> Result<ResolvedSelection, Error> {
        let (mut axes, mut lists) = (Vec::with_capacity(shape.len()), Vec::new());
        let refused =
            || Error::unsupported("a selection by lists, masks, points or blocks as steps along axes");
        resolve_into(self.axes().ok_or_else(refused)?, shape, &mut axes, &mut lists)?;
        if lists.is_empty() { Ok(ResolvedSelection { axes }) } else { Err(refused()) }
    }
}

/// Appends what [`Selection::resolve`] gives, and lists whose elements are not at equal distances to `lists`: their axes
/// have the count alone. What it appended before an error is left there.
pub(crate) fn resolve_into(
    entries: &[AxisSelection],
    shape: &[u64],
    axes: &mut Vec<ResolvedAxis>,
    lists: &mut Vec<ResolvedList>,
) -> Result<(), Error> {
    let is_ellipsis = |entry: &&AxisSelection| matches!(entry, AxisSelection::Ellipsis);
    let ellipses = entries.iter().filter(is_ellipsis).count();
    if 1 < ellipses {
        return Err(Error::out_of_bounds(format!(
            "wanted at most one ellipsis in a selection, found {ellipses}"
        )));
    }
    let (given, rank) = (entries.len() - ellipses, shape.len());
    let Some(left_over) = rank.checked_sub(given) else {
        return Err(Error::out_of_bounds(format!(
            "too many indices: the array has {rank} dimensions, the selection names {given}"
        )));
    };
    let mut lengths = shape.iter().enumerate();
    for entry in entries {
        if matches!(entry, AxisSelection::Ellipsis) {
            let whole = lengths.by_ref().take(left_over);
            axes.extend(whole.map(|(_, length)| resolve_slice(None, None, 1, *length)));
        } else if let Some((axis, length)) = lengths.next() {
            axes.push(resolve_axis(entry, axis, *length, lists)?);
        }
    }
    axes.extend(lengths.map(|(_, length)| resolve_slice(None, None, 1, *length)));
    Ok(())
}

fn resolve_axis(
    entry: &AxisSelection,
    axis: usize,
    length: u64,
    lists: &mut Vec<ResolvedList>,
) -> Result<ResolvedAxis, Error> {
    match entry {
        AxisSelection::Index(index) => {
            let index = *index;
            let wrapped = if index < 0 { i128::from(index) + i128::from(length) } else { i128::from(index) };
            match u64::try_from(wrapped) {
                Ok(start) if start < length => {
                    Ok(ResolvedAxis { start, count: 1, step: 1, kind: AxisKind::Dropped })
                }
                _ => Err(outside(index, axis, length)),
            }
        }
        AxisSelection::Slice { start, stop, step } => Ok(resolve_slice(*start, *stop, step.get(), length)),
        AxisSelection::Ellipsis => Ok(resolve_slice(None, None, 1, length)),
        AxisSelection::List(indices) => resolve_list(indices, axis, length, lists),
        AxisSelection::Mask(values) => resolve_mask(values, axis, length, lists),
    }
}

#[cold]
pub(super) fn outside(index: i64, axis: usize, length: u64) -> Error {
    Error::out_of_bounds(format!("index {index} is out of bounds for axis {axis} with length {length}"))
}

/// Python's `slice(start, stop, step).indices(length)`, as a start and a count.
///
/// 128-bit arithmetic holds every sum of a 64-bit length and a 64-bit bound.
pub(super) fn resolve_slice(start: Option<i64>, stop: Option<i64>, step: i64, length: u64) -> ResolvedAxis {
    // Most slices count from the front and take every element.
    if let (Some(start), Some(stop), 1) = (start, stop, step)
        && let (Ok(start), Ok(stop)) = (u64::try_from(start), u64::try_from(stop))
    {
        let stop = stop.min(length);
        let count = stop.saturating_sub(start);
        let start = if count == 0 { 0 } else { start };
        return ResolvedAxis { start, count, step: 1, kind: AxisKind::Kept };
    }
    let length = i128::from(length);
    // Backwards, positions run from length - 1 down to 0, and -1 stands for "past the front".
    let (lowest, highest) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let clamp = |bound: i64| {
        let bound = i128::from(bound);
        let wrapped = if bound < 0 { bound + length } else { bound };
        wrapped.clamp(lowest, highest.max(lowest))
    };
    let (first, last) = if step < 0 { (highest, lowest) } else { (lowest, highest) };
    let start = start.map_or(first, clamp);
    let stop = stop.map_or(last, clamp);
    let distance = if step < 0 { start - stop } else { stop - start };
    let stride = i128::from(step.unsigned_abs());
    // Rounded up: a rest shorter than a stride still has its first element.
    let count = if 0 < distance { (distance + stride - 1) / stride } else { 0 };
    // Both fit: the count is at most the length, and a start with elements lies within the axis.
    let count = u64::try_from(count).unwrap_or(0);
    let start = if count == 0 { 0 } else { u64::try_from(start).unwrap_or(0) };
    ResolvedAxis { start, count, step: if count < 2 { 1 } else { step }, kind: AxisKind::Kept }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorKind;

    /// What a resolved axis takes, element by element.
    fn taken(axis: &ResolvedAxis) -> Vec<u64> {
        (0..axis.count).map(|k| axis.element(k).unwrap()).collect()
    }

    fn resolve(text: &str, shape: &[u64]) -> ResolvedSelection {
        text.parse::<Selection>().unwrap().resolve(shape).unwrap()
    }

    fn refused(text: &str, shape: &[u64]) -> String {
        let error = text.parse::<Selection>().unwrap().resolve(shape).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfBounds);
        error.to_string()
    }

    #[test]
    fn slices_take_what_numpy_takes() {
        // From NumPy 2: `numpy.arange(5)[...]`.
        let cases: [(&str, &[u64]); 16] = [
            (":", &[0, 1, 2, 3, 4]),
            ("1:3", &[1, 2]),
            ("-2:", &[3, 4]),
            (":-2", &[0, 1, 2]),
            ("::2", &[0, 2, 4]),
            ("1::3", &[1, 4]),
            ("::-1", &[4, 3, 2, 1, 0]),
            ("::-2", &[4, 2, 0]),
            ("3:0:-1", &[3, 2, 1]),
            ("3:-100:-2", &[3, 1]),
            ("100:-100:-3", &[4, 1]),
            ("-100:100:4", &[0, 4]),
            ("3:1", &[]),
            ("7:9", &[]),
            ("-100::-1", &[]),
            ("4:9:100", &[4]),
        ];
        for (text, expected) in cases {
            assert_eq!(taken(&resolve(text, &[5]).axes[0]), expected, "{text}");
        }
        assert_eq!(resolve("::-1", &[0]).axes[0].count, 0);
        assert_eq!(resolve("-1:", &[0]).axes[0].count, 0);
    }

    #[test]
    fn axes_are_dropped_expanded_and_filled_up() {
        let shape = [10, 20, 30, 40];
        assert_eq!(resolve("", &shape).output_shape(), shape);
        assert_eq!(resolve("3", &shape).output_shape(), [20, 30, 40]);
        assert_eq!(resolve("..., 3", &shape).output_shape(), [10, 20, 30]);
        assert_eq!(resolve("0:4, ..., ::-3", &shape).output_shape(), [4, 20, 30, 14]);
        assert_eq!(resolve("0, 1, ..., 2, -1", &shape).output_shape(), [0_u64; 0]);
        assert_eq!(resolve("0, 1, 2, -1", &shape).axes[3].start, 39);
        assert_eq!(resolve("...", &[]).element_count().unwrap(), 1);
        assert_eq!(resolve("", &[]).output_shape(), [0_u64; 0]);
        assert_eq!(resolve("0:0", &[u64::MAX, u64::MAX]).element_count().unwrap(), 0);
        assert_eq!(resolve("::-1", &[u64::MAX]).axes[0].bounds(), Some((0, u64::MAX - 1)));
    }

    #[test]
    fn what_does_not_fit_is_out_of_bounds() {
        assert!(refused("0, 10", &[5, 10]).contains("index 10 is out of bounds for axis 1 with length 10"));
        assert!(refused("-6", &[5]).contains("index -6 is out of bounds for axis 0 with length 5"));
        assert!(refused("0", &[0]).contains("length 0"));
        assert!(refused("0", &[]).contains("too many indices"));
        assert!(refused("..., :, :", &[5]).contains("too many indices"));
        assert!(refused("..., ...", &[5]).contains("ellipsis"));
        let everything = resolve(":", &[u64::MAX, 2]).element_count().unwrap_err();
        assert_eq!(everything.kind(), ErrorKind::Invalid);
    }

    /// Python's rules one element at a time: start where it is told (or at the near end), step until past the stop.
    fn naive_slice(start: Option<i64>, stop: Option<i64>, step: i64, length: i64) -> Vec<u64> {
        let wrap = |bound: i64| if bound < 0 { bound + length } else { bound };
        let mut position = match start {
            None if step < 0 => length - 1,
            None => 0,
            Some(start) if step < 0 => wrap(start).min(length - 1),
            Some(start) => wrap(start).max(0),
        };
        let is_before_stop = |position: i64| match stop {
            None => true,
            Some(stop) if step < 0 => wrap(stop) < position,
            Some(stop) => position < wrap(stop),
        };
        let mut taken = Vec::new();
        while (0..length).contains(&position) && is_before_stop(position) {
            taken.push(u64::try_from(position).unwrap());
            position += step;
        }
        taken
    }

    fn bound() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![Just(None), (-15_i64..15).prop_map(Some)]
    }

    proptest! {
        #[test]
        fn slices_match_the_naive_model(
            start in bound(), stop in bound(), step in -5_i64..=5, length in 0_i64..12,
        ) {
            prop_assume!(step != 0);
            let axis = resolve_slice(start, stop, step, u64::try_from(length).unwrap());
            let expected = naive_slice(start, stop, step, length);
            prop_assert_eq!(taken(&axis), expected.clone());
            let bounds = expected.iter().min().copied().zip(expected.iter().max().copied());
            prop_assert_eq!(axis.bounds(), bounds);
        }

        #[test]
        fn any_slice_stays_within_any_axis(
            start: Option<i64>, stop: Option<i64>, step: i64, length: u64,
        ) {
            prop_assume!(step != 0);
            let axis = resolve_slice(start, stop, step, length);
            prop_assert!(axis.count <= length);
            if 0 < axis.count {
                let (low, high) = axis.bounds().unwrap();
                prop_assert!(low <= high && high < length);
            }
        }
    }
}
