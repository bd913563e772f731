//! How the metadata of two nodes differ, in words.

use crate::quantity::{abbreviated, shape};
use serde_json::{Map, Value};
use swath::Array;

/// Where xarray keeps names of dimensions in v2: not an attribute to the user.
const V2_NAMES: &str = "_ARRAY_DIMENSIONS";

/// Characters of a value that a line shows.
const VALUE_CHARACTERS: usize = 40;

/// What differs of two arrays, but for their elements; how they are stored too where `layout` says so.
pub(crate) fn array_differences(a: &Array, b: &Array, layout: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what} {a} in a, {b} in b"));
        }
    };
    differ("shape", shape(a.shape()), shape(b.shape()));
    differ("data type", a.data_type().to_string(), b.data_type().to_string());
    differ("fill value", a.fill_value().to_string(), b.fill_value().to_string());
    differ("dimensions", dimensions(a), dimensions(b));
    if layout {
        let shards = |array: &Array| array.shard_shape().map_or("none".to_owned(), shape);
        let format = |array: &Array| crate::info::format_number(array.zarr_format()).to_string();
        differ("format", format(a), format(b));
        differ("chunks", shape(a.chunk_shape()), shape(b.chunk_shape()));
        differ("shards", shards(a), shards(b));
        differ("codecs", a.codecs().join(", "), b.codecs().join(", "));
    }
    found.extend(attribute_differences(a.metadata().attributes(), b.metadata().attributes()));
    found
}

/// Attributes that one of two nodes has alone, or with another value.
pub(crate) fn attribute_differences(a: &Map<String, Value>, b: &Map<String, Value>) -> Vec<String> {
    let shown = |value: Option<&Value>| {
        value.map_or("none".to_owned(), |value| abbreviated(&value.to_string(), VALUE_CHARACTERS))
    };
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differ = names.filter(|name| *name != V2_NAMES && a.get(*name) != b.get(*name));
    differ
        .map(|name| format!("attribute {name} {} in a, {} in b", shown(a.get(name)), shown(b.get(name))))
        .collect()
}

fn dimensions(array: &Array) -> String {
    let Some(names) = array.metadata().dimension_names() else { return "without names".to_owned() };
    if names.iter().all(Option::is_none) {
        return "without names".to_owned();
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "_".to_owned());
    format!("({})", names.iter().map(name).collect::<Vec<_>>().join(", "))
}
