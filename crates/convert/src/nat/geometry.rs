//! Where pixels are: scanning angles of rows and columns, and the projection that they belong to.

use super::channel::Channel;
use super::record::Record;
use crate::Error;
use serde::{Deserialize, Serialize};

/// The distance of the satellite from the surface, in metres, that EUMETSAT's projection is defined with.
pub(super) const HEIGHT_METRES: f64 = 35_785_831.0;

/// The projection of all images of a file: the normalised geostationary one, which scans from south to north within a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// Where the satellite is thought to stand, in degrees east.
    pub longitude_degrees: f64,
    /// The earth's radius at the equator, in metres.
    pub semi_major_axis_metres: f64,
    /// Its radius at the poles, in metres: the mean of both.
    pub semi_minor_axis_metres: f64,
    /// Whether places are as the projection has them. Until December 2017 images lay 1.5 km further north and west, which
    /// coordinates account for.
    pub is_offset_corrected: bool,
}

impl Projection {
    /// The distance from the surface to the satellite, in metres.
    pub const HEIGHT_METRES: f64 = HEIGHT_METRES;

    /// From the image description and the earth model.
    ///
    /// # Errors
    ///
    /// `Unsupported` for another projection or earth model than there are, `Corrupt` for numbers that are none.
    pub(super) fn read(description: &Record<'_>, earth: &Record<'_>) -> Result<Projection, Error> {
        if description.u8(0)? != 1 {
            let what = format!("wanted projection 1, geostationary, found {}", description.u8(0)?);
            return Err(description.unsupported(0, &what));
        }
        let longitude = f64::from(description.f32(1)?);
        if !(-360.0..=360.0).contains(&longitude) {
            return Err(description.corrupt(1, &format!("a satellite at {longitude} degrees")));
        }
        let is_offset_corrected = match earth.u8(0)? {
            1 => false,
            2 => true,
            other => return Err(earth.unsupported(0, &format!("wanted earth model 1 or 2, found {other}"))),
        };
        let [equator, north, south] = [radius(earth, 1)?, radius(earth, 9)?, radius(earth, 17)?];
        Ok(Projection {
            longitude_degrees: longitude,
            semi_major_axis_metres: equator * 1000.0,
            semi_minor_axis_metres: (north * 1000.0 + south * 1000.0) * 0.5,
            is_offset_corrected,
        })
    }
}

/// A radius of the earth, in kilometres.
fn radius(earth: &Record<'_>, at: usize) -> Result<f64, Error> {
    let radius = earth.f64(at)?;
    if (6000.0..=7000.0).contains(&radius) {
        return Ok(radius);
    }
    Err(earth.corrupt(at, &format!("an earth of {radius} km")))
}

/// The rows and columns of an image. Rows run from north to south, columns from west to east.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// The number that the format gives the southernmost row: lines count from 1 in the south of the whole image.
    pub south: u32,
    /// The number that it gives the easternmost column, from 1 in the east.
    pub east: u32,
    /// The distance of rows below the satellite, in metres.
    pub row_step_metres: f64,
    /// The distance of columns there.
    pub column_step_metres: f64,
    /// The line whose angle is zero, which may lie between two.
    pub(super) centre_line: f64,
    /// The column whose angle is zero.
    pub(super) centre_column: f64,
}

impl Grid {
    /// The grid of a channel, whose reference grid is at `at` of the image description. Rows and columns are those of a whole
    /// image, to be cut.
    ///
    /// # Errors
    ///
    /// `Unsupported` where lines and columns do not begin in the south-east, `Corrupt` for steps that are none.
    pub(super) fn read(
        description: &Record<'_>,
        projection: &Projection,
        channel: Channel,
    ) -> Result<Grid, Error> {
        let is_hrv = channel == Channel::Hrv;
        let at = if is_hrv { 22 } else { 5 };
        let origin = description.u8(at + 16)?;
        if origin != 2 {
            let what = format!("wanted a grid from corner 2, the south-east, found {origin}");
            return Err(description.unsupported(at + 16, &what));
        }
        let step = |at: usize| {
            let step = f64::from(description.f32(at)?);
            let is_step = (0.1..=100.0).contains(&step);
            is_step
                .then_some(step * 1000.0)
                .ok_or_else(|| description.corrupt(at, &format!("steps of {step} km")))
        };
        // Pixel 5566 of the broad channel and pixel 1856 of the others have their middles below the satellite.
        let (middle, size, shift) = if is_hrv { (5566.0, 11_136, 1.5) } else { (1856.0, 3712, 0.5) };
        let shift = if projection.is_offset_corrected { 0.0 } else { shift };
        Ok(Grid {
            rows: size,
            columns: size,
            south: 1,
            east: 1,
            row_step_metres: step(at + 8)?,
            column_step_metres: step(at + 12)?,
            centre_line: middle + shift,
            centre_column: middle + shift,
        })
    }

