//! The coordinates of grids: of rows and columns, on a plane, or of single points.

mod gaussian;
mod order;
mod points;
mod projection;
mod reduced;

use crate::Error;
use crate::grib::{Area, Grid, GridKind};
pub use order::to_rows;
pub use points::{GridLayout, Plane, Points, layout};

/// The latitudes of a grid's rows and the longitudes of its columns, in degrees, each in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Degrees north of each row.
    pub latitudes: Vec<f64>,
    /// Degrees east of each column. Where the first one is stored as the larger, it is less by 360.
    pub longitudes: Vec<f64>,
}

/// Rows or columns of the largest grid that has axes here. The finest global ones have some forty thousand.
const AXIS_MAX: u32 = 1 << 20;

/// The axes of a grid of latitudes and longitudes, Gaussian or in equal steps, equal to those of ecCodes to a millionth of a degree.
///
/// # Errors
///
/// `Unsupported` for grids whose points have two coordinates each (projections, rotated grids: [`layout`] has these) or whose rows
/// differ (reduced ones);
/// `Corrupt` where the numbers contradict one another.
pub fn axes(grid: &Grid) -> Result<Axes, Error> {
    let (Some(columns), Some(rows)) = (grid.columns, grid.rows) else {
        return Err(Error::unsupported(format!(
            "coordinates of a {} grid without rows of equal length",
            grid.kind.name()
        )));
    };
    if grid.rotation.is_some() {
        return Err(Error::unsupported(format!("coordinates of a rotated {} grid", grid.kind.name())));
    }
    rows_and_columns(grid, rows, columns)
}

/// As [`axes`], of a rotated grid too: degrees from its own pole.
fn rows_and_columns(grid: &Grid, rows: u32, columns: u32) -> Result<Axes, Error> {
    if grid.points != u64::from(columns) * u64::from(rows) || columns == 0 || rows == 0 {
        return Err(Error::corrupt(format!("{rows} rows of {columns} points, and {} points", grid.points)));
    }
    if AXIS_MAX < columns.max(rows) {
        return Err(Error::unsupported(format!("{rows} rows of {columns} points: {AXIS_MAX} are the most")));
    }
    match &grid.kind {
        GridKind::LatLon(area) => {
            Ok(Axes { latitudes: latitudes(grid, area, rows), longitudes: longitudes(grid, area, columns) })
        }
        GridKind::Gaussian { area, parallels } => Ok(Axes {
            latitudes: gaussian::rows(*parallels, area, grid.scanning, rows)?,
            longitudes: longitudes(grid, area, columns),
        }),
        other => Err(Error::unsupported(format!("coordinates of a {} grid", other.name()))),
    }
}

/// By the step that is stored, though it may be rounded, but for the last row, which is stored itself: as ecCodes has it. By the last
/// row where no step is stored.
fn latitudes(grid: &Grid, area: &Area, rows: u32) -> Vec<f64> {
    let first = area.first.latitude;
    let step = match area.spacing.j {
        Some(step) if grid.scanning.is_j_positive() => step,
        Some(step) => -step,
        None => (area.last.latitude - first) / f64::from(rows.max(2) - 1),
    };
    let mut latitudes: Vec<f64> = (0..rows).map(|row| first + f64::from(row) * step).collect();
    if let Some(last) =
        latitudes.last_mut().filter(|last| (**last - area.last.latitude).abs() < step.abs() / 2.0)
    {
        *last = area.last.latitude;
    }
    latitudes
}

/// In equal steps from the first to the last, whatever step is stored: as ecCodes has it.
fn longitudes(grid: &Grid, area: &Area, columns: u32) -> Vec<f64> {
    let (mut first, mut last) = (area.first.longitude, area.last.longitude);
    match grid.scanning.is_i_negative() {
        false if last < first => first -= 360.0,
        true if first < last => last -= 360.0,
        _ => {}
    }
    let step = (last - first) / f64::from(columns.max(2) - 1);
    (0..columns).map(|column| first + f64::from(column) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, ScanningMode, Spacing};

    fn grid(scanning: u8, first: f64, last: f64) -> Grid {
        let place = |latitude, longitude| Place { latitude, longitude };
        let spacing = Spacing { i: None, j: None };
        Grid {
            template: 0,
            kind: GridKind::LatLon(Area { first: place(10.0, first), last: place(-10.0, last), spacing }),
            points: 15,
            columns: Some(3),
            rows: Some(5),
            row_lengths: None,
            rotation: None,
            scanning: ScanningMode(scanning),
        }
    }

    #[test]
    fn rows_and_columns_are_in_the_order_of_the_file() -> Result<(), Error> {
        let east = axes(&grid(0, 350.0, 10.0))?;
        assert_eq!(east.latitudes, [10.0, 5.0, 0.0, -5.0, -10.0]);
        assert_eq!(east.longitudes, [-10.0, 0.0, 10.0]);
        assert_eq!(axes(&grid(0x80, 10.0, 350.0))?.longitudes, [10.0, 0.0, -10.0]);
        Ok(())
    }

    #[test]
    fn what_has_no_axes_says_so() {
        let contradicting = axes(&Grid { points: 16, ..grid(0, 0.0, 1.0) }).unwrap_err();
        assert_eq!(contradicting.message(), "5 rows of 3 points, and 16 points");
        let huge = Grid { points: 5 * 0xffff_fffe, columns: Some(0xffff_fffe), ..grid(0, 0.0, 1.0) };
        assert!(axes(&huge).is_err());
        let other = Grid { kind: GridKind::Unstructured, ..grid(0, 0.0, 1.0) };
        assert_eq!(axes(&other).unwrap_err().message(), "coordinates of a unstructured grid");
    }
}
