//! The `sharding_indexed` codec: many chunks and an index in one stored object.

use serde_json::{Map, Value};
use swath_codecs::{Codec, CodecClass};

use super::codecs::{ArrayCodecs, check_chain, codec_v3, is_checksum, is_transpose, parse_level, transposed};
use super::fields::{chunk_extents, element_count, named, required, wrong};
use super::json;
use crate::{DataType, Error};

/// The deepest nesting of shards in shards that is read. One level is usual, two exist; the bound keeps recursion
/// over untrusted documents short.
const SHARDING_DEPTH_MAX: usize = 8;

/// Where in a shard its index lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexLocation {
    /// At its first byte.
    Start,
    /// At its last byte; the default.
    End,
}

/// A checked `sharding_indexed` codec, and what stands around it.
///
/// Source: Zarr sharding codec specification, version 1.0.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharding {
    /// The shape of an inner chunk, in elements: one extent a dimension, none 0, each dividing the shard's extent
    /// after `transposes`.
    pub chunk_shape: Vec<u64>,
    /// How the bytes of one inner chunk become its elements; shards may hold shards.
    pub codecs: ArrayCodecs,
    /// How the index is stored, in encoding order: a `bytes` codec with an order, then only codecs that add a fixed
    /// number of bytes.
    pub index_codecs: Vec<Codec>,
    /// Which end of the shard holds the index.
    pub index_location: IndexLocation,
    /// Array-to-array codecs ahead of the sharding codec, in encoding order; usually none. Inner chunks lie in the
    /// transposed shard.
    pub transposes: Vec<Codec>,
    /// Bytes-to-bytes codecs behind the sharding codec, in encoding order; usually none. A shard with any can only be
    /// read whole.
    pub outer: Vec<Codec>,
}

impl Sharding {
    /// Elements of an inner chunk along each axis of the array: its shape as it was before `transposes`.
    pub(crate) fn inner_extents(&self) -> Result<Vec<u64>, Error> {
        let mut frame: Vec<usize> = (0..self.chunk_shape.len()).collect();
        for codec in &self.transposes {
            frame = transposed(codec, &frame, "codecs")?;
        }
        let mut extents: Vec<(usize, u64)> =
            frame.into_iter().zip(self.chunk_shape.iter().copied()).collect();
        extents.sort_unstable();
        Ok(extents.into_iter().map(|(_, extent)| extent).collect())
    }
}

/// Parses the codecs `entries`, whose entry at `position` is `sharding_indexed`, of shards of `chunk_shape`.
pub(super) fn parse(
    entries: &[Value],
    position: usize,
    field: &str,
    chunk_shape: &[u64],
    data_type: &DataType,
    depth: usize,
) -> Result<Sharding, Error> {
    if SHARDING_DEPTH_MAX <= depth {
        return Err(Error::unsupported(format!("shards nested more than {SHARDING_DEPTH_MAX} deep")));
    }
    let parse = |entries: &[Value], wanted| stage_codecs(entries, wanted, field);
    let transposes = parse(&entries[..position], CodecClass::ArrayToArray)?;
    let outer = parse(&entries[position + 1..], CodecClass::BytesToBytes)?;
    let mut shard_shape = chunk_shape.to_vec();
    for codec in &transposes {
        if !is_transpose(codec) && !codec.is_elementwise() {
            return Err(Error::unsupported(format!("codec `{}` ahead of `sharding_indexed`", codec.name())));
        }
        shard_shape = transposed(codec, &shard_shape, field)?;
    }
    let (_, configuration) = named(&entries[position], field)?;
    let configuration = configuration.ok_or_else(|| {
        Error::invalid(format!(
            "wanted `sharding_indexed` with a `configuration`, found {}",
            json::brief(&entries[position])
        ))
    })?;
    let mut sharding = parse_configuration(configuration, &shard_shape, data_type, depth)?;
    (sharding.transposes, sharding.outer) = (transposes, outer);
    Ok(sharding)
}