    /// The angle of each column from the satellite's meridian, in radians, eastwards; from west to east.
    #[must_use]
    pub fn x_radians(&self) -> Vec<f64> {
        let last = self.east + self.columns;
        let column = |number: u32| f64::from(last - 1 - number);
        (0..self.columns)
            .map(|number| (self.centre_column - column(number)) * self.column_step_metres / HEIGHT_METRES)
            .collect()
    }

    /// The angle of each row from the equator, in radians, northwards; from north to south.
    #[must_use]
    pub fn y_radians(&self) -> Vec<f64> {
        let last = self.south + self.rows;
        let line = |number: u32| f64::from(last - 1 - number);
        (0..self.rows)
            .map(|number| (line(number) - self.centre_line) * self.row_step_metres / HEIGHT_METRES)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(origin: u8, step: f32) -> Vec<u8> {
        let mut octets = vec![0; 101];
        octets[0] = 1;
        octets[1..5].copy_from_slice(&9.5f32.to_be_bytes());
        for (at, step) in [(5, step), (22, step / 3.0)] {
            octets[at + 8..at + 12].copy_from_slice(&step.to_be_bytes());
            octets[at + 12..at + 16].copy_from_slice(&step.to_be_bytes());
            octets[at + 16] = origin;
        }
        octets
    }

    fn earth(model: u8) -> Vec<u8> {
        let radii = [6378.169f64, 6356.5838, 6356.5838];
        [model].into_iter().chain(radii.iter().flat_map(|radius| radius.to_be_bytes())).collect()
    }

    fn read(model: u8, origin: u8, step: f32, channel: Channel) -> Result<(Projection, Grid), Error> {
        let (description, earth) = (description(origin, step), earth(model));
        let description = Record::new(&description, 0, "image description");
        let projection = Projection::read(&description, &Record::new(&earth, 0, "earth model"))?;
        Ok((projection, Grid::read(&description, &projection, channel)?))
    }

    #[test]
    fn angles_begin_in_the_north_west() {
        let (projection, grid) = read(2, 2, 3.0, Channel::Ir108).unwrap();
        assert_eq!((projection.longitude_degrees, projection.semi_major_axis_metres), (9.5, 6_378_169.0));
        assert!((projection.semi_minor_axis_metres - 6_356_583.8).abs() < 1e-6);
        let (x, y) = (grid.x_radians(), grid.y_radians());
        assert_eq!((x.len(), y.len()), (3712, 3712));
        let metres = |radians: f64| (radians * HEIGHT_METRES).round();
        assert_eq!((metres(x[0]), metres(x[3711])), (-5_568_000.0, 5_565_000.0));
        assert_eq!((metres(y[0]), metres(y[3711])), (5_568_000.0, -5_565_000.0));
        let (_, grid) = read(1, 2, 3.0, Channel::Ir108).unwrap();
        assert_eq!(metres(grid.x_radians()[0]), -5_566_500.0);
        assert_eq!(metres(grid.y_radians()[0]), 5_566_500.0);
    }

    #[test]
    fn the_broad_grid_lies_over_the_other() {
        let (_, wide) = read(2, 2, 3.0, Channel::Ir108).unwrap();
        let (_, broad) = read(2, 2, 3.0, Channel::Hrv).unwrap();
        // Column 3n - 2 from the east is where column n of the others is, as section 3.1.5 of the description has it.
        let (wide, broad) = (wide.x_radians(), broad.x_radians());
        for column in [0, 1000, 3711] {
            assert!((wide[column] - broad[column * 3 + 2]).abs() < 1e-9, "{column}");
        }
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        assert!(
            read(3, 2, 3.0, Channel::Ir108).unwrap_err().message().contains("earth model 1 or 2, found 3")
        );
        assert!(read(2, 0, 3.0, Channel::Ir108).unwrap_err().message().contains("found 0"));
        for step in [0.0, -3.0, f32::NAN, f32::INFINITY] {
            assert!(read(2, 2, step, Channel::Hrv).is_err(), "{step}");
        }
    }
}
