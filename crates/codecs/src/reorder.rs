//! Copies elements from a strided array to a C-order one: what a transpose comes to, in either direction.

use crate::byte_swap::swap_in_place;

/// Rows and columns of a tile whose source and target both stay in the first-level cache.
const TILE: usize = 16;

/// A strided copy, compiled: axes of length one are dropped, and axes that follow each other in the source as they do
/// in the target are merged.
#[derive(Debug, Clone)]
pub(crate) struct Reorder {
    /// Axes in the target's order, slowest first; none when the whole is one run.
    axes: Vec<Axis>,
    /// Bytes that follow each other in source and target alike: an element, or more.
    run_bytes: usize,
    /// Bytes of source, and of target.
    total_bytes: usize,
    swap_unit_bytes: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Axis {
    length: usize,
    source_stride: usize,
    target_stride: usize,
}

impl Reorder {
    /// Compiles a copy to C order of an array of `shape` whose axes have `source_strides`, in bytes.
    ///
    /// The source's elements must lie in as many bytes as the target's: `source_strides` are those of some C-order
    /// array with permuted axes.
    pub(crate) fn new(
        shape: &[usize],
        source_strides: &[usize],
        element_bytes: usize,
        swap_unit_bytes: Option<usize>,
    ) -> Self {
        let total_bytes = shape.iter().product::<usize>() * element_bytes;
        let mut axes: Vec<Axis> = Vec::new();
        let mut target_stride = element_bytes;
        for (&length, &source_stride) in
            shape.iter().zip(source_strides).rev().filter(|(length, _)| **length != 1)
        {
            match axes.last_mut() {
                Some(inner) if source_stride == inner.source_stride * inner.length => inner.length *= length,
                _ => axes.push(Axis { length, source_stride, target_stride }),
            }
            target_stride *= length;
        }
        let mut run_bytes = element_bytes;
        if axes.first().is_some_and(|inner| inner.source_stride == element_bytes) {
            run_bytes *= axes.remove(0).length;
        }
        axes.reverse();
        Self { axes, run_bytes, total_bytes, swap_unit_bytes }
    }

    /// Whether source and target have the same order of elements.
    pub(crate) fn keeps_order(&self) -> bool {
        self.axes.is_empty()
    }

    /// Whether source and target are the same bytes.
    pub(crate) fn is_identity(&self) -> bool {
        self.keeps_order() && self.swap_unit_bytes.is_none()
    }

    /// Copies; source and target must both be of the length that was compiled for.
    pub(crate) fn copy(&self, source: &[u8], target: &mut [u8]) {
        assert!(
            source.len() == self.total_bytes && target.len() == self.total_bytes,
            "the chain checks every stage's length before it reorders"
        );
        self.copy_elements(source, target);
        self.swap(target);
    }

    /// Swaps the bytes of every unit if they are in foreign order.
    pub(crate) fn swap(&self, bytes: &mut [u8]) {
        if let Some(unit_bytes) = self.swap_unit_bytes {
            swap_in_place(bytes, unit_bytes);
        }
    }

