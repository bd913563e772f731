//! Grid definition sections: where the points are.

use crate::Error;
use crate::grib::earth::Earth;
use crate::grib::grid::{Area, Grid, GridKind, Place, Projected, Rotation, ScanningMode, SpaceView, Spacing};
use crate::grib::octets::Octets;
use std::sync::Arc;

/// All bits set: a number that is not given.
const MISSING: u32 = u32::MAX;

/// A template that is in a centre's catalogue, or none.
const NO_TEMPLATE: u16 = u16::MAX;

pub(super) fn read(octets: Octets<'_>) -> Result<Grid, Error> {
    let points = u64::from(octets.u32(7)?);
    let template = if octets.u8(6)? == 0 { octets.u16(13)? } else { NO_TEMPLATE };
    let bare = |kind| Grid {
        template,
        kind,
        points,
        columns: None,
        rows: None,
        row_lengths: None,
        rotation: None,
        scanning: ScanningMode(0),
    };
    let rows_and_columns = |kind, scanning: usize| {
        let (columns, rows) = (octets.u32(31)?, octets.u32(35)?);
        let scanning = ScanningMode(octets.u8(scanning)?);
        let (columns, rows) = (Some(columns).filter(is_given), Some(rows).filter(is_given));
        Ok(Grid { columns, rows, scanning, ..bare(kind) })
    };
    match template {
        0..=3 | 40..=43 => lat_lon(octets, rows_and_columns(GridKind::Other, 72)?),
        10 => rows_and_columns(mercator(octets)?, 60),
        20 => {
            let true_latitude = Some(degrees(octets.i32(48)?));
            let (projected, earth) = (projected(octets)?, Earth::of_edition2(octets)?);
            rows_and_columns(GridKind::PolarStereographic { projected, true_latitude, earth }, 65)
        }
        30 => {
            let parallels = [degrees(octets.i32(66)?), degrees(octets.i32(70)?)];
            let (projected, earth) = (projected(octets)?, Earth::of_edition2(octets)?);
            rows_and_columns(GridKind::Lambert { projected, parallels, earth }, 65)
        }
        50..=53 => Ok(bare(GridKind::SphericalHarmonics)),
        90 => rows_and_columns(GridKind::SpaceView(space_view(octets)?), 64),
        101 => Ok(bare(GridKind::Unstructured)),
        140 => rows_and_columns(GridKind::Other, 64),
        // Rotated grids of NCEP's own, staggered or not: 3.0 with the grid's centre for its last point.
        32_768 | 32_769 => rows_and_columns(GridKind::Other, 72),
        _ => Ok(bare(GridKind::Other)),
    }
}

fn is_given(count: &u32) -> bool {
    *count != MISSING
}

/// Latitudes and longitudes, Gaussian or not, rotated or not, reduced or not.
fn lat_lon(octets: Octets<'_>, mut grid: Grid) -> Result<Grid, Error> {
    let template = grid.template;
    let unit = unit(octets.u32(39)?, octets.u32(43)?);
    let angle = |octet: usize| octets.i32(octet).map(|count| f64::from(count) * unit.0 / unit.1);
    let step = |octet: usize| -> Result<Option<f64>, Error> {
        let step = octets.u32(octet)?;
        Ok(Some(step).filter(is_given).map(|step| f64::from(step) * unit.0 / unit.1))
    };
    let is_gaussian = 40 <= template;
    let place = |octet: usize| -> Result<Place, Error> {
        Ok(Place { latitude: angle(octet)?, longitude: angle(octet + 4)? })
    };
    let spacing = Spacing { i: step(64)?, j: if is_gaussian { None } else { step(68)? } };
    let area = Area { first: place(47)?, last: place(56)?, spacing };
    grid.kind = match is_gaussian {
        true => GridKind::Gaussian { area, parallels: octets.u32(68)? },
        false => GridKind::LatLon(area),
    };
    // Templates 1 and 41 are rotated, 2 and 42 stretched, 3 and 43 both.
    let is_rotated = matches!(template, 1 | 3 | 41 | 43);
    if is_rotated {
        let south_pole = Place { latitude: degrees(octets.i32(73)?), longitude: degrees(octets.i32(77)?) };
        grid.rotation = Some(Rotation { south_pole, angle: octets.ieee(81)? });
    }
    let template_end = match template % 40 {
        0 => 72,
        3 => 96,
        _ => 84,
    };
    if let (None, Some(rows)) = (grid.columns, grid.rows) {
        grid.row_lengths = Some(row_lengths(octets, template_end + 1, rows)?);
    }
    Ok(grid)
}