/// The place of the one `sharding_indexed` among `entries`, if there is one.
pub(super) fn position(entries: &[Value], field: &str) -> Result<Option<usize>, Error> {
    let mut found = None;
    for (position, entry) in entries.iter().enumerate() {
        if named(entry, field)?.0 == "sharding_indexed" && found.replace(position).is_some() {
            return Err(Error::invalid(format!("wanted one array-to-bytes codec in `{field}`, found two")));
        }
    }
    Ok(found)
}

fn parse_configuration(
    configuration: &Map<String, Value>,
    shard_shape: &[u64],
    data_type: &DataType,
    depth: usize,
) -> Result<Sharding, Error> {
    let field = "sharding_indexed chunk_shape";
    let value = required(configuration, "chunk_shape")?;
    let chunk_shape = chunk_extents(value, field, shard_shape.len())?;
    let divides = |(outer, inner): (&u64, &u64)| outer.is_multiple_of(*inner);
    if !shard_shape.iter().zip(&chunk_shape).all(divides) {
        return Err(wrong(field, &format!("a divisor of the shard's shape {shard_shape:?}"), value));
    }
    let chunk_count = element_count(shard_shape, "chunk_shape")? / element_count(&chunk_shape, field)?.max(1);
    if chunk_count.checked_mul(INDEX_ENTRY_BYTES).is_none() {
        return Err(Error::invalid(format!(
            "wanted a shard index below 2^64 bytes, found {chunk_count} inner chunks"
        )));
    }
    let codecs = required(configuration, "codecs")?;
    let codecs = parse_level(codecs, "sharding_indexed codecs", &chunk_shape, data_type, depth + 1)?;
    let index_codecs = parse_index_codecs(required(configuration, "index_codecs")?)?;
    let index_location = match configuration.get("index_location") {
        None => IndexLocation::End,
        Some(Value::String(text)) if text == "end" => IndexLocation::End,
        Some(Value::String(text)) if text == "start" => IndexLocation::Start,
        Some(other) => return Err(wrong("index_location", "\"start\" or \"end\"", other)),
    };
    Ok(Sharding {
        chunk_shape,
        codecs,
        index_codecs,
        index_location,
        transposes: Vec::new(),
        outer: Vec::new(),
    })
}

/// An offset and a length, 8 bytes each.
const INDEX_ENTRY_BYTES: u64 = 16;

/// Index codecs must keep the size of an index known ahead: reads find it by that size.
fn parse_index_codecs(value: &Value) -> Result<Vec<Codec>, Error> {
    let field = "index_codecs";
    let entries = value.as_array().ok_or_else(|| wrong(field, "an array of codecs", value))?;
    let chain = entries.iter().map(|entry| codec_v3(entry, field)).collect::<Result<Vec<_>, Error>>()?;
    for (codec, entry) in chain.iter().zip(entries) {
        let is_fixed_size = match codec.class() {
            CodecClass::ArrayToArray => false,
            CodecClass::ArrayToBytes => true,
            CodecClass::BytesToBytes => is_checksum(codec),
        };
        if !is_fixed_size {
            let name = named(entry, field)?.0;
            return Err(Error::unsupported(format!("codec `{}` in `index_codecs`", json::cut(name))));
        }
    }
    // The index is an array of unsigned 64-bit integers with one dimension more than the shard.
    check_chain(&chain, 0, &DataType::UInt64, field)?;
    Ok(chain)
}

/// The codecs of `entries`, all of which must be of the stage `wanted`.
fn stage_codecs(entries: &[Value], wanted: CodecClass, field: &str) -> Result<Vec<Codec>, Error> {
    let parse = |entry: &Value| {
        let codec = codec_v3(entry, field)?;
        let name = named(entry, field)?.0;
        match (codec.class() == wanted, wanted) {
            (true, _) => Ok(codec),
            (false, CodecClass::ArrayToArray) => Err(Error::invalid(format!(
                "wanted array-to-array codecs ahead of `sharding_indexed` in `{field}`, found `{name}`"
            ))),
            (false, _) => Err(Error::invalid(format!(
                "wanted bytes-to-bytes codecs behind `sharding_indexed` in `{field}`, found `{name}`"
            ))),
        }
    };
    entries.iter().map(parse).collect()
}
