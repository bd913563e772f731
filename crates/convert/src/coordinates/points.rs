//! What dimensions a grid has, and where all of its points are.

use super::projection::{Cone, Cylinder, Polar, Projection, View, turned_back};
use super::{AXIS_MAX, Axes, axes, reduced, rows_and_columns};
use crate::Error;
use crate::grib::{Grid, GridKind, Place, Projected, SpaceView, Spacing};
use serde_json::Value;

/// What dimensions the points of a grid are along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridLayout {
    /// Rows of one latitude and columns of one longitude.
    Axes {
        /// How many rows.
        rows: u64,
        /// How many columns.
        columns: u64,
    },
    /// Rows and columns of a plane: a point has two coordinates of its own.
    Plane {
        /// How many rows.
        rows: u64,
        /// How many columns.
        columns: u64,
    },
    /// One dimension of points.
    Points(u64),
}

impl GridLayout {
    /// The dimensions' names and lengths, the one that runs fastest last.
    #[must_use]
    pub fn dimensions(self) -> Vec<(&'static str, u64)> {
        match self {
            GridLayout::Axes { rows, columns } => vec![("latitude", rows), ("longitude", columns)],
            GridLayout::Plane { rows, columns } => vec![("y", rows), ("x", columns)],
            GridLayout::Points(points) => vec![("values", points)],
        }
    }
}

/// The layout of a grid, without computing where its points are: reduced grids, and those that swath does not know, are points.
#[must_use]
pub fn layout(grid: &Grid) -> GridLayout {
    let points = GridLayout::Points(grid.points);
    let (Some(columns), Some(rows)) = (grid.columns.map(u64::from), grid.rows.map(u64::from)) else {
        return points;
    };
    if rows.checked_mul(columns) != Some(grid.points) || grid.points == 0 {
        return points;
    }
    match grid.kind {
        GridKind::LatLon(_) | GridKind::Gaussian { .. } if grid.rotation.is_none() => {
            GridLayout::Axes { rows, columns }
        }
        GridKind::LatLon(_)
        | GridKind::Gaussian { .. }
        | GridKind::Mercator { .. }
        | GridKind::PolarStereographic { .. }
        | GridKind::Lambert { .. }
        | GridKind::SpaceView(_) => GridLayout::Plane { rows, columns },
        _ => points,
    }
}

/// Where the points of a grid are, whatever its layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// Latitudes of rows, longitudes of columns.
    Axes(Axes),
    /// A plane.
    Plane(Plane),
    /// Places of single points, in the order of the file.
    Listed(Vec<Place>),
    /// The file does not say it.
    Unknown,
}

/// Rows and columns of a projection.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    projection: Projection,
    /// The projection's x of each column: metres, or degrees of a rotated grid, or radians of a satellite's scan.
    pub x: Vec<f64>,
    /// The projection's y of each row.
    pub y: Vec<f64>,
}

impl Points {
    /// Works out where the points are, equal to ecCodes to a millionth of a degree.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a view from infinity or from beside the equator, and for an area of a reduced grid whose points are others
    /// than those within it; `Corrupt` where the numbers contradict one another.
    pub fn of(grid: &Grid) -> Result<Points, Error> {
        if let Some(lengths) = grid.row_lengths.as_deref() {
            let mut places = reduced::places(grid, lengths)?;
            if let Some(rotation) = &grid.rotation {
                places.iter_mut().for_each(|place| *place = turned_back(rotation, *place));
            }
            return Ok(Points::Listed(places));
        }
        match layout(grid) {
            GridLayout::Axes { .. } => axes(grid).map(Points::Axes),
            GridLayout::Plane { .. } => Plane::of(grid).map(Points::Plane),
            GridLayout::Points(_) => Ok(Points::Unknown),
        }
    }
}

impl Plane {
    fn of(grid: &Grid) -> Result<Plane, Error> {
        let (columns, rows) = (grid.columns.unwrap_or(0), grid.rows.unwrap_or(0));
        if AXIS_MAX < columns.max(rows) {
            return Err(Error::unsupported(format!(
                "{rows} rows of {columns} points: {AXIS_MAX} are the most"
            )));
        }
        if let (Some(rotation), GridKind::LatLon(_) | GridKind::Gaussian { .. }) = (grid.rotation, &grid.kind)
        {
            let Axes { latitudes, longitudes } = rows_and_columns(grid, rows, columns)?;
            return Ok(Plane { projection: Projection::Rotated(rotation), x: longitudes, y: latitudes });
        }
        let (projection, first, spacing) = match &grid.kind {
            GridKind::Lambert { projected, parallels, earth } => {
                let cone = Cone::new(*earth, projected.orientation, *parallels);
                (Projection::Lambert(cone), projected.first, projected.spacing)
            }
            GridKind::PolarStereographic { projected, true_latitude, earth } => {
                let polar = Polar::new(*earth, projected.orientation, pole(projected, *true_latitude));
                (Projection::Polar(polar), projected.first, projected.spacing)
            }
            GridKind::Mercator { area, true_latitude, earth } => {
                let cylinder = Cylinder::new(*earth, area.first.longitude, *true_latitude);
                (Projection::Mercator(cylinder), area.first, area.spacing)
            }
            GridKind::SpaceView(view) => return space_view(grid, view, rows, columns),
            other => return Err(Error::unsupported(format!("coordinates of a {} grid", other.name()))),
        };
        let Spacing { i: Some(across), j: Some(along) } = spacing else {
            return Err(Error::corrupt(format!("a {} grid without its steps", grid.kind.name())));
        };
        let (x, y) = projection.plane(first);
        // Columns and rows go east and north of the first point whatever the scanning mode says, as in ecCodes: files that say
        // otherwise were written so.
        let steps =
            |first: f64, step: f64, count: u32| (0..count).map(|at| first + f64::from(at) * step).collect();
        Ok(Plane { projection, x: steps(x, across, columns), y: steps(y, along, rows) })
    }

