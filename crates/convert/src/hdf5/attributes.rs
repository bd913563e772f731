//! Attributes, as JSON.

use super::data_type::{Stored, stored};
use super::element;
use crate::References;
use hdf5_reader::{Attribute, Datatype, VarLenKind};
use serde_json::{Map, Value};

/// What says how a file is put together, and nothing of what is in it; and what the fill value says already.
const OWN_NAMES: [&str; 10] = [
    "CLASS",
    "DIMENSION_LABELS",
    "DIMENSION_LIST",
    "NAME",
    "REFERENCE_LIST",
    "_FillValue",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
];

/// The attributes of a group or a dataset at `path`; what JSON has nothing for is left out.
pub(super) fn values(
    attributes: &[Attribute],
    path: &str,
    references: &mut References,
) -> Map<String, Value> {
    let mut values = Map::new();
    for attribute in attributes.iter().filter(|attribute| !OWN_NAMES.contains(&attribute.name.as_str())) {
        match value(attribute) {
            Ok(value) => {
                values.insert(attribute.name.clone(), value);
            }
            Err(reason) => {
                references.leave_out(&format!("{}@{}", path.trim_end_matches('/'), attribute.name), reason);
            }
        }
    }
    values
}

/// The bytes of the first element of an attribute of a name.
pub(super) fn bytes<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a [u8]> {
    let found = attributes.iter().find(|attribute| attribute.name == name)?;
    let Stored::Fixed { bytes, .. } = stored(&found.datatype).ok()? else { return None };
    found.raw_data.get(..usize::try_from(bytes).ok()?)
}

/// The text of an attribute of a name.
pub(super) fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.name == name)?;
    strings(found).ok()?.into_iter().next()
}

fn value(attribute: &Attribute) -> Result<Value, String> {
    let is_text = matches!(
        attribute.datatype,
        Datatype::String { .. } | Datatype::VarLen { kind: VarLenKind::String, .. }
    );
    if attribute.shape.contains(&0) {
        return Ok(if is_text { "".into() } else { Value::Array(Vec::new()) });
    }
    let values: Vec<Value> = if is_text {
        strings(attribute)?.into_iter().map(Value::from).collect()
    } else {
        let Stored::Fixed { name, bytes } = stored(&attribute.datatype)? else {
            return Err("text that is nowhere".to_owned());
        };
        let bytes = usize::try_from(bytes).unwrap_or_default();
        if bytes == 0 || name.is_array() {
            return Err(format!("values of type {name}"));
        }
        attribute.raw_data.chunks_exact(bytes).map(|found| element::of(&name, found)).collect()
    };
    match <[Value; 1]>::try_from(values) {
        Ok([one]) => Ok(one),
        Err(values) => Ok(values.into()),
    }
}

fn strings(attribute: &Attribute) -> Result<Vec<String>, String> {
    let is_one = attribute.shape.is_empty();
    let found = if is_one { attribute.read_string().map(|one| vec![one]) } else { attribute.read_strings() };
    found.map_err(|error| error.to_string())
}