    fn copy_elements(&self, source: &[u8], target: &mut [u8]) {
        if self.total_bytes == 0 {
            return;
        }
        let Some((inner, outer)) = self.axes.split_last() else {
            return target.copy_from_slice(source);
        };
        // Tiles span the inner axis and the axis that is nearest in the source, so that both sides stay in cache.
        let near = (0..outer.len()).min_by_key(|&axis| outer[axis].source_stride);
        let rows = near.map_or(Axis { length: 1, source_stride: 0, target_stride: 0 }, |near| outer[near]);
        let others: Vec<Axis> =
            outer.iter().enumerate().filter(|(i, _)| Some(*i) != near).map(|(_, axis)| *axis).collect();
        let copy_plane = match self.run_bytes {
            1 => copy_plane_of::<1>,
            2 => copy_plane_of::<2>,
            4 => copy_plane_of::<4>,
            8 => copy_plane_of::<8>,
            16 => copy_plane_of::<16>,
            _ => copy_plane_of_runs,
        };
        for_each_offset(&others, |source_at, target_at| {
            copy_plane(&source[source_at..], &mut target[target_at..], rows, *inner, self.run_bytes);
        });
    }
}

/// Calls `visit` with the source and target offset of every index into `axes`.
fn for_each_offset(axes: &[Axis], mut visit: impl FnMut(usize, usize)) {
    let mut index = vec![0; axes.len()];
    let (mut source_at, mut target_at) = (0, 0);
    loop {
        visit(source_at, target_at);
        let mut at = axes.len();
        loop {
            let Some(next) = at.checked_sub(1) else { return };
            at = next;
            let axis = axes[at];
            index[at] += 1;
            source_at += axis.source_stride;
            target_at += axis.target_stride;
            if index[at] < axis.length {
                break;
            }
            source_at -= axis.source_stride * axis.length;
            target_at -= axis.target_stride * axis.length;
            index[at] = 0;
        }
    }
}

/// Copies rows times columns elements of `N` bytes, tile by tile.
fn copy_plane_of<const N: usize>(
    source: &[u8],
    target: &mut [u8],
    rows: Axis,
    columns: Axis,
    _run_bytes: usize,
) {
    for row_start in (0..rows.length).step_by(TILE) {
        let row_end = rows.length.min(row_start + TILE);
        for column_start in (0..columns.length).step_by(TILE) {
            let column_end = columns.length.min(column_start + TILE);
            for row in row_start..row_end {
                let target_at = row * rows.target_stride + column_start * N;
                let cells = &mut target[target_at..target_at + (column_end - column_start) * N];
                let mut source_at = row * rows.source_stride + column_start * columns.source_stride;
                for cell in cells.as_chunks_mut::<N>().0 {
                    cell.copy_from_slice(&source[source_at..source_at + N]);
                    source_at += columns.source_stride;
                }
            }
        }
    }
}

/// Copies rows times columns runs of any length.
fn copy_plane_of_runs(source: &[u8], target: &mut [u8], rows: Axis, columns: Axis, run_bytes: usize) {
    for row in 0..rows.length {
        for column in 0..columns.length {
            let source_at = row * rows.source_stride + column * columns.source_stride;
            let target_at = row * rows.target_stride + column * columns.target_stride;
            target[target_at..target_at + run_bytes]
                .copy_from_slice(&source[source_at..source_at + run_bytes]);
        }
    }
}

/// Strides in bytes of a C-order array.
pub(crate) fn c_order_strides(shape: &[usize], element_bytes: usize) -> Vec<usize> {
    let mut stride = element_bytes;
    let mut strides = vec![0; shape.len()];
    for (slot, &length) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride *= length.max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permutes, element by element, the slow way.
    fn naive(source: &[u8], shape: &[usize], strides: &[usize], element_bytes: usize) -> Vec<u8> {
        let count: usize = shape.iter().product();
        let mut target = Vec::new();
        for element in 0..count {
            let (mut rest, mut at) = (element, 0);
            for axis in (0..shape.len()).rev() {
                at += rest % shape[axis] * strides[axis];
                rest /= shape[axis];
            }
            target.extend_from_slice(&source[at..at + element_bytes]);
        }
        target
    }

    fn check(stored_shape: &[usize], order: &[usize], element_bytes: usize) {
        let stored_strides = c_order_strides(stored_shape, element_bytes);
        let shape: Vec<usize> = order.iter().map(|&axis| stored_shape[axis]).collect();
        let strides: Vec<usize> = order.iter().map(|&axis| stored_strides[axis]).collect();
        let length = shape.iter().product::<usize>() * element_bytes;
        let source: Vec<u8> = (0..length).map(|i| (i * 7 % 251).to_le_bytes()[0]).collect();
        let mut target = vec![0; length];
        Reorder::new(&shape, &strides, element_bytes, None).copy(&source, &mut target);
        assert_eq!(target, naive(&source, &shape, &strides, element_bytes), "{stored_shape:?} {order:?}");
    }

    #[test]
    fn equals_the_naive_copy() {
        for element_bytes in [1, 2, 3, 4, 8, 16, 24] {
            check(&[], &[], element_bytes);
            check(&[5], &[0], element_bytes);
            check(&[33, 20], &[1, 0], element_bytes);
            check(&[1, 20], &[1, 0], element_bytes);
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                check(&[3, 17, 18], &order, element_bytes);
                check(&[4, 1, 5], &order, element_bytes);
                check(&[4, 0, 5], &order, element_bytes);
            }
            check(&[3, 4, 5, 6], &[2, 0, 3, 1], element_bytes);
            check(&[3, 4, 5, 6], &[2, 3, 0, 1], element_bytes);
        }
    }

    #[test]
    fn orders_that_change_nothing_are_seen() {
        assert!(Reorder::new(&[2, 3, 4], &[48, 16, 4], 4, None).is_identity());
        assert!(Reorder::new(&[2, 1, 4], &[16, 4, 4], 4, None).is_identity());
        assert!(Reorder::new(&[], &[], 4, None).is_identity());
        assert!(!Reorder::new(&[2, 4], &[16, 4], 4, Some(4)).is_identity());
        assert!(!Reorder::new(&[4, 2], &[4, 16], 4, None).keeps_order());
    }
}
