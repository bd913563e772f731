//! The points of reduced grids, whose rows differ in length.

use super::{gaussian, latitudes};
use crate::Error;
use crate::grib::{Area, Grid, GridKind, Place};

/// How far beyond the ends of an area a point may lie that counts as within, in degrees: ends are stored rounded to a thousandth or
/// a millionth. The first that makes as many points as the grid has is taken.
const TOLERANCES: [f64; 4] = [1e-9, 1e-6, 1e-3, 2e-3];

/// Points whose places are worked out: 64 million, those of some kilometres' distance, take a gigabyte.
const POINTS_MAX: u64 = 1 << 26;

/// The places of all points, in the order of the file.
pub(super) fn places(grid: &Grid, lengths: &[u32]) -> Result<Vec<Place>, Error> {
    if POINTS_MAX < grid.points {
        return Err(Error::unsupported(format!(
            "{} points of a reduced grid: {POINTS_MAX} are the most",
            grid.points
        )));
    }
    let points = swath_ioengine::memory_len(grid.points)?;
    let rows = u32::try_from(lengths.len()).map_err(|_| Error::corrupt("more rows than 2^32"))?;
    let (area, latitudes) = match &grid.kind {
        GridKind::Gaussian { area, parallels } => {
            (area, gaussian::rows(*parallels, area, grid.scanning, rows)?)
        }
        GridKind::LatLon(area) => (area, latitudes(grid, area, rows)),
        other => return Err(Error::unsupported(format!("coordinates of a reduced {} grid", other.name()))),
    };
    let whole: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    if whole == grid.points {
        let row = |(latitude, length): (&f64, &u32)| {
            let (latitude, length) = (*latitude, *length);
            (0..length).map(move |column| Place {
                latitude,
                longitude: 360.0 * f64::from(column) / f64::from(length),
            })
        };
        return Ok(latitudes.iter().zip(lengths).flat_map(row).collect());
    }
    let is_right = |tolerance: &&f64| {
        let spans = lengths.iter().map(|length| span(area, *length, **tolerance));
        spans.map(|(_, count)| u64::from(count)).sum::<u64>() == grid.points
    };
    let tolerance = TOLERANCES.iter().find(is_right).ok_or_else(|| {
        Error::unsupported(format!("{} points of an area of a reduced grid that has others", grid.points))
    })?;
    let mut places = Vec::with_capacity(points);
    for (latitude, length) in latitudes.into_iter().zip(lengths) {
        let (first, count) = span(area, *length, *tolerance);
        let longitude = |number: u32| {
            let east = (first + f64::from(number)) * 360.0 / f64::from(*length);
            let east = east.rem_euclid(360.0);
            if east < 360.0 { east } else { 0.0 }
        };
        places.extend((0..count).map(|number| Place { latitude, longitude: longitude(number) }));
    }
    Ok(places)
}

/// Of a row of so many points round the Earth: the number of the first one within the area, and how many there are.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not below zero, and no more than the points of a row"
)]
fn span(area: &Area, length: u32, tolerance: f64) -> (f64, u32) {
    let first = area.first.longitude.rem_euclid(360.0);
    let mut last = area.last.longitude.rem_euclid(360.0);
    if last < first {
        last += 360.0;
    }
    let points = f64::from(length) / 360.0;
    let begin = ((first - tolerance) * points).ceil();
    let end = ((last + tolerance) * points).floor();
    (begin, (end - begin + 1.0).clamp(0.0, f64::from(length)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spacing;

    #[test]
    fn points_of_a_row_are_those_within_the_area() {
        let place = |longitude| Place { latitude: 0.0, longitude };
        let spacing = Spacing { i: None, j: None };
        let area = |first, last| Area { first: place(first), last: place(last), spacing };
        assert_eq!(span(&area(350.0, 10.0), 36, 1e-9), (35.0, 3));
        assert_eq!(span(&area(0.001, 9.0), 36, 1e-9), (1.0, 0));
        assert_eq!(span(&area(-30.0, 30.0), 12, 1e-9), (11.0, 3));
    }
}
