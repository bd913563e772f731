//! Coordinates of a hypercube.

use super::cell::{AXES, LEVEL, NUMBER, STEP, TIME};
use super::layout::is_called;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A coordinate: of a dimension, where it has its name; or of none, where one value counts for all variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// Its name.
    pub name: String,
    /// The names and lengths of its dimensions.
    pub dimensions: Vec<(String, u64)>,
    /// Its values. Those of times and members are whole numbers.
    pub values: Vec<f64>,
    /// Its attributes.
    pub attributes: Map<String, Value>,
}

/// The coordinate of valid times.
pub(super) const VALID_TIME: &str = "valid_time";

/// Seconds of an hour.
const HOUR: f64 = 3600.0;

impl Coordinate {
    /// Whether it is stored as integers.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self.name.as_str(), "time" | "number" | VALID_TIME)
    }

    /// The bits of its elements: of 64-bit integers, or of 64-bit floats.
    pub(super) fn elements(&self) -> impl Iterator<Item = u64> {
        let is_integer = self.is_integer();
        self.values.iter().map(
            move |value| {
                if is_integer { integer(*value).cast_unsigned() } else { value.to_bits() }
            },
        )
    }

    /// The coordinate of an axis.
    ///
    /// One of a single value is no dimension, unless it is to be kept.
    pub(super) fn of_axis(axis: usize, name: &str, values: &[f64], kept: &[String]) -> Coordinate {
        let len = swath_ioengine::storage_len(values.len());
        let dimensions = if len == 1 && !kept.iter().any(|kept| is_called(name, kept)) {
            Vec::new()
        } else {
            vec![(name.to_owned(), len)]
        };
        let values = match axis {
            STEP => values.iter().map(|seconds| seconds / HOUR).collect(),
            _ => values.to_vec(),
        };
        Coordinate { name: name.to_owned(), dimensions, values, attributes: attributes(axis, name) }
    }

    /// The values of a time or a step in seconds.
    pub(super) fn seconds(&self, axis: usize) -> Vec<f64> {
        let unit = if axis == STEP { HOUR } else { 1.0 };
        self.values.iter().map(|value| (value * unit).round()).collect()
    }

    /// When fields are valid: of each time and each step, where these are dimensions.
    pub(super) fn valid_time(times: &[f64], steps: &[f64], kept: &[String]) -> Coordinate {
        let len = |values: &[f64]| swath_ioengine::storage_len(values.len());
        let named = [(TIME, times), (STEP, steps)].map(|(axis, values)| (AXES[axis].to_owned(), len(values)));
        let dimensions = named.into_iter().filter(|(name, len)| *len != 1 || kept.contains(name)).collect();
        let values = times.iter().flat_map(|time| steps.iter().map(move |step| time + step)).collect();
        let attributes = json!({
            "units": SINCE_1970,
            "calendar": "proleptic_gregorian",
            "standard_name": "time",
            "long_name": "time",
        });
        Coordinate { name: VALID_TIME.to_owned(), dimensions, values, attributes: object(attributes) }
    }
}

const SINCE_1970: &str = "seconds since 1970-01-01T00:00:00";

/// The names of coordinates along an axis, of a type of level.
pub(super) fn axis_name(axis: usize, level: Option<&str>) -> String {
    if axis == LEVEL { level.unwrap_or(AXES[LEVEL]).to_owned() } else { AXES[axis].to_owned() }
}

/// Whether levels of a type are stored downwards: pressures, as in cfgrib.
pub(super) fn is_decreasing(level: Option<&str>) -> bool {
    matches!(level, Some("isobaricInhPa" | "isobaricInPa"))
}

fn attributes(axis: usize, name: &str) -> Map<String, Value> {
    object(match axis {
        TIME => json!({
            "units": SINCE_1970,
            "calendar": "proleptic_gregorian",
            "standard_name": "forecast_reference_time",
            "long_name": "initial time of forecast",
        }),
        // The type is what xarray wants to see before it makes durations of numbers.
        STEP => json!({
            "units": "hours",
            "standard_name": "forecast_period",
            "long_name": "time since forecast_reference_time",
            "dtype": "timedelta64[ns]",
        }),
        NUMBER => json!({
            "units": "1",
            "standard_name": "realization",
            "long_name": "ensemble member numerical id",
        }),
        _ => level_attributes(name),
    })
}

fn level_attributes(name: &str) -> Value {
    let pressure = |units: &str| {
        json!({
            "units": units,
            "positive": "down",
            "standard_name": "air_pressure",
            "long_name": "pressure",
            "stored_direction": "decreasing",
        })
    };
    let soil =
        json!({ "units": "m", "positive": "down", "standard_name": "depth", "long_name": "soil depth" });
    match name {
        "isobaricInhPa" => pressure("hPa"),
        "isobaricInPa" => pressure("Pa"),
        "isobaricLayer" => {
            json!({ "units": "Pa", "positive": "down", "standard_name": "air_pressure", "long_name": "pressure" })
        }
        "depthBelowLand" | "depthBelowLandLayer" => soil,
        "hybrid" => json!({
            "units": "1",
            "positive": "down",
            "standard_name": "atmosphere_hybrid_sigma_pressure_coordinate",
            "long_name": "hybrid level",
        }),
        "heightAboveGround" => json!({
            "units": "m",
            "positive": "up",
            "standard_name": "height",
            "long_name": "height above the surface",
        }),
        _ => json!({ "units": "1", "long_name": format!("original GRIB coordinate for key: level({name})") }),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seconds and members are whole numbers far below 2^53")]
fn integer(value: f64) -> i64 {
    value as i64
}

/// The members of a JSON object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
