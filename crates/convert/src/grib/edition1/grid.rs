//! Grid definition sections of edition 1.

use crate::Error;
use crate::grib::earth::Earth;
use crate::grib::grid::{Area, Grid, GridKind, Place, Projected, Rotation, ScanningMode, SpaceView, Spacing};
use crate::grib::octets::Octets;
use std::sync::Arc;

/// All bits of a 16-bit number set: it is not given.
const MISSING: u16 = u16::MAX;

/// Octet 5 where neither vertical coordinates nor lengths of rows follow.
const NO_LISTS: u8 = 255;

pub(super) fn read(octets: Octets<'_>) -> Result<Grid, Error> {
    let template = octets.u8(6)?;
    let kind = kind(octets, template)?;
    if matches!(kind, GridKind::SphericalHarmonics) {
        return spherical_harmonics(octets, u16::from(template));
    }
    let (columns, rows) = (octets.u16(7)?, octets.u16(9)?);
    let given = |count: u16| Some(count).filter(|count| *count != MISSING).map(u32::from);
    let row_lengths = match (given(columns), given(rows)) {
        (None, Some(rows)) => Some(row_lengths(octets, rows)?),
        _ => None,
    };
    let points = match &row_lengths {
        Some(lengths) => lengths.iter().map(|length| u64::from(*length)).sum(),
        None => u64::from(columns) * u64::from(rows),
    };
    Ok(Grid {
        template: u16::from(template),
        kind,
        points,
        columns: given(columns),
        rows: given(rows),
        row_lengths,
        rotation: rotation(octets, template)?,
        scanning: ScanningMode(octets.u8(28)? & 0xe0),
    })
}

fn kind(octets: Octets<'_>, template: u8) -> Result<GridKind, Error> {
    let earth = || octets.u8(17).map(|flags| Earth::of_edition1(flags & 0x40));
    Ok(match template {
        // Plain, rotated, stretched, both.
        0 | 10 | 20 | 30 => GridKind::LatLon(area(octets, step(octets, 26)?)?),
        4 | 14 | 24 | 34 => {
            GridKind::Gaussian { area: area(octets, None)?, parallels: u32::from(octets.u16(26)?) }
        }
        1 => {
            let spacing =
                Spacing { i: Some(f64::from(octets.u24(29)?)), j: Some(f64::from(octets.u24(32)?)) };
            let area = Area { first: place(octets, 11)?, last: place(octets, 18)?, spacing };
            GridKind::Mercator { area, true_latitude: degrees(octets.i24(24)?), earth: earth()? }
        }
        5 => GridKind::PolarStereographic {
            projected: projected(octets)?,
            true_latitude: None,
            earth: earth()?,
        },
        3 | 13 => {
            let parallels = [degrees(octets.i24(29)?), degrees(octets.i24(32)?)];
            GridKind::Lambert { projected: projected(octets)?, parallels, earth: earth()? }
        }
        50 | 60 | 70 | 80 => GridKind::SphericalHarmonics,
        90 => GridKind::SpaceView(space_view(octets, earth()?)?),
        _ => GridKind::Other,
    })
}

/// Latitudes and longitudes are in thousandths of degrees.
fn degrees(thousandths: i32) -> f64 {
    f64::from(thousandths) / 1e3
}

fn place(octets: Octets<'_>, first: usize) -> Result<Place, Error> {
    Ok(Place { latitude: degrees(octets.i24(first)?), longitude: degrees(octets.i24(first + 3)?) })
}

/// Degrees of an increment; `None` where it is not given.
fn step(octets: Octets<'_>, octet: usize) -> Result<Option<f64>, Error> {
    let step = octets.u16(octet)?;
    Ok(Some(step).filter(|step| *step != MISSING).map(|step| f64::from(step) / 1e3))
}

fn area(octets: Octets<'_>, rows_step: Option<f64>) -> Result<Area, Error> {
    let spacing = Spacing { i: step(octets, 24)?, j: rows_step };
    Ok(Area { first: place(octets, 11)?, last: place(octets, 18)?, spacing })
}

fn projected(octets: Octets<'_>) -> Result<Projected, Error> {
    let spacing = Spacing { i: Some(f64::from(octets.u24(21)?)), j: Some(f64::from(octets.u24(24)?)) };
    Ok(Projected {
        first: place(octets, 11)?,
        orientation: degrees(octets.i24(18)?),
        spacing,
        centre_flags: octets.u8(27)?,
    })
}

fn space_view(octets: Octets<'_>, earth: Earth) -> Result<SpaceView, Error> {
    let distance = octets.u24(32)?;
    let steps = |octet: usize| octets.u16(octet).map(f64::from);
    Ok(SpaceView {
        below: place(octets, 11)?,
        diameters: [f64::from(octets.u24(18)?), f64::from(octets.u24(21)?)],
        centre: [steps(24)?, steps(26)?],
        origin: [steps(35)?, steps(37)?],
        // All bits are set where the view is orthographic.
        distance: Some(distance)
            .filter(|distance| *distance != 0xff_ffff)
            .map(|millionths| f64::from(millionths) / 1e6),
        earth,
    })
}

fn rotation(octets: Octets<'_>, template: u8) -> Result<Option<Rotation>, Error> {
    if !matches!(template, 10 | 14 | 30 | 34) {
        return Ok(None);
    }
    Ok(Some(Rotation { south_pole: place(octets, 33)?, angle: octets.ibm(39)? }))
}

/// The points of each row, behind the vertical coordinates.
fn row_lengths(octets: Octets<'_>, rows: u32) -> Result<Arc<[u32]>, Error> {
    let (coordinates, lists) = (usize::from(octets.u8(4)?), octets.u8(5)?);
    let wanted = usize::try_from(rows).unwrap_or(usize::MAX);
    let first = usize::from(lists) + 4 * coordinates;
    let stored = if lists == NO_LISTS { &[] } else { octets.from(first) };
    let lengths: Arc<[u32]> = stored
        .chunks_exact(2)
        .take(wanted)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .collect();
    if lengths.len() < wanted {
        return Err(Error::corrupt(format!("{rows} rows, and the lengths of {}", lengths.len())));
    }
    Ok(lengths)
}

/// Two numbers for each coefficient, of which a triangle or a pentagon of orders and degrees has so many.
fn spherical_harmonics(octets: Octets<'_>, template: u16) -> Result<Grid, Error> {
    let (j, k, m) = (u64::from(octets.u16(7)?), u64::from(octets.u16(9)?), u64::from(octets.u16(11)?));
    let points = if j == k && k == m { (j + 1) * (j + 2) } else { 0 };
    Ok(Grid {
        template,
        kind: GridKind::SphericalHarmonics,
        points,
        columns: None,
        rows: None,
        row_lengths: None,
        rotation: None,
        scanning: ScanningMode(0),
    })
}
