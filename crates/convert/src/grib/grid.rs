//! Where the points of a field are.

use super::earth::Earth;
use std::sync::Arc;

/// A grid: its points in the order of the file, by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The number of its template (edition 2) or of its data representation type (edition 1).
    pub template: u16,
    /// What the rows lie along, and where.
    pub kind: GridKind,
    /// How many points.
    pub points: u64,
    /// Points of a row (along i), where all have as many.
    pub columns: Option<u32>,
    /// How many rows (along j).
    pub rows: Option<u32>,
    /// Points of each row, where they differ: a reduced grid. Those of whole circles, where the grid covers a part of each, and so
    /// has fewer points than all rows together.
    pub row_lengths: Option<Arc<[u32]>>,
    /// Where the pole is that latitudes and longitudes count from, where it is not the Earth's.
    pub rotation: Option<Rotation>,
    /// In which order points follow.
    pub scanning: ScanningMode,
}

/// What the rows of a grid lie along.
#[derive(Clone, Debug, PartialEq)]
pub enum GridKind {
    /// Latitudes and longitudes in equal steps.
    LatLon(Area),
    /// Gaussian latitudes, longitudes in equal steps.
    Gaussian {
        /// First and last point.
        area: Area,
        /// Parallels between a pole and the equator.
        parallels: u32,
    },
    /// Mercator's projection.
    Mercator {
        /// First and last point; steps are in metres.
        area: Area,
        /// The latitude at which lengths are true.
        true_latitude: f64,
        /// What is projected.
        earth: Earth,
    },
    /// Polar stereographic projection.
    PolarStereographic {
        /// First point and steps.
        projected: Projected,
        /// The latitude at which lengths are true; `None` in edition 1, where it is 60 degrees.
        true_latitude: Option<f64>,
        /// What is projected.
        earth: Earth,
    },
    /// Lambert's conformal conic projection.
    Lambert {
        /// First point and steps.
        projected: Projected,
        /// The latitudes at which the cone cuts the sphere.
        parallels: [f64; 2],
        /// What is projected.
        earth: Earth,
    },
    /// As seen from a satellite.
    SpaceView(SpaceView),
    /// Points of an unstructured grid, whose coordinates are elsewhere.
    Unstructured,
    /// Coefficients of spherical harmonics.
    SphericalHarmonics,
    /// Any other, or one that the centre catalogues.
    Other,
}

impl GridKind {
    /// The kind's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            GridKind::LatLon(_) => "lat_lon",
            GridKind::Gaussian { .. } => "gaussian",
            GridKind::Mercator { .. } => "mercator",
            GridKind::PolarStereographic { .. } => "polar_stereographic",
            GridKind::Lambert { .. } => "lambert",
            GridKind::SpaceView(_) => "space_view",
            GridKind::Unstructured => "unstructured",
            GridKind::SphericalHarmonics => "spherical_harmonics",
            GridKind::Other => "other",
        }
    }
}

/// A point, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// The first and last point of a grid of latitudes and longitudes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The first point in the order of the file.
    pub first: Place,
    /// The last one.
    pub last: Place,
    /// The steps, without sign.
    pub spacing: Spacing,
}

/// Steps of a grid, without sign: degrees, or metres on a projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacing {
    /// Along a row; `None` where it is not given.
    pub i: Option<f64>,
    /// From row to row; `None` where it is not given.
    pub j: Option<f64>,
}

/// A grid on a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// The first point in the order of the file.
    pub first: Place,
    /// The longitude that is parallel to the columns.
    pub orientation: f64,
    /// The steps, in metres.
    pub spacing: Spacing,
    /// The projection centre's flags: the highest bit is set where the south pole is on the plane.
    pub centre_flags: u8,
}

/// What a satellite sees, in steps of its scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceView {
    /// The point below the satellite.
    pub below: Place,
    /// The Earth's diameter as it is seen, in steps along a row and from row to row.
    pub diameters: [f64; 2],
    /// The point below the satellite, in steps along a row and in rows.
    pub centre: [f64; 2],
    /// The first point of the grid, in the same steps.
    pub origin: [f64; 2],
    /// The satellite's distance from the Earth's centre, in radii of the equator; `None` where it is infinite.
    pub distance: Option<f64>,
    /// What is seen.
    pub earth: Earth,
}

/// Where a rotated grid's south pole is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// The rotated south pole.
    pub south_pole: Place,
    /// Degrees about the new axis.
    pub angle: f64,
}

/// In which order points follow: flag table 3.4, whose first three bits are edition 1's flag table 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScanningMode(pub u8);

impl ScanningMode {
    /// Rows run from east to west.
    #[must_use]
    pub fn is_i_negative(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// Rows follow from south to north.
    #[must_use]
    pub fn is_j_positive(self) -> bool {
        self.0 & 0x40 != 0
    }

    /// Neighbours in the file are of one column, and not of one row.
    #[must_use]
    pub fn is_by_columns(self) -> bool {
        self.0 & 0x20 != 0
    }

    /// Every other row runs the other way.
    #[must_use]
    pub fn is_boustrophedonic(self) -> bool {
        self.0 & 0x10 != 0
    }
}
