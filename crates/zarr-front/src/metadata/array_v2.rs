//! `.zarray` and `.zattrs`.

use serde_json::{Map, Value};
use swath_codecs::ByteOrder;

use super::array::Parts;
use super::fields::{check_format, chunk_extents, extents, required, wrong};
use super::{ArrayCodecs, ZarrFormat, codecs};
use crate::{ChunkKeyEncoding, DataType, Error, FillValue, Separator};

pub(super) fn parse(document: Map<String, Value>, attributes: Map<String, Value>) -> Result<Parts, Error> {
    check_format(&document, ZarrFormat::V2)?;
    let shape = extents(required(&document, "shape")?, "shape")?;
    let chunk_shape = chunks(required(&document, "chunks")?, &shape)?;
    let f_order = match required(&document, "order")? {
        Value::String(order) if order == "C" => None,
        Value::String(order) if order == "F" => Some(shape.len()),
        other => return Err(wrong("order", "\"C\" or \"F\"", other)),
    };
    let filters: &[Value] = match document.get("filters") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(filters)) => filters,
        Some(other) => return Err(wrong("filters", "an array or null", other)),
    };
    let (data_type, order) = match required(&document, "dtype")? {
        Value::String(dtype) if dtype == "|O" => (object_type(filters)?, ByteOrder::NATIVE),
        dtype => DataType::from_v2_json(dtype)?,
    };
    let compressor = document.get("compressor").filter(|compressor| !compressor.is_null());
    let chain = codecs::parse_v2(order, f_order, filters, compressor)?;
    codecs::check_chain(&chain, shape.len(), &data_type, "filters")?;
    let fill_value = document.get("fill_value").unwrap_or(&Value::Null);
    Ok(Parts {
        zarr_format: ZarrFormat::V2,
        fill_value: FillValue::from_json(fill_value, &data_type, ZarrFormat::V2)?,
        data_type,
        codecs: ArrayCodecs::Chain(chain),
        chunk_key_encoding: ChunkKeyEncoding::V2 { separator: separator(&document)? },
        dimension_names: dimension_names(&attributes, shape.len()),
        attributes,
        shape,
        chunk_shape,
        rectilinear: None,
        document: Value::Object(document),
    })
}

/// What the elements of an array of Python objects are, which its object codec tells: the first of `filters` that makes
/// bytes of objects.
fn object_type(filters: &[Value]) -> Result<DataType, Error> {
    for filter in filters {
        let refused =
            |why: &str| Err(Error::unsupported(format!("data type `|O` with the object codec {why}")));
        return match filter.get("id").and_then(Value::as_str) {
            Some("vlen-utf8" | "json2") => Ok(DataType::String),
            Some("vlen-bytes") => Ok(DataType::Bytes),
            Some("pickle") => refused("`pickle`, which would run code that the file brings"),
            Some(id @ ("json" | "msgpack" | "msgpack2" | "vlen-array" | "categorize")) => {
                refused(&format!("`{id}`"))
            }
            _ => continue,
        };
    }
    Err(Error::unsupported("data type `|O` without an object codec in `filters`"))
}

/// A chunk extent of 0 is taken for 1 where the array's own extent is 0: some writers made chunks of such arrays so,
/// and none is stored.
fn chunks(value: &Value, shape: &[u64]) -> Result<Vec<u64>, Error> {
    let mut chunks = extents(value, "chunks")?;
    for (chunk, extent) in chunks.iter_mut().zip(shape) {
        if *chunk == 0 && *extent == 0 {
            *chunk = 1;
        }
    }
    if chunks.contains(&0) || chunks.len() != shape.len() {
        return chunk_extents(value, "chunks", shape.len());
    }
    Ok(chunks)
}

fn separator(document: &Map<String, Value>) -> Result<Separator, Error> {
    match document.get("dimension_separator") {
        None | Some(Value::Null) => Ok(Separator::Dot),
        Some(value) => value
            .as_str()
            .and_then(Separator::from_text)
            .ok_or_else(|| wrong("dimension_separator", "\".\" or \"/\"", value)),
    }
}

/// xarray's names, where they are there and fit; they are attributes, so odd ones are no error.
///
/// Source: xarray documentation, "Zarr encoding specification".
fn dimension_names(attributes: &Map<String, Value>, rank: usize) -> Option<Vec<Option<String>>> {
    let names = attributes.get("_ARRAY_DIMENSIONS")?.as_array()?;
    if names.len() != rank {
        return None;
    }
    names.iter().map(|name| name.as_str().map(|name| Some(name.to_owned()))).collect()
}
