//! Copies elements from a strided array to a C-order one: what a transpose comes to, in either direction.

use crate::byte_swap::{swap_in_place, swap_into};

/// Rows and columns of a tile whose source and target both stay in the first-level cache.
const TILE: usize = 16;

/// A strided copy, compiled: axes of length one are dropped, and axes that follow each other in the source as they do
/// in the target are merged.
#[derive(Debug, Clone)]
pub(crate) struct Reorder {
    /// What is copied at every index of `outer`; `None` when source and target have one order.
    plane: Option<Plane>,
    /// The other axes, in the target's order.
    outer: Vec<Axis>,
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

/// The target's fastest axis, and the one that is nearest in the source, so that both sides of a tile stay in cache.
#[derive(Debug, Clone, Copy)]
struct Plane {
    rows: Axis,
    columns: Axis,
    /// Bytes that follow each other in source and target alike: an element, or more.
    run_bytes: usize,
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
        let mut outer = merged_axes(shape, source_strides, element_bytes);
        let mut run_bytes = element_bytes;
        if outer.last().is_some_and(|inner| inner.source_stride == element_bytes) {
            run_bytes *= outer.pop().map_or(1, |inner| inner.length);
        }
        let plane = outer.pop().map(|columns| {
            let near = (0..outer.len()).min_by_key(|&axis| outer[axis].source_stride);
            let rows = match near {
                Some(near) => outer.remove(near),
                None => Axis { length: 1, source_stride: 0, target_stride: 0 },
            };
            Plane { rows, columns, run_bytes }
        });
        Self { plane, outer, total_bytes, swap_unit_bytes }
    }

    /// Whether source and target have the same order of elements.
    pub(crate) fn keeps_order(&self) -> bool {
        self.plane.is_none()
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
        match (&self.plane, self.swap_unit_bytes) {
            (None, None) => target.copy_from_slice(source),
            (None, Some(unit_bytes)) => swap_into(source, target, unit_bytes),
            (Some(_), _) if self.total_bytes == 0 => {}
            (Some(plane), _) => {
                copy_planes(plane, &self.outer, source, target);
                self.swap(target);
            }
        }
    }

    /// Swaps the bytes of every unit if they are in foreign order.
    pub(crate) fn swap(&self, bytes: &mut [u8]) {
        if let Some(unit_bytes) = self.swap_unit_bytes {
            swap_in_place(bytes, unit_bytes);
        }
    }
}

/// The axes of a copy to C order, in the target's order.
fn merged_axes(shape: &[usize], source_strides: &[usize], element_bytes: usize) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    let mut target_stride = element_bytes;
    let lengths = shape.iter().zip(source_strides).rev();
    for (&length, &source_stride) in lengths.filter(|(length, _)| **length != 1) {
        match axes.last_mut() {
            Some(inner) if source_stride == inner.source_stride * inner.length => inner.length *= length,
            _ => axes.push(Axis { length, source_stride, target_stride }),
        }
        target_stride *= length;
    }
    axes.reverse();
    axes
}

/// Copies the plane at every index of `outer`.
fn copy_planes(plane: &Plane, outer: &[Axis], source: &[u8], target: &mut [u8]) {
    if let Some((axis, inner)) = outer.split_first() {
        for index in 0..axis.length {
            let source = &source[index * axis.source_stride..];
            copy_planes(plane, inner, source, &mut target[index * axis.target_stride..]);
        }
        return;
    }
    match plane.run_bytes {
        1 => plane.copy_elements::<1>(source, target),
        2 => plane.copy_elements::<2>(source, target),
        4 => plane.copy_elements::<4>(source, target),
        8 => plane.copy_elements::<8>(source, target),
        16 => plane.copy_elements::<16>(source, target),
        _ => plane.copy_runs(source, target),
    }
}

impl Plane {
    /// Copies elements of `N` bytes, tile by tile.
    fn copy_elements<const N: usize>(&self, source: &[u8], target: &mut [u8]) {
        let Self { rows, columns, .. } = self;
        let is_near = rows.source_stride == N;
        for row in (0..rows.length).step_by(TILE) {
            for column in (0..columns.length).step_by(TILE) {
                let source = &source[row * rows.source_stride + column * columns.source_stride..];
                let target = &mut target[row * rows.target_stride + column * N..];
                let (height, width) = (TILE.min(rows.length - row), TILE.min(columns.length - column));
                if is_near && height == TILE && width == TILE {
                    self.copy_whole_tile::<N>(source, target);
                } else {
                    self.copy_part_of_tile::<N>(source, target, height, width);
                }
            }
        }
    }

    /// Copies a tile whose columns are each one run of the source, over an array whose every index is a constant.
    fn copy_whole_tile<const N: usize>(&self, source: &[u8], target: &mut [u8]) {
        let mut tile = [[[0; N]; TILE]; TILE];
        for (column, cells) in tile.iter_mut().enumerate() {
            let at = column * self.columns.source_stride;
            cells.as_flattened_mut().copy_from_slice(&source[at..at + TILE * N]);
        }
        for row in 0..TILE {
            let at = row * self.rows.target_stride;
            let cells = &mut target[at..at + TILE * N];
            for (cell, column) in cells.as_chunks_mut::<N>().0.iter_mut().zip(&tile) {
                *cell = column[row];
            }
        }
    }

    fn copy_part_of_tile<const N: usize>(
        &self,
        source: &[u8],
        target: &mut [u8],
        height: usize,
        width: usize,
    ) {
        for row in 0..height {
            let at = row * self.rows.target_stride;
            let mut source_at = row * self.rows.source_stride;
            for cell in target[at..at + width * N].as_chunks_mut::<N>().0 {
                cell.copy_from_slice(&source[source_at..source_at + N]);
                source_at += self.columns.source_stride;
            }
        }
    }

    /// Copies runs of any length.
    fn copy_runs(&self, source: &[u8], target: &mut [u8]) {
        let Self { rows, columns, run_bytes } = *self;
        for row in 0..rows.length {
            for column in 0..columns.length {
                let source_at = row * rows.source_stride + column * columns.source_stride;
                let target_at = row * rows.target_stride + column * columns.target_stride;
                target[target_at..target_at + run_bytes]
                    .copy_from_slice(&source[source_at..source_at + run_bytes]);
            }
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
