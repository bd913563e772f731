//! Entries of metadata.

use super::{GribCodec, Order, Quantity};
use crate::{Error, ErrorKind};
use serde_json::{Map, Value};
use swath_codecs::NumberType;

/// The codec that kerchunk's sets name.
pub(crate) const KERCHUNK_ID: &str = "grib";

/// The codec for what that one has nothing for.
pub(crate) const OWN_ID: &str = "swath_grib";

/// See [`GribCodec::from_entry`].
pub(super) fn read(entry: &Value) -> Option<Result<GribCodec, Error>> {
    let name = |field: &str| entry.get(field).and_then(Value::as_str);
    // Of v2 the fields stand beside the name, of v3 in an object that may be missing.
    let (name, fields) = match (name("name"), name("id")) {
        (Some(name), _) => {
            let fields = entry.get("configuration").and_then(Value::as_object);
            (name.strip_prefix("numcodecs.").unwrap_or(name), fields)
        }
        (None, id) => (id?, entry.as_object()),
    };
    let order = match name {
        KERCHUNK_ID => Order::File,
        OWN_ID => Order::Rows,
        _ => return None,
    };
    Some(of(order, fields.unwrap_or(&Map::new())))
}

fn of(order: Order, fields: &Map<String, Value>) -> Result<GribCodec, Error> {
    let text = |field: &str| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(invalid(format!("field `{field}`: wanted a text, found {other}"))),
    };
    let of = match text("var")? {
        Some("latitude") => Quantity::Latitudes,
        Some("longitude") => Quantity::Longitudes,
        _ => Quantity::Values,
    };
    let number = match text("dtype")? {
        None => None,
        Some("float32" | "<f4" | "f4") => Some(NumberType::Float32),
        Some("float64" | "<f8" | "f8") => Some(NumberType::Float64),
        Some(other) => {
            return Err(invalid(format!("field `dtype`: wanted float32 or float64, found {other:?}")));
        }
    };
    let known = ["id", "name", "var", "dtype"];
    if let Some(other) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(invalid(format!("wanted the fields `var` and `dtype`, found `{other}`")));
    }
    Ok(GribCodec { of, order, number })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_of_both_formats_are_read() {
        let of = |entry: Value| read(&entry).map(|codec| codec.map_err(|error| error.message().to_owned()));
        let codec = |of, order, number| Some(Ok(GribCodec { of, order, number }));
        let (four, eight) = (Some(NumberType::Float32), Some(NumberType::Float64));
        assert_eq!(
            of(json!({"id": "grib", "var": "t2m", "dtype": "float64"})),
            codec(Quantity::Values, Order::File, eight)
        );
        assert_eq!(
            of(json!({"id": "grib", "var": "latitude"})),
            codec(Quantity::Latitudes, Order::File, None)
        );
        for name in ["swath_grib", "numcodecs.swath_grib"] {
            let entry = json!({"name": name, "configuration": {"var": "longitude", "dtype": "float32"}});
            assert_eq!(of(entry), codec(Quantity::Longitudes, Order::Rows, four));
        }
        assert_eq!(of(json!({"name": "grib"})), codec(Quantity::Values, Order::File, None));
        assert_eq!(of(json!({"id": "gribberish", "var": "t"})), None);
        assert_eq!(of(json!({"name": "grib2"})), None);
        for (entry, message) in [
            (
                json!({"id": "grib", "dtype": "int32"}),
                "field `dtype`: wanted float32 or float64, found \"int32\"",
            ),
            (json!({"id": "grib", "var": 3}), "field `var`: wanted a text, found 3"),
            (json!({"id": "swath_grib", "field": 1}), "wanted the fields `var` and `dtype`, found `field`"),
        ] {
            assert_eq!(of(entry), Some(Err(message.to_owned())));
        }
    }
}
