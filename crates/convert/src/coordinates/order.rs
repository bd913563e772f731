//! Rows of values, whatever the order of the file is.

use crate::{Error, ErrorKind, Grid};

/// Copies values in the order of the file to rows and columns: `target` has them row by row, both in the order of
/// [`axes`](super::axes).
///
/// # Errors
///
/// `Unsupported` where the grid has no rows of equal length, `Invalid` where either slice has not one element for each point.
pub fn to_rows<T: Copy>(grid: &Grid, stored: &[T], target: &mut [T]) -> Result<(), Error> {
    let (Some(columns), Some(rows)) = (grid.columns, grid.rows) else {
        return Err(Error::unsupported(format!(
            "rows of a {} grid without rows of equal length",
            grid.kind.name()
        )));
    };
    let len = |count: u32| swath_ioengine::memory_len(u64::from(count));
    let (columns, rows) = (len(columns)?, len(rows)?);
    if columns.checked_mul(rows) != Some(stored.len()) || stored.len() != target.len() {
        let (found, room) = (stored.len(), target.len());
        let message = format!("{rows} rows of {columns}, {found} values and room for {room}");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let by_columns = grid.scanning.is_by_columns();
    let along = if by_columns { rows } else { columns };
    for (number, run) in stored.chunks_exact(along.max(1)).enumerate() {
        let turned = grid.scanning.is_boustrophedonic() && number % 2 == 1;
        for (place, value) in run.iter().enumerate() {
            let place = if turned { along - 1 - place } else { place };
            let index = if by_columns { place * columns + number } else { number * columns + place };
            target[index] = *value;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GridKind, ScanningMode};

    #[test]
    fn every_scanning_mode_comes_to_rows() {
        let rows = |scanning: u8, stored: [u8; 6]| {
            let grid = Grid {
                template: 0,
                kind: GridKind::Other,
                points: 6,
                columns: Some(3),
                rows: Some(2),
                row_lengths: None,
                rotation: None,
                scanning: ScanningMode(scanning),
            };
            let mut target = [0; 6];
            to_rows(&grid, &stored, &mut target).map(|()| target).ok()
        };
        let wanted = Some([1, 2, 3, 4, 5, 6]);
        // Where rows run the other way, so do their coordinates.
        for scanning in [0x00, 0x40, 0x80, 0xc0] {
            assert_eq!(rows(scanning, [1, 2, 3, 4, 5, 6]), wanted);
            assert_eq!(rows(scanning | 0x10, [1, 2, 3, 6, 5, 4]), wanted);
            assert_eq!(rows(scanning | 0x20, [1, 4, 2, 5, 3, 6]), wanted);
            assert_eq!(rows(scanning | 0x30, [1, 4, 5, 2, 3, 6]), wanted);
        }
    }
}
