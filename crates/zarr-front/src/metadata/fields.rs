//! Checked access to the fields of a metadata object.

use serde_json::{Map, Value};

use super::{ZarrFormat, json};
use crate::Error;

/// The most dimensions an array may have: NumPy's own limit (2.x), so that whatever swath reads can be handed over.
pub(crate) const RANK_MAX: usize = 64;

/// The field `name`, which must be there.
pub(crate) fn required<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Value, Error> {
    object.get(name).ok_or_else(|| Error::invalid(format!("wanted the field `{name}`, found none")))
}

/// "wanted `name` to be ..., found ...".
pub(crate) fn wrong(name: &str, wanted: &str, found: &Value) -> Error {
    Error::invalid(format!("wanted `{name}` to be {wanted}, found {}", json::brief(found)))
}

/// Checks `zarr_format`.
pub(crate) fn check_format(object: &Map<String, Value>, format: ZarrFormat) -> Result<(), Error> {
    let wanted = match format {
        ZarrFormat::V2 => 2,
        ZarrFormat::V3 => 3,
    };
    let found = required(object, "zarr_format")?;
    if found.as_u64() == Some(wanted) {
        Ok(())
    } else {
        Err(wrong("zarr_format", &wanted.to_string(), found))
    }
}

/// An array of at most [`RANK_MAX`] integers from 0 to 2^64 - 1.
pub(crate) fn extents(value: &Value, name: &str) -> Result<Vec<u64>, Error> {
    let values = value.as_array().ok_or_else(|| wrong(name, "an array of non-negative integers", value))?;
    if RANK_MAX < values.len() {
        return Err(Error::unsupported(format!(
            "`{name}` with {} dimensions, more than {RANK_MAX}",
            values.len()
        )));
    }
    let extent = |extent: &Value| {
        extent.as_u64().ok_or_else(|| wrong(name, "an array of non-negative integers", value))
    };
    values.iter().map(extent).collect()
}

/// As [`extents`], for chunks: one a dimension and none of them 0.
pub(crate) fn chunk_extents(value: &Value, name: &str, rank: usize) -> Result<Vec<u64>, Error> {
    let chunk_shape = extents(value, name)?;
    if chunk_shape.len() != rank {
        let wanted = format!("of as many dimensions as the array's `shape` ({rank})");
        return Err(wrong(name, &wanted, value));
    }
    if chunk_shape.contains(&0) {
        return Err(wrong(name, "without a 0", value));
    }
    Ok(chunk_shape)
}

/// The product of `extents`: 1 for none, 0 where one of them is 0.
pub(crate) fn element_count(extents: &[u64], name: &str) -> Result<u64, Error> {
    if extents.contains(&0) {
        return Ok(0);
    }
    extents.iter().try_fold(1_u64, |product, extent| product.checked_mul(*extent)).ok_or_else(|| {
        Error::invalid(format!("wanted a `{name}` of at most 2^64 - 1 elements, found {extents:?}"))
    })
}

/// Takes the `attributes` of a Zarr v3 node: an object, empty where the field is missing.
pub(crate) fn attributes(object: &Map<String, Value>) -> Result<Map<String, Value>, Error> {
    match object.get("attributes") {
        None => Ok(Map::new()),
        Some(Value::Object(attributes)) => Ok(attributes.clone()),
        Some(other) => Err(wrong("attributes", "an object", other)),
    }
}

/// Refuses fields of a Zarr v3 node that are neither `known` nor marked `"must_understand": false`.
///
/// Source: Zarr v3 core specification, "Array metadata", "Group metadata": extension fields.
pub(crate) fn check_unknown(object: &Map<String, Value>, known: &[&str]) -> Result<(), Error> {
    match object.iter().find(|(name, value)| !known.contains(&name.as_str()) && !may_be_ignored(value)) {
        None => Ok(()),
        Some((name, _)) => Err(Error::unsupported(format!("the field `{}`", json::cut(name)))),
    }
}

/// Whether `extension` says that a reader which does not know it may go on.
pub(crate) fn may_be_ignored(extension: &Value) -> bool {
    extension.get("must_understand") == Some(&Value::Bool(false))
}

/// The value of an extension point: `"name"` or `{"name": ..., "configuration": {...}}`.
///
/// Source: Zarr v3 core specification, "Extension definition".
pub(crate) type Named<'a> = (&'a str, Option<&'a Map<String, Value>>);

/// The name and configuration of an extension point's value.
pub(crate) fn named<'a>(value: &'a Value, field: &str) -> Result<Named<'a>, Error> {
    let broken = || wrong(field, "a name, or an object with a `name` and perhaps a `configuration`", value);
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(object) => {
            let name = object.get("name").and_then(Value::as_str).ok_or_else(broken)?;
            match object.get("configuration") {
                None => Ok((name, None)),
                Some(Value::Object(configuration)) => Ok((name, Some(configuration))),
                Some(_) => Err(broken()),
            }
        }
        _ => Err(broken()),
    }
}
