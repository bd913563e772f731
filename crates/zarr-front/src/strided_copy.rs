//! Copying boxes of elements between two pieces of memory, each with strides of its own.

/// One axis of a copy.
#[derive(Clone, Debug)]
pub(crate) enum CopyAxis {
    /// So many elements, so many bytes apart in both memories.
    Even { count: usize, source_stride: isize, target_stride: isize },
    /// Elements at these distances in bytes from the first of the axis, in the source and in the target.
    Listed(Vec<(isize, isize)>),
}

impl CopyAxis {
    fn count(&self) -> usize {
        match self {
            CopyAxis::Even { count, .. } => *count,
            CopyAxis::Listed(places) => places.len(),
        }
    }
}

/// Copies elements of `element` bytes each, from `source` at `from` on to `target` at `to` on; the last of `axes` runs
/// fastest. `None` where an element lies outside either memory: what was copied by then is not defined.
pub(crate) fn copy_box(
    axes: Vec<CopyAxis>,
    element: usize,
    (source, from): (&[u8], usize),
    (target, to): (&mut [u8], usize),
) -> Option<()> {
    if axes.iter().any(|axis| axis.count() == 0) {
        return Some(());
    }
    let (axes, run) = merged(axes, element)?;
    match run {
        1 => nest::<1>(&axes, run, (source, from), (target, to)),
        2 => nest::<2>(&axes, run, (source, from), (target, to)),
        4 => nest::<4>(&axes, run, (source, from), (target, to)),
        8 => nest::<8>(&axes, run, (source, from), (target, to)),
        16 => nest::<16>(&axes, run, (source, from), (target, to)),
        _ => nest::<0>(&axes, run, (source, from), (target, to)),
    }
}

/// The axes that are left once those whose elements follow each other in both memories are one run, and its bytes.
fn merged(axes: Vec<CopyAxis>, element: usize) -> Option<(Vec<CopyAxis>, usize)> {
    let (mut left, mut run) = (Vec::with_capacity(axes.len()), element);
    for axis in axes.into_iter().rev() {
        match axis {
            CopyAxis::Even { count: 1, .. } => {}
            CopyAxis::Even { count, source_stride, target_stride }
                if left.is_empty() && [source_stride, target_stride] == [run.cast_signed(); 2] =>
            {
                run = run.checked_mul(count)?;
            }
            axis => left.push(axis),
        }
    }
    left.reverse();
    Some((left, run))
}

/// Copies runs of `RUN` bytes, or of `run` where that is 0: runs of a length that is known ahead are single moves.
fn nest<const RUN: usize>(
    axes: &[CopyAxis],
    run: usize,
    (source, mut from): (&[u8], usize),
    (target, mut to): (&mut [u8], usize),
) -> Option<()> {
    let run = if RUN == 0 { run } else { RUN };
    let Some((axis, inner)) = axes.split_first() else {
        let found = source.get(from..from.checked_add(run)?)?;
        target.get_mut(to..to.checked_add(run)?)?.copy_from_slice(found);
        return Some(());
    };
    let (count, source_stride, target_stride) = match axis {
        CopyAxis::Even { count, source_stride, target_stride } => (*count, *source_stride, *target_stride),
        CopyAxis::Listed(places) => {
            return places.iter().try_for_each(|(source_place, target_place)| {
                let from = from.checked_add_signed(*source_place)?;
                nest::<RUN>(inner, run, (source, from), (&mut *target, to.checked_add_signed(*target_place)?))
            });
        }
    };
    for number in 0..count {
        if number != 0 {
            from = from.checked_add_signed(source_stride)?;
            to = to.checked_add_signed(target_stride)?;
        }
        if inner.is_empty() {
            let found = source.get(from..from.checked_add(run)?)?;
            target.get_mut(to..to.checked_add(run)?)?.copy_from_slice(found);
        } else {
            nest::<RUN>(inner, run, (source, from), (&mut *target, to))?;
        }
    }
    Some(())
}

/// Whether all of `bytes` is one `element` again and again.
pub(crate) fn is_repeated(bytes: &[u8], element: &[u8]) -> bool {
    let Some(first) = bytes.get(..element.len()) else { return bytes.is_empty() };
    // What is equal to itself moved by an element, and begins with it, is nothing else.
    first == element && bytes.get(element.len()..) == bytes.get(..bytes.len() - element.len())
}

/// Fills `bytes` with one element again and again.
pub(crate) fn repeat(bytes: &mut [u8], element: &[u8]) {
    match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => bytes.fill(*first),
        [] => {}
        _ => bytes.chunks_mut(element.len()).for_each(|place| {
            if place.len() == element.len() {
                place.copy_from_slice(element);
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(count: usize, source_stride: isize, target_stride: isize) -> CopyAxis {
        CopyAxis::Even { count, source_stride, target_stride }
    }

    #[test]
    fn boxes_are_copied() {
        let source: Vec<u8> = (0..24).collect();
        let mut target = vec![0; 24];
        // A transpose of 2 by 3 elements of 4 bytes.
        copy_box(vec![axis(2, 12, 4), axis(3, 4, 8)], 4, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target[..12], [0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7]);
        // All of it in one run; backwards; and one element again and again.
        copy_box(vec![axis(2, 12, 12), axis(12, 1, 1)], 1, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target, source);
        copy_box(vec![axis(8, -3, 3)], 3, (&source, 21), (&mut target, 0)).unwrap();
        assert_eq!(target[..6], [21, 22, 23, 18, 19, 20]);
        copy_box(vec![axis(12, 0, 2)], 2, (&source, 4), (&mut target, 0)).unwrap();
        assert!(
            is_repeated(&target, &[4, 5]) && !is_repeated(&target, &[5, 4]) && !is_repeated(&source, &[0])
        );
    }

    #[test]
    fn listed_elements_are_copied() {
        let source: Vec<u8> = (0..12).collect();
        let mut target = [99; 12];
        // Rows 2 and 0 to rows 0 and 1; of three columns of two bytes the last and the first.
        let (rows, columns) = (vec![(6, 0), (0, 4)], vec![(4, 0), (0, 2)]);
        let axes = vec![CopyAxis::Listed(rows.clone()), CopyAxis::Listed(columns)];
        copy_box(axes, 2, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target[..9], [10, 11, 6, 7, 4, 5, 0, 1, 99]);
        copy_box(vec![CopyAxis::Listed(rows), axis(4, 1, 1)], 1, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target[..9], [6, 7, 8, 9, 0, 1, 2, 3, 99]);
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let mut target = [0; 8];
        for axis in [axis(3, 4, 2), axis(2, -1, 2), axis(5, 1, 2), CopyAxis::Listed(vec![(0, 0), (7, 0)])] {
            assert!(copy_box(vec![axis.clone()], 2, (&[0; 8], 0), (&mut target, 0)).is_none(), "{axis:?}");
        }
        assert!(copy_box(vec![], 9, (&[0; 8], 0), (&mut target, 0)).is_none());
        assert!(copy_box(vec![axis(0, 99, 99)], 9, (&[0; 8], 99), (&mut target, 99)).is_some());
    }

    #[test]
    fn fills_repeat() {
        let mut bytes = [9; 6];
        repeat(&mut bytes, &[1, 2]);
        assert_eq!(bytes, [1, 2, 1, 2, 1, 2]);
        assert!(is_repeated(&bytes, &[1, 2]) && is_repeated(&[], &[1]));
    }
}
