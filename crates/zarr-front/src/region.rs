//! Boxes of elements, and the grids that cut an array into them.

use crate::raveling::{cell_count, unravel};
use crate::{AxisSelection, Error, Selection};

/// A box of an array's elements: where it starts, and how many elements it has along each axis.
///
/// ```
/// use swath_zarr_front::{Region, RegionGrid};
///
/// let grid = RegionGrid::new(&[5, 4], &[2, 4])?;
/// assert_eq!(grid.len(), 3);
/// assert_eq!(grid.region(2), Region { start: vec![4, 0], shape: vec![1, 4] });
/// assert_eq!(grid.region(2).selection()?.to_string(), "4:5, 0:4");
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The first element along each axis.
    pub start: Vec<u64>,
    /// Elements along each axis.
    pub shape: Vec<u64>,
}

impl Region {
    /// All of an array of this shape.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Region {
        Region { start: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// The selection of its elements, every axis kept.
    ///
    /// # Errors
    ///
    /// `Invalid` beyond what selections can name, 2^63 elements along an axis.
    pub fn selection(&self) -> Result<Selection, Error> {
        let axes = self.start.iter().zip(&self.shape).map(|(start, count)| {
            let end = start.checked_add(*count).and_then(|end| i64::try_from(end).ok())?;
            Some(AxisSelection::from(i64::try_from(*start).ok()?..end))
        });
        let axes = axes.collect::<Option<Vec<_>>>();
        axes.map(Selection::new).ok_or_else(|| Error::invalid("an axis of more than 2^63 elements"))
    }

    /// Elements in all; `u64::MAX` where there are more.
    #[must_use]
    pub fn element_count(&self) -> u64 {
        cell_count(&self.shape).unwrap_or(u64::MAX)
    }
}

/// An array cut into boxes of one shape, those at its ends smaller; numbered in C order.
#[derive(Clone, Debug)]
pub struct RegionGrid {
    shape: Vec<u64>,
    extents: Vec<u64>,
    counts: Vec<u64>,
    len: u64,
}

impl RegionGrid {
    /// An array of `shape` cut into boxes of `extents` elements along each axis; an extent of 0 counts as 1.
    ///
    /// # Errors
    ///
    /// `Invalid` where there are not as many extents as axes, and for more than 2^64 boxes.
    pub fn new(shape: &[u64], extents: &[u64]) -> Result<RegionGrid, Error> {
        if shape.len() != extents.len() {
            return Err(Error::invalid(format!("wanted {} extents, found {extents:?}", shape.len())));
        }
        let extents: Vec<u64> = extents.iter().map(|extent| (*extent).max(1)).collect();
        let counts: Vec<u64> =
            shape.iter().zip(&extents).map(|(length, extent)| length.div_ceil(*extent)).collect();
        let len = cell_count(&counts).ok_or_else(|| Error::invalid("a grid of more than 2^64 boxes"))?;
        Ok(RegionGrid { shape: shape.to_vec(), extents, counts, len })
    }

    /// An array cut into boxes of at most `bytes_max` bytes that are whole chunks: as many of them as fit, along the last axes
    /// first, so that each chunk is read for one box. Where one chunk does not fit it is cut along the first axes.
    ///
    /// # Errors
    ///
    /// As [`RegionGrid::new`].
    pub fn fitting(
        shape: &[u64],
        chunk_shape: &[u64],
        element_bytes: u64,
        bytes_max: u64,
    ) -> Result<RegionGrid, Error> {
        let room = (bytes_max / element_bytes.max(1)).max(1);
        let mut extents = chunk_extents(shape, chunk_shape);
        let elements = |extents: &[u64]| cell_count(extents).unwrap_or(u64::MAX);
        for axis in 0..extents.len() {
            let others = elements(&extents) / extents[axis];
            if room < others.saturating_mul(extents[axis]) {
                extents[axis] = (room / others.max(1)).max(1);
            }
        }
        if elements(&extents) == elements(&chunk_extents(shape, chunk_shape)) {
            for axis in (0..extents.len()).rev() {
                let others = elements(&extents) / extents[axis];
                let chunks = room / others.max(1) / extents[axis];
                extents[axis] = extents[axis].saturating_mul(chunks.max(1)).min(shape[axis].max(1));
                // Boxes of rows that are no whole rows would be no neighbours in storage.
                if extents[axis] < shape[axis] {
                    break;
                }
            }
        }
        RegionGrid::new(shape, &extents)
    }

    /// Boxes in all; none of an array without elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True of an array without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Boxes along each axis.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The box of a number below [`len`](Self::len).
    #[must_use]
    pub fn region(&self, number: u64) -> Region {
        let mut coordinates = vec![0; self.counts.len()];
        unravel(number, &self.counts, &mut coordinates);
        self.at(&coordinates)
    }

    /// The box at these coordinates, counted in boxes; an empty one beyond the array.
    #[must_use]
    pub fn at(&self, coordinates: &[u64]) -> Region {
        let start: Vec<u64> =
            coordinates.iter().zip(&self.extents).map(|(at, extent)| at.saturating_mul(*extent)).collect();
        let shape = start.iter().zip(&self.extents).zip(&self.shape);
        let shape = shape.map(|((start, extent), length)| length.saturating_sub(*start).min(*extent));
        Region { shape: shape.collect(), start }
    }
}

fn chunk_extents(shape: &[u64], chunk_shape: &[u64]) -> Vec<u64> {
    chunk_shape.iter().zip(shape).map(|(chunk, length)| (*chunk).min(*length).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting_boxes_are_whole_chunks_where_one_fits() {
        let extents =
            |bytes_max| RegionGrid::fitting(&[20, 30, 9], &[4, 10, 9], 2, bytes_max).unwrap().extents;
        assert_eq!(extents(720), [4, 10, 9]);
        assert_eq!(extents(1500), [4, 20, 9]);
        assert_eq!(extents(2160 * 2 + 5), [8, 30, 9]);
        assert_eq!(extents(1 << 20), [20, 30, 9]);
        assert_eq!(extents(719), [3, 10, 9]);
        assert_eq!(extents(18), [1, 1, 9]);
        assert_eq!(extents(0), [1, 1, 1]);
        assert_eq!(RegionGrid::fitting(&[], &[], 8, 1).unwrap().len(), 1);
        assert!(RegionGrid::fitting(&[0, 3], &[1, 1], 8, 1).unwrap().is_empty());
    }

    #[test]
    fn boxes_cover_an_array_once() {
        let grid = RegionGrid::new(&[7, 5], &[3, 2]).unwrap();
        let mut seen = [0; 35];
        for number in 0..grid.len() {
            let Region { start, shape } = grid.region(number);
            for row in start[0]..start[0] + shape[0] {
                for column in start[1]..start[1] + shape[1] {
                    seen[usize::try_from(row * 5 + column).unwrap()] += 1;
                }
            }
        }
        assert_eq!(seen, [1; 35]);
    }

    #[test]
    fn arrays_without_axes_are_one_box_and_without_elements_none() {
        assert_eq!(RegionGrid::new(&[], &[]).unwrap().len(), 1);
        assert!(RegionGrid::new(&[3, 0], &[1, 1]).unwrap().is_empty());
        assert!(RegionGrid::new(&[3], &[1, 1]).is_err());
        assert!(RegionGrid::new(&[u64::MAX, 2], &[1, 1]).is_err());
        let far = Region { start: vec![u64::MAX], shape: vec![1] };
        assert!(far.selection().is_err());
    }
}
