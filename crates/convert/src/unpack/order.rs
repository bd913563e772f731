//! The order in which the points of rows follow.

use super::sample::Sample;
use crate::Grid;

/// The lengths of the rows of a grid, in the order of the file. Where neighbours are of one column, a row is a column.
pub(super) fn row_lengths(grid: &Grid) -> impl Iterator<Item = u32> {
    let (across, along) = match grid.scanning.is_by_columns() {
        true => (grid.columns, grid.rows),
        false => (grid.rows, grid.columns),
    };
    let listed = grid.row_lengths.as_deref().unwrap_or_default();
    let equal = if listed.is_empty() { across.unwrap_or(0) } else { 0 };
    let equal = (0..equal).map(move |_| along.unwrap_or(0));
    listed.iter().copied().chain(equal)
}

/// Turns every other row round, from the second one on. Of a row only those points are in `values` whose bits are set.
pub(super) fn turn_rows<T: Sample>(grid: &Grid, bits: Option<&[u8]>, values: &mut [T]) {
    let is_set = |point: usize| {
        bits.is_none_or(|bits| bits.get(point / 8).is_some_and(|byte| byte >> (7 - point % 8) & 1 == 1))
    };
    let (mut point, mut rest) = (0usize, values);
    for (number, len) in row_lengths(grid).enumerate() {
        let end = point.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        let present = match bits {
            Some(_) => {
                (point..end).take_while(|point| *point < usize::MAX).filter(|point| is_set(*point)).count()
            }
            None => end - point,
        };
        let Some((row, behind)) = rest.split_at_mut_checked(present) else { return };
        if number % 2 == 1 {
            row.reverse();
        }
        (point, rest) = (end, behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GridKind, ScanningMode};

    fn grid(row_lengths: Option<&[u32]>) -> Grid {
        Grid {
            template: 0,
            kind: GridKind::Other,
            points: 6,
            columns: Some(2),
            rows: Some(3),
            row_lengths: row_lengths.map(Into::into),
            rotation: None,
            scanning: ScanningMode(0),
        }
    }

    #[test]
    fn every_other_row_is_turned() {
        let turned = |grid: &Grid, bits: Option<&[u8]>, mut values: Vec<f64>| {
            turn_rows(grid, bits, &mut values);
            values
        };
        let all = || vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(turned(&grid(None), None, all()), [1.0, 2.0, 4.0, 3.0, 5.0, 6.0]);
        assert_eq!(turned(&grid(Some(&[1, 3, 2])), None, all()), [1.0, 4.0, 3.0, 2.0, 5.0, 6.0]);
        // The second point of the first row and the last one are missing.
        assert_eq!(turned(&grid(None), Some(&[0b1011_1000]), vec![1.0, 2.0, 3.0, 4.0]), [1.0, 3.0, 2.0, 4.0]);
    }
}
