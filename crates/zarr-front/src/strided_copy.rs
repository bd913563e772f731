//! Copying boxes of elements between two pieces of memory, each with strides of its own.

/// One axis of a copy: how many elements, and how many bytes apart they are in both memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyAxis {
    pub(crate) count: usize,
    pub(crate) source_stride: isize,
    pub(crate) target_stride: isize,
}

/// Copies elements of `element` bytes each, from `source` at `from` on to `target` at `to` on; the last of `axes` runs
/// fastest. `None` where an element lies outside either memory: what was copied by then is not defined.
pub(crate) fn copy_box(
    axes: &[CopyAxis],
    element: usize,
    (source, from): (&[u8], usize),
    (target, to): (&mut [u8], usize),
) -> Option<()> {
    if axes.iter().any(|axis| axis.count == 0) {
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
fn merged(axes: &[CopyAxis], element: usize) -> Option<(Vec<CopyAxis>, usize)> {
    let (mut left, mut run) = (Vec::with_capacity(axes.len()), element);
    for axis in axes.iter().rev().filter(|axis| axis.count != 1) {
        let is_run = left.is_empty() && [axis.source_stride, axis.target_stride] == [run.cast_signed(); 2];
        match is_run {
            true => run = run.checked_mul(axis.count)?,
            false => left.push(*axis),
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
    for number in 0..axis.count {
        if number != 0 {
            from = from.checked_add_signed(axis.source_stride)?;
            to = to.checked_add_signed(axis.target_stride)?;
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
        CopyAxis { count, source_stride, target_stride }
    }

    #[test]
    fn boxes_are_copied() {
        let source: Vec<u8> = (0..24).collect();
        let mut target = vec![0; 24];
        // A transpose of 2 by 3 elements of 4 bytes.
        copy_box(&[axis(2, 12, 4), axis(3, 4, 8)], 4, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target[..12], [0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7]);
        // All of it in one run; backwards; and one element again and again.
        copy_box(&[axis(2, 12, 12), axis(12, 1, 1)], 1, (&source, 0), (&mut target, 0)).unwrap();
        assert_eq!(target, source);
        copy_box(&[axis(8, -3, 3)], 3, (&source, 21), (&mut target, 0)).unwrap();
        assert_eq!(target[..6], [21, 22, 23, 18, 19, 20]);
        copy_box(&[axis(12, 0, 2)], 2, (&source, 4), (&mut target, 0)).unwrap();
        assert!(
            is_repeated(&target, &[4, 5]) && !is_repeated(&target, &[5, 4]) && !is_repeated(&source, &[0])
        );
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let mut target = [0; 8];
        for (axes, from) in [([axis(3, 4, 2)], 0), ([axis(2, -1, 2)], 0), ([axis(5, 1, 2)], 0)] {
            assert!(copy_box(&axes, 2, (&[0; 8], from), (&mut target, 0)).is_none(), "{axes:?}");
        }
        assert!(copy_box(&[], 9, (&[0; 8], 0), (&mut target, 0)).is_none());
        assert!(copy_box(&[axis(0, 99, 99)], 9, (&[0; 8], 99), (&mut target, 99)).is_some());
    }

    #[test]
    fn fills_repeat() {
        let mut bytes = [9; 6];
        repeat(&mut bytes, &[1, 2]);
        assert_eq!(bytes, [1, 2, 1, 2, 1, 2]);
        assert!(is_repeated(&bytes, &[1, 2]) && is_repeated(&[], &[1]));
    }
}
