//! The metadata documents of a new array.

use super::array_builder::{ArrayBuilder, Fill, MemoryOrder, Shards};
use super::chunk_guess::{Inner, chunk_shape, shard_shape};
use super::documents::{NamedDocument, document_bytes};
use super::grid_document::rectilinear_grid;
use crate::metadata::{ArrayMetadata, IndexLocation, ZarrFormat};
use crate::{ChunkKeyEncoding, DataType, Error, FillValue, Separator, StructField};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use swath_codecs::ByteOrder;

/// What is stored of a new array: `zarr.json`, or `.zarray` and `.zattrs`.
pub(super) enum ArrayDocuments {
    V3(Map<String, Value>),
    V2 { array: Map<String, Value>, attributes: Map<String, Value> },
}

impl ArrayDocuments {
    pub(super) fn new(builder: &ArrayBuilder) -> Result<ArrayDocuments, Error> {
        match builder.zarr_format {
            ZarrFormat::V3 => v3(builder),
            ZarrFormat::V2 => v2(builder),
        }
    }

    /// The documents, checked as those of any array.
    pub(super) fn parse(&self, object: &str) -> Result<ArrayMetadata, Error> {
        match self {
            ArrayDocuments::V3(document) => ArrayMetadata::from_v3(document.clone(), object),
            ArrayDocuments::V2 { array, attributes } => {
                ArrayMetadata::from_v2(array.clone(), attributes.clone(), object)
            }
        }
    }

    /// The documents as they are stored, the one that makes the array last.
    pub(super) fn bytes(&self) -> Result<Vec<NamedDocument>, Error> {
        Ok(match self {
            ArrayDocuments::V3(document) => vec![("zarr.json", document_bytes(document)?)],
            ArrayDocuments::V2 { array, attributes } => {
                vec![(".zattrs", document_bytes(attributes)?), (".zarray", document_bytes(array)?)]
            }
        })
    }
}

fn v3(builder: &ArrayBuilder) -> Result<ArrayDocuments, Error> {
    let (inner, outer) = shapes(builder)?;
    let data_type = match &builder.data_type {
        DataType::Struct(structure) => DataType::Struct(Arc::new(structure.without_orders()?)),
        other => other.clone(),
    };
    let mut codecs = builder.filters.clone().unwrap_or_default();
    codecs.push(builder.serializer.clone().unwrap_or_else(|| serializer(&data_type, builder.byte_order)));
    let zstd = || vec![json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}})];
    codecs.extend(builder.compressors.clone().unwrap_or_else(zstd));
    if let Some(inner) = &inner {
        let location = match builder.index_location {
            IndexLocation::Start => "start",
            IndexLocation::End => "end",
        };
        let index =
            [json!({"name": "bytes", "configuration": {"endian": "little"}}), json!({"name": "crc32c"})];
        codecs = vec![json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": codecs, "index_codecs": index, "index_location": location}})];
    }
    let fill = match &builder.fill {
        Fill::Value(fill) => fill.to_json(),
        Fill::Zeros | Fill::Undefined => FillValue::zero(&builder.data_type).to_json(),
    };
    let grid = match (&builder.axis_chunks, &builder.shards) {
        (None, Shards::Axes(axes)) if builder.chunk_shape.is_some() => rectilinear_grid(axes),
        (None, Shards::Axes(_)) => {
            return Err(Error::invalid(
                "wanted a shape of chunks beside shards of different lengths, found none",
            ));
        }
        (None, _) => json!({"name": "regular", "configuration": {"chunk_shape": outer}}),
        (Some(axes), Shards::None) => rectilinear_grid(axes),
        (Some(_), _) => {
            return Err(Error::unsupported(
                "shards of inner chunks of different lengths (grid `rectilinear`)",
            ));
        }
    };
    let mut document = object(json!({
        "shape": builder.shape,
        "data_type": data_type.to_v3(),
        "chunk_grid": grid,
        "chunk_key_encoding": chunk_key_encoding(builder.chunk_key_encoding.as_ref()),
        "fill_value": fill,
        "codecs": codecs,
        "attributes": builder.attributes,
    }));
    if let Some(names) = &builder.dimension_names {
        document.insert("dimension_names".to_owned(), json!(names));
    }
    document.extend(object(json!({"zarr_format": 3, "node_type": "array", "storage_transformers": []})));
    Ok(ArrayDocuments::V3(document))
}

fn v2(builder: &ArrayBuilder) -> Result<ArrayDocuments, Error> {
    let refused = |what: &str| Err(Error::invalid(format!("wanted no {what} for a v2 array, found some")));
    if !matches!(builder.shards, Shards::None) {
        return refused("shards");
    }
    if builder.dimension_names.is_some() {
        return refused("names of dimensions");
    }
    if builder.axis_chunks.is_some() {
        return refused("chunks of different lengths");
    }
    if builder.serializer.is_some() {
        return refused("serializer");
    }
    let separator = match &builder.chunk_key_encoding {
        None => Separator::Dot,
        Some(ChunkKeyEncoding::V2 { separator }) => *separator,
        Some(_) => return refused("chunk key encoding of v3"),
    };
    let zstd = || vec![json!({"id": "zstd", "level": 0})];
    let compressors = builder.compressors.clone().unwrap_or_else(zstd);
    let compressor = match compressors.as_slice() {
        [] => Value::Null,
        [one] => one.clone(),
        more => {
            let message = format!("wanted one compressor at most for a v2 array, found {}", more.len());
            return Err(Error::invalid(message));
        }
    };
    let fill = match &builder.fill {
        Fill::Value(fill) => fill.to_json_of(ZarrFormat::V2),
        Fill::Zeros => FillValue::zero(&builder.data_type).to_json_of(ZarrFormat::V2),
        Fill::Undefined => Value::Null,
    };
    let filters = filters_v2(builder);
    let array = object(json!({
        "shape": builder.shape,
        "chunks": shapes(builder)?.1,
        "dtype": data_type_v2(&builder.data_type, builder.byte_order)?,
        "fill_value": fill,
        "order": if builder.order == MemoryOrder::F { "F" } else { "C" },
        "filters": filters,
        "dimension_separator": separator.as_char().to_string(),
        "compressor": compressor,
        "zarr_format": 2,
    }));
    Ok(ArrayDocuments::V2 { array, attributes: builder.attributes.clone() })
}

