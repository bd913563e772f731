//! Rows of elements that are worked on together.

use super::floats::Working;

/// Rows that are worked on at a time, at most.
pub(crate) const ROWS_MAX: usize = 32;

/// Rows of stored elements, in native byte order; within a row, elements are one behind the other.
///
/// Handed on by reference: a copy would read what was just written by larger moves than wrote it, and processors do such a
/// read only once all stores before it have left for the cache, those to the output among them.
pub(crate) struct StoredRows<'a> {
    bytes: &'a [u8],
    stride: usize,
    row_bytes: usize,
}

impl<'a> StoredRows<'a> {
    /// Rows of `row_bytes`, the first at the start of `bytes`, the others each `stride` bytes behind the one before.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], stride: usize, row_bytes: usize) -> StoredRows<'a> {
        StoredRows { bytes, stride, row_bytes }
    }

    /// The bytes of a row; none of one that there is not.
    #[inline(always)]
    pub(super) fn row(&self, number: usize) -> &'a [u8] {
        let start = number * self.stride;
        self.bytes.get(start..start + self.row_bytes).unwrap_or_default()
    }
}

/// Memory for the values of some rows between steps.
pub(crate) struct Blocks<W>(Vec<W>);

impl<W> Default for Blocks<W> {
    fn default() -> Blocks<W> {
        Blocks(Vec::new())
    }
}

impl<W: Working> Blocks<W> {
    /// Calls `work` with so many rows of `count` values each, at most [`ROWS_MAX`]; what they are is not defined.
    #[inline(always)]
    pub(crate) fn rows<R>(
        &mut self,
        rows: usize,
        count: usize,
        work: impl FnOnce(&mut [&mut [W]]) -> R,
    ) -> R {
        let Blocks(values) = self;
        let len = rows * count;
        if values.len() < len {
            values.resize(len, W::ZERO);
        }
        let values = &mut values[..len];
        // Means are mostly of few rows at a time.
        if rows <= ROWS_FEW {
            in_rows::<ROWS_FEW, W, R>(values, (rows, count), work)
        } else {
            in_rows::<ROWS_MAX, W, R>(values, (rows, count), work)
        }
    }
}

const ROWS_FEW: usize = 4;

#[inline(always)]
fn in_rows<const N: usize, W, R>(
    values: &mut [W],
    (rows, count): (usize, usize),
    work: impl FnOnce(&mut [&mut [W]]) -> R,
) -> R {
    let mut found: [&mut [W]; N] = std::array::from_fn(|_| Default::default());
    let mut rest = values;
    let rows = rows.min(N);
    for place in &mut found[..rows] {
        let (row, behind) = rest.split_at_mut(count);
        (*place, rest) = (row, behind);
    }
    work(&mut found[..rows])
}

/// Calls `work` with the memory of elements as values, row by row, at most [`ROWS_MAX`]; `None` where it does not lie as they
/// must.
#[inline(always)]
pub(super) fn values_of_bytes<W: Working, R>(
    bytes: &mut [&mut [u8]],
    work: impl FnOnce(&mut [&mut [W]]) -> R,
) -> Option<R> {
    let mut found: [&mut [W]; ROWS_MAX] = std::array::from_fn(|_| Default::default());
    let rows = bytes.len().min(ROWS_MAX);
    for (row, bytes) in found.iter_mut().zip(bytes) {
        *row = bytemuck::try_cast_slice_mut(bytes).ok()?;
    }
    Some(work(&mut found[..rows]))
}
