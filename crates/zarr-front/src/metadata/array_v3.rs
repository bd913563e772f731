//! `zarr.json` of an array.

use serde_json::{Map, Value};

use super::array::Parts;
use super::fields::{
    attributes, check_format, check_unknown, chunk_extents, extents, named, required, wrong,
};
use super::{ArrayCodecs, ZarrFormat, codecs, json};
use crate::rectilinear::Rectilinear;
use crate::{ChunkKeyEncoding, DataType, Error, FillValue, Separator};

const KNOWN: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
];

pub(super) fn parse(document: Map<String, Value>) -> Result<Parts, Error> {
    check_format(&document, ZarrFormat::V3)?;
    let node_type = required(&document, "node_type")?;
    if node_type != "array" {
        return Err(wrong("node_type", "\"array\"", node_type));
    }
    check_unknown(&document, &KNOWN)?;
    check_storage_transformers(&document)?;
    let shape = extents(required(&document, "shape")?, "shape")?;
    let data_type = DataType::from_v3(required(&document, "data_type")?)?;
    let (chunk_shape, rectilinear) = chunk_grid(required(&document, "chunk_grid")?, &shape)?;
    let codecs = codecs::parse_v3(required(&document, "codecs")?, &chunk_shape, &data_type)?;
    if let (Some(grid), ArrayCodecs::Sharding(sharding)) = (&rectilinear, &codecs) {
        grid.check_inner(&sharding.inner_extents()?)?;
    }
    Ok(Parts {
        zarr_format: ZarrFormat::V3,
        fill_value: FillValue::from_json(required(&document, "fill_value")?, &data_type, ZarrFormat::V3)?,
        codecs,
        chunk_key_encoding: chunk_key_encoding(required(&document, "chunk_key_encoding")?)?,
        attributes: attributes(&document)?,
        dimension_names: dimension_names(&document, shape.len())?,
        shape,
        data_type,
        chunk_shape,
        rectilinear,
        document: Value::Object(document),
    })
}

fn check_storage_transformers(document: &Map<String, Value>) -> Result<(), Error> {
    let field = "storage_transformers";
    match document.get(field) {
        None => Ok(()),
        Some(Value::Array(transformers)) => match transformers.first() {
            None => Ok(()),
            Some(first) => {
                let name = named(first, field)?.0;
                Err(Error::unsupported(format!("storage transformer `{}`", json::cut(name))))
            }
        },
        Some(other) => Err(wrong(field, "an array", other)),
    }
}

/// The shape of chunks, and where they have lengths of their own, those; the shape is of the longest then.
///
/// Source: Zarr v3 core specification, "Regular grids"; the Zarr extensions registry, `rectilinear`.
fn chunk_grid(value: &Value, shape: &[u64]) -> Result<(Vec<u64>, Option<Rectilinear>), Error> {
    let (name, configuration) = named(value, "chunk_grid")?;
    let field = |name: &str| configuration.and_then(|configuration| configuration.get(name));
    match (name, field("chunk_shape"), field("chunk_shapes")) {
        ("regular", Some(chunk_shape), _) => {
            Ok((chunk_extents(chunk_shape, "chunk_shape", shape.len())?, None))
        }
        ("regular", None, _) => Err(wrong("chunk_grid", "a regular grid with a `chunk_shape`", value)),
        ("rectilinear", _, Some(lengths)) => {
            if let Some(kind) = field("kind").filter(|kind| *kind != "inline") {
                return Err(Error::unsupported(format!(
                    "chunk grid `rectilinear` of kind {}",
                    json::brief(kind)
                )));
            }
            let grid = Rectilinear::parse(lengths, shape)?;
            match grid.common_shape() {
                Some(chunk_shape) => Ok((chunk_shape, None)),
                None => Ok((grid.longest(), Some(grid))),
            }
        }
        ("rectilinear", ..) => {
            Err(wrong("chunk_grid", "a rectilinear grid with a list `chunk_shapes`", value))
        }
        _ => Err(Error::unsupported(format!("chunk grid `{}`", json::cut(name)))),
    }
}

/// Source: Zarr v3 core specification, "Chunk key encoding"; the Zarr extensions registry, `suffix`; zarrs'
/// `zarrs.default_suffix`.
fn chunk_key_encoding(value: &Value) -> Result<ChunkKeyEncoding, Error> {
    let (name, configuration) = named(value, "chunk_key_encoding")?;
    let field = |name: &str| configuration.and_then(|configuration| configuration.get(name));
    let separator = match field("separator") {
        None => None,
        Some(Value::String(text)) if Separator::from_text(text).is_some() => Separator::from_text(text),
        Some(other) => return Err(wrong("separator", "\"/\" or \".\"", other)),
    };
    let default = ChunkKeyEncoding::Default { separator: separator.unwrap_or(Separator::Slash) };
    match name {
        "default" => Ok(default),
        "v2" => Ok(ChunkKeyEncoding::V2 { separator: separator.unwrap_or(Separator::Dot) }),
        "suffix" => match field("base_encoding").or_else(|| field("base-encoding")) {
            None => suffixed(default, field("suffix")),
            Some(base) => match named(base, "base_encoding")?.0 {
                "default" | "v2" => suffixed(chunk_key_encoding(base)?, field("suffix")),
                name => Err(unknown_key_encoding(name)),
            },
        },
        "zarrs.default_suffix" => suffixed(default, field("suffix")),
        _ => Err(unknown_key_encoding(name)),
    }
}

/// A suffix is the end of a name: with a slash in it, keys could name other objects than the array's.
fn suffixed(base: ChunkKeyEncoding, suffix: Option<&Value>) -> Result<ChunkKeyEncoding, Error> {
    let found = suffix.unwrap_or(&Value::Null);
    match found.as_str().filter(|suffix| !suffix.contains(['/', '\\', '\0'])) {
        Some(suffix) => Ok(ChunkKeyEncoding::Suffix { base: Box::new(base), suffix: suffix.to_owned() }),
        None => Err(wrong("suffix", "a string without a slash", found)),
    }
}

fn unknown_key_encoding(name: &str) -> Error {
    Error::unsupported(format!("chunk key encoding `{}`", json::cut(name)))
}

/// `null` for the whole field counts as absent: early writers of Zarr v3 made it.
fn dimension_names(document: &Map<String, Value>, rank: usize) -> Result<Option<Vec<Option<String>>>, Error> {
    let field = "dimension_names";
    let value = match document.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let broken = || wrong(field, &format!("an array of {rank} names or nulls"), value);
    let names = value.as_array().filter(|names| names.len() == rank).ok_or_else(broken)?;
    let name = |name: &Value| match name {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name.clone())),
        _ => Err(broken()),
    };
    names.iter().map(name).collect::<Result<Vec<_>, Error>>().map(Some)
}
