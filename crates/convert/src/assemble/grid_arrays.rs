//! The arrays that say where the points of a hypercube's grid are.

use super::coordinate::{Coordinate, object};
use crate::Grid;
use crate::coordinates::{Axes, Points};
use serde_json::{Map, Value, json};

/// The array of the grid mapping.
pub(super) const MAPPING: &str = "projection";
/// The coordinate of degrees north.
pub(super) const LATITUDE: &str = "latitude";
/// The coordinate of degrees east.
pub(super) const LONGITUDE: &str = "longitude";

/// What is written of a grid.
pub(super) struct GridArrays {
    /// Coordinates of its dimensions.
    pub(super) axes: Vec<Coordinate>,
    /// The attributes of CF's grid mapping, where there is a projection.
    pub(super) mapping: Option<Map<String, Value>>,
    /// Points that have a latitude and a longitude each; of others there are axes, or nothing is known.
    pub(super) places: Points,
}

impl GridArrays {
    /// The arrays of a grid; none where swath cannot tell where its points are.
    pub(super) fn of(grid: &Grid) -> GridArrays {
        match Points::of(grid).unwrap_or(Points::Unknown) {
            Points::Axes(Axes { latitudes, longitudes }) => {
                let mut attributes = degrees(LATITUDE);
                if matches!(latitudes[..], [first, .., last] if last < first) {
                    attributes.insert("stored_direction".to_owned(), json!("decreasing"));
                }
                let axes = vec![
                    axis(LATITUDE, latitudes, attributes),
                    axis(LONGITUDE, longitudes, degrees(LONGITUDE)),
                ];
                GridArrays { axes, mapping: None, places: Points::Unknown }
            }
            Points::Plane(plane) => {
                let [x, y] = plane.axis_names();
                let named =
                    |(name, units): (&str, &str)| object(json!({ "standard_name": name, "units": units }));
                let axes = vec![axis("x", plane.x.clone(), named(x)), axis("y", plane.y.clone(), named(y))];
                GridArrays { axes, mapping: Some(object(plane.mapping())), places: Points::Plane(plane) }
            }
            places => GridArrays { axes: Vec::new(), mapping: None, places },
        }
    }
}

fn axis(name: &str, values: Vec<f64>, attributes: Map<String, Value>) -> Coordinate {
    let len = swath_ioengine::storage_len(values.len());
    Coordinate { name: name.to_owned(), dimensions: vec![(name.to_owned(), len)], values, attributes }
}

/// The attributes of degrees of latitude or longitude.
pub(super) fn degrees(name: &str) -> Map<String, Value> {
    let units = if name == LATITUDE { "degrees_north" } else { "degrees_east" };
    object(json!({ "units": units, "standard_name": name, "long_name": name }))
}