/// The points of each row, behind the template.
fn row_lengths(octets: Octets<'_>, first: usize, rows: u32) -> Result<Arc<[u32]>, Error> {
    let width = usize::from(octets.u8(11)?);
    if !matches!(width, 1 | 2 | 4) {
        return Err(Error::corrupt(format!("points of rows in {width} octets each: 1, 2 or 4 are known")));
    }
    let wanted = swath_ioengine::memory_len(u64::from(rows))?;
    let stored = octets.from(first).chunks_exact(width).take(wanted);
    let lengths: Arc<[u32]> =
        stored.map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))).collect();
    if lengths.len() < wanted {
        return Err(Error::corrupt(format!("{rows} rows, and the lengths of {}", lengths.len())));
    }
    Ok(lengths)
}

/// The unit of angles, as a fraction of degrees: a millionth unless the section has another.
fn unit(basic_angle: u32, subdivisions: u32) -> (f64, f64) {
    match (basic_angle, subdivisions) {
        (0 | MISSING, _) | (_, 0 | MISSING) => (1.0, 1e6),
        (angle, subdivisions) => (f64::from(angle), f64::from(subdivisions)),
    }
}

fn degrees(millionths: i32) -> f64 {
    f64::from(millionths) / 1e6
}

/// Metres of a number of millimetres.
fn metres(octets: Octets<'_>, octet: usize) -> Result<Option<f64>, Error> {
    Ok(Some(octets.u32(octet)?).filter(is_given).map(|millimetres| f64::from(millimetres) / 1e3))
}

fn mercator(octets: Octets<'_>) -> Result<GridKind, Error> {
    let place = |latitude: usize, longitude: usize| -> Result<Place, Error> {
        Ok(Place { latitude: degrees(octets.i32(latitude)?), longitude: degrees(octets.i32(longitude)?) })
    };
    let spacing = Spacing { i: metres(octets, 65)?, j: metres(octets, 69)? };
    let area = Area { first: place(39, 43)?, last: place(52, 56)?, spacing };
    Ok(GridKind::Mercator {
        area,
        true_latitude: degrees(octets.i32(48)?),
        earth: Earth::of_edition2(octets)?,
    })
}

/// Templates 3.20 and 3.30 begin alike.
fn projected(octets: Octets<'_>) -> Result<Projected, Error> {
    Ok(Projected {
        first: Place { latitude: degrees(octets.i32(39)?), longitude: degrees(octets.i32(43)?) },
        orientation: degrees(octets.i32(52)?),
        spacing: Spacing { i: metres(octets, 56)?, j: metres(octets, 60)? },
        centre_flags: octets.u8(64)?,
    })
}

/// Template 3.90: places in thousandths of steps, the distance in millionths of radii.
fn space_view(octets: Octets<'_>) -> Result<SpaceView, Error> {
    let steps = |octet: usize| octets.u32(octet).map(f64::from);
    let distance = Some(octets.u32(69)?).filter(is_given);
    Ok(SpaceView {
        below: Place { latitude: degrees(octets.i32(39)?), longitude: degrees(octets.i32(43)?) },
        diameters: [steps(48)?, steps(52)?],
        centre: [steps(56)? / 1e3, steps(60)? / 1e3],
        origin: [steps(73)?, steps(77)?],
        distance: distance.map(|millionths| f64::from(millionths) / 1e6),
        earth: Earth::of_edition2(octets)?,
    })
}