    /// The place of a point.
    #[must_use]
    pub fn place(&self, x: f64, y: f64) -> Place {
        self.projection.place(x, y)
    }

    /// The place of a point by its number, row by row; all of a plane's are numbered below its rows times its columns.
    pub(crate) fn point(&self, number: usize) -> Place {
        let columns = self.x.len();
        self.place(self.x[number % columns], self.y[number / columns])
    }

    /// The attributes of CF's grid mapping.
    #[must_use]
    pub fn mapping(&self) -> Value {
        self.projection.mapping()
    }

    /// The standard names and the units of x and y.
    #[must_use]
    pub fn axis_names(&self) -> [(&'static str, &'static str); 2] {
        match self.projection {
            Projection::Rotated(_) => [("grid_longitude", "degrees"), ("grid_latitude", "degrees")],
            Projection::SpaceView(_) => {
                [("projection_x_angular_coordinate", "rad"), ("projection_y_angular_coordinate", "rad")]
            }
            _ => [("projection_x_coordinate", "m"), ("projection_y_coordinate", "m")],
        }
    }
}

/// The latitude at which lengths are true: 60 degrees where it is not given; south where the south pole is on the plane.
fn pole(projected: &Projected, true_latitude: Option<f64>) -> f64 {
    let latitude = true_latitude.unwrap_or(60.0);
    if projected.centre_flags & 0x80 == 0 { latitude } else { -latitude.abs() }
}

/// Angles of the scan: rows go from the north to the south.
fn space_view(grid: &Grid, view: &SpaceView, rows: u32, columns: u32) -> Result<Plane, Error> {
    let distance = view.distance.filter(|distance| 1.0 < *distance);
    let distance =
        distance.ok_or_else(|| Error::unsupported("a view from infinity, or from within the Earth"))?;
    if view.below.latitude != 0.0 {
        return Err(Error::unsupported(format!("a view from above {} degrees north", view.below.latitude)));
    }
    let [across, along] = view.diameters;
    if !(0.0 < across && 0.0 < along) {
        return Err(Error::corrupt("a view in which the Earth has no size"));
    }
    let angle = 2.0 * (1.0 / distance).asin();
    let (step_x, step_y) = (angle / across, angle / along * view.earth.minor / view.earth.major);
    let [mut middle_x, mut middle_y] = [view.centre[0] - view.origin[0], view.centre[1] - view.origin[1]];
    let last = |count: u32| f64::from(count.max(1) - 1);
    if grid.scanning.is_i_negative() {
        middle_x = last(columns) - middle_x;
    }
    if !grid.scanning.is_j_positive() {
        middle_y = last(rows) - middle_y;
    }
    let projection = Projection::SpaceView(View {
        earth: view.earth,
        longitude: view.below.longitude,
        distance: distance * view.earth.major,
    });
    let x = (0..columns).map(|column| (f64::from(column) - middle_x) * step_x).collect();
    let y = (0..rows).rev().map(|row| (f64::from(row) - middle_y) * step_y).collect();
    Ok(Plane { projection, x, y })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Earth, ScanningMode};
    use std::sync::Arc;

    fn mercator(columns: u32, rows: u32) -> Grid {
        let place = |latitude, longitude| Place { latitude, longitude };
        let spacing = Spacing { i: Some(1e3), j: Some(1e3) };
        let area = crate::Area { first: place(0.0, 0.0), last: place(1.0, 1.0), spacing };
        let earth = Earth::sphere(6_371_229.0);
        Grid {
            template: 10,
            kind: GridKind::Mercator { area, true_latitude: 0.0, earth },
            points: u64::from(columns) * u64::from(rows),
            columns: Some(columns),
            rows: Some(rows),
            row_lengths: None,
            rotation: None,
            scanning: ScanningMode(0x40),
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_worked_out() {
        assert!(matches!(Points::of(&mercator(3, 2)), Ok(Points::Plane(_))));
        let error = Points::of(&mercator(u32::MAX, 2)).unwrap_err();
        assert_eq!(error.message(), "2 rows of 4294967295 points: 1048576 are the most");
        let spacing = Spacing { i: None, j: None };
        let place = Place { latitude: 0.0, longitude: 0.0 };
        let reduced = Grid {
            kind: GridKind::LatLon(crate::Area { first: place, last: place, spacing }),
            columns: None,
            row_lengths: Some(Arc::from([u32::MAX, u32::MAX])),
            points: 2 * u64::from(u32::MAX),
            ..mercator(1, 2)
        };
        assert!(Points::of(&reduced).unwrap_err().message().contains("are the most"));
    }
}
