//! Lists of indices along one axis, checked against its length.

use super::resolve::{AxisKind, ResolvedAxis, outside};
use crate::Error;
use std::sync::Arc;

/// A list whose elements are not at equal distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedList {
    /// The array's axis.
    pub(crate) axis: usize,
    /// Its indices: each lies within the axis, those that are negative counted from its end.
    pub(crate) indices: Arc<[i64]>,
}

/// Resolves a list: to its first element and its step where it has one, else to its count, and itself among `lists`.
pub(super) fn resolve_list(
    indices: &Arc<[i64]>,
    axis: usize,
    length: u64,
    lists: &mut Vec<ResolvedList>,
) -> Result<ResolvedAxis, Error> {
    check(indices, axis, length)?;
    Ok(resolved(indices, axis, length, lists))
}

/// Resolves a mask, as the list of the indices at which it is true.
pub(super) fn resolve_mask(
    values: &[bool],
    axis: usize,
    length: u64,
    lists: &mut Vec<ResolvedList>,
) -> Result<ResolvedAxis, Error> {
    if swath_ioengine::storage_len(values.len()) != length {
        let found = values.len();
        return Err(Error::out_of_bounds(format!(
            "wanted a mask of {length} elements for axis {axis} of that length, found one of {found}"
        )));
    }
    let indices: Arc<[i64]> =
        (0i64..).zip(values).filter(|(_, value)| **value).map(|(index, _)| index).collect();
    Ok(resolved(&indices, axis, length, lists))
}

/// Checks that every index lies within an axis.
pub(super) fn check(indices: &[i64], axis: usize, length: u64) -> Result<(), Error> {
    let (mut low, mut high) = (0, -1);
    for index in indices {
        (low, high) = (low.min(*index), high.max(*index));
    }
    let is_within = |index: i64| u64::try_from(index).is_ok_and(|index| index < length);
    let is_far = |index: i64| length < index.unsigned_abs();
    if (high < 0 || is_within(high)) && (0 <= low || !is_far(low)) {
        return Ok(());
    }
    let first = indices.iter().find(|index| if **index < 0 { is_far(**index) } else { !is_within(**index) });
    Err(outside(first.copied().unwrap_or(high), axis, length))
}

/// The element at an index that lies within the axis.
#[inline]
pub(crate) fn at(index: i64, length: u64) -> u64 {
    // Both are one addition and a choice: an index below zero is the two's complement of its distance from the end.
    let element = index.cast_unsigned();
    if index < 0 { element.wrapping_add(length) } else { element }
}

fn resolved(indices: &Arc<[i64]>, axis: usize, length: u64, lists: &mut Vec<ResolvedList>) -> ResolvedAxis {
    if let Some(resolved) = progression(indices, length) {
        return resolved;
    }
    lists.push(ResolvedList { axis, indices: Arc::clone(indices) });
    let count = swath_ioengine::storage_len(indices.len());
    ResolvedAxis { start: 0, count, step: 1, kind: AxisKind::Kept }
}

/// A list of elements at equal distances, as slices take them: no list is needed then.
fn progression(indices: &[i64], length: u64) -> Option<ResolvedAxis> {
    let count = swath_ioengine::storage_len(indices.len());
    let kept = |start, step| ResolvedAxis { start, count, step, kind: AxisKind::Kept };
    let start = match indices {
        [] => return Some(kept(0, 1)),
        [only] => return Some(kept(at(*only, length), 1)),
        [first, ..] => at(*first, length),
    };
    let distance = |pair: &[i64]| -> Option<i64> {
        let [from, to] = pair else { return None };
        i64::try_from(i128::from(at(*to, length)) - i128::from(at(*from, length))).ok()
    };
    let step = distance(indices.get(..2)?).filter(|step| *step != 0)?;
    indices.windows(2).all(|pair| distance(pair) == Some(step)).then(|| kept(start, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AxisSelection, ErrorKind, Selection};
    use proptest::prelude::*;

    fn resolve(
        entry: impl Into<AxisSelection>,
        length: u64,
    ) -> Result<(ResolvedAxis, Vec<ResolvedList>), Error> {
        let (mut axes, mut lists) = (Vec::new(), Vec::new());
        super::super::resolve_into(&[entry.into()], &[length], &mut axes, &mut lists)?;
        Ok((axes[0], lists))
    }

    #[test]
    fn lists_at_equal_distances_are_steps() {
        let stepped = |list: &[i64]| {
            let (axis, lists) = resolve(list, 10).unwrap();
            assert_eq!(axis.count, list.len() as u64);
            lists.is_empty().then_some((axis.start, axis.step))
        };
        assert_eq!(stepped(&[]), Some((0, 1)));
        assert_eq!(stepped(&[-1]), Some((9, 1)));
        assert_eq!(stepped(&[2, 3, 4]), Some((2, 1)));
        assert_eq!(stepped(&[-1, 6, 3, 0]), Some((9, -3)));
        assert_eq!(stepped(&[4, 4]), None);
        assert_eq!(stepped(&[1, 2, 4]), None);
        assert_eq!(resolve([true, true, false], 3).unwrap().0.count, 2);
        assert_eq!(resolve([true, true, false, true], 4).unwrap().1[0].indices[..], [0, 1, 3]);
        let selection = Selection::from(([1, 3], ..));
        assert_eq!(selection.resolve(&[5, 2]).unwrap().output_shape(), [2, 2]);
        let unresolved = Selection::from(([1, 1], ..)).resolve(&[5, 2]).unwrap_err();
        assert_eq!(unresolved.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |entry: AxisSelection, length| {
            let error = resolve(entry, length).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfBounds);
            error.to_string()
        };
        assert!(
            refused([1, 10, 11].into(), 10).contains("index 10 is out of bounds for axis 0 with length 10")
        );
        assert!(
            refused([1, -11].into(), 10).contains("index -11 is out of bounds for axis 0 with length 10")
        );
        assert!(refused([0].into(), 0).contains("length 0"));
        assert!(refused([true].into(), 2).contains("wanted a mask of 2 elements for axis 0"));
        assert!(refused([i64::MIN].into(), 10).contains("index -9223372036854775808 is"));
    }

    proptest! {
        #[test]
        fn lists_take_what_they_name(list in prop::collection::vec(-7i64..7, 0..6), length in 0u64..7) {
            let within = |index: &i64| (-(length as i64)..length as i64).contains(index);
            match resolve(list.as_slice(), length) {
                Err(error) => {
                    let first = list.iter().find(|index| !within(index)).unwrap();
                    let named = format!("index {first} is");
                    prop_assert!(error.to_string().contains(&named));
                }
                Ok((axis, lists)) => {
                    prop_assert!(list.iter().all(within));
                    let expected = list.iter().map(|index| index.rem_euclid(length as i64) as u64).collect::<Vec<_>>();
                    let found: Vec<u64> = match lists.as_slice() {
                        [list] => list.indices.iter().map(|index| at(*index, length)).collect(),
                        _ => (0..axis.count).map(|k| axis.element(k).unwrap()).collect(),
                    };
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