/// The shape of an inner chunk, where there are shards, and that of an object.
fn shapes(builder: &ArrayBuilder) -> Result<(Option<Vec<u64>>, Vec<u64>), Error> {
    let inner = if matches!(builder.shards, Shards::None) { Inner::No } else { Inner::OfShards };
    // What elements of any length take zarr-python counts as one byte.
    let is_variable = builder.data_type.is_variable_length();
    let element_bytes = if is_variable { 1 } else { builder.data_type.size_bytes() };
    let guess = || chunk_shape(&builder.shape, element_bytes, inner);
    let chunks = builder.chunk_shape.clone().unwrap_or_else(guess);
    let checked = |what: &str, shape: &[u64]| match shape.len() == builder.shape.len() && !shape.contains(&0)
    {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "wanted {} extents of at least 1 as the shape of a {what}, found {shape:?}",
            builder.shape.len()
        ))),
    };
    checked("chunk", &chunks)?;
    let shards = match &builder.shards {
        Shards::None => return Ok((None, chunks)),
        Shards::Guessed => shard_shape(&builder.shape, &chunks),
        Shards::Of(shards) => shards.clone(),
        // The grid has their lengths.
        Shards::Axes(_) => chunks.clone(),
    };
    checked("shard", &shards)?;
    Ok((Some(chunks), shards))
}

/// What makes bytes of elements. Those without a byte order have a codec without one.
fn serializer(data_type: &DataType, order: ByteOrder) -> Value {
    match data_type {
        DataType::String => return json!({"name": "vlen-utf8", "configuration": {}}),
        DataType::Bytes => return json!({"name": "vlen-bytes", "configuration": {}}),
        DataType::Optional(inner) => {
            let data = [serializer(inner, order)];
            return json!({"name": "zarrs.optional", "configuration": {
                "mask_codecs": [{"name": "packbits"}], "data_codecs": data}});
        }
        _ => {}
    }
    if !data_type.needs_byte_order() {
        return json!({"name": "bytes"});
    }
    json!({"name": "bytes", "configuration": {"endian": match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }}})
}

/// The filters of a v2 array, of objects with what makes bytes of them; `None` where there are none.
fn filters_v2(builder: &ArrayBuilder) -> Option<Vec<Value>> {
    let mut filters = builder.filters.clone().unwrap_or_default();
    let id = match builder.data_type {
        DataType::String => Some("vlen-utf8"),
        DataType::Bytes => Some("vlen-bytes"),
        _ => None,
    };
    if let Some(id) = id {
        let is_given = filters.iter().any(|filter| {
            matches!(filter.get("id").and_then(Value::as_str), Some("vlen-utf8" | "vlen-bytes" | "json2"))
        });
        if !is_given {
            filters.insert(0, json!({"id": id}));
        }
    }
    (!filters.is_empty()).then_some(filters)
}

/// NumPy's name, in the order that the chunks are to have; of a structure a list of fields, each in its own order where it has one.
fn data_type_v2(data_type: &DataType, order: ByteOrder) -> Result<Value, Error> {
    if let DataType::String | DataType::Bytes = data_type {
        return Ok(Value::from("|O"));
    }
    if let DataType::Struct(structure) = data_type {
        let field = |field: &StructField| {
            let data_type = data_type_v2(&field.data_type, field.order.unwrap_or(order))?;
            Ok(match field.shape.as_slice() {
                [] => json!([field.name, data_type]),
                shape => json!([field.name, data_type, shape]),
            })
        };
        return structure.fields().iter().map(field).collect();
    }
    let native = data_type.numpy();
    let kind = native.trim_start_matches(['<', '>']);
    let name = match order {
        _ if kind.starts_with('|') => native,
        ByteOrder::Little => format!("<{kind}"),
        ByteOrder::Big => format!(">{kind}"),
    };
    match DataType::from_v2(&name) {
        Ok((named, _)) if named == *data_type => Ok(Value::from(name)),
        _ => Err(Error::unsupported(format!("making a v2 array of data type `{data_type}`"))),
    }
}

fn chunk_key_encoding(encoding: Option<&ChunkKeyEncoding>) -> Value {
    let (name, separator) = match encoding {
        None => ("default", Separator::Slash),
        Some(ChunkKeyEncoding::Default { separator }) => ("default", *separator),
        Some(ChunkKeyEncoding::V2 { separator }) => ("v2", *separator),
        Some(ChunkKeyEncoding::Suffix { base, suffix }) => {
            let base = chunk_key_encoding(Some(base));
            return json!({"name": "suffix", "configuration": {"suffix": suffix, "base_encoding": base}});
        }
    };
    json!({"name": name, "configuration": {"separator": separator.as_char().to_string()}})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
