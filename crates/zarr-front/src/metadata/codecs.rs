//! The codecs of an array: a plain chain, or shards with chains inside.

use serde_json::{Map, Value};
use swath_codecs::{ByteOrder, BytesCodec, Codec, CodecClass, TransposeOrder};

use super::fields::{named, wrong};
use super::sharding::{self, Sharding};
use crate::{DataType, Error};

/// How the bytes of a stored object become the elements of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayCodecs {
    /// One chunk an object. In encoding order, as metadata lists them: array-to-array codecs, exactly one array-to-bytes
    /// codec, then bytes-to-bytes codecs. Decoding runs from the last to the first.
    Chain(Vec<Codec>),
    /// A shard an object: many inner chunks and an index.
    Sharding(Box<Sharding>),
}

/// Parses the `codecs` of a Zarr v3 array whose chunks (or, in a shard, inner chunks) have `chunk_shape`.
///
/// Source: Zarr v3 core specification, "Codecs".
pub(crate) fn parse_v3(
    value: &Value,
    chunk_shape: &[u64],
    data_type: &DataType,
) -> Result<ArrayCodecs, Error> {
    parse_level(value, "codecs", chunk_shape, data_type, 0)
}

/// The same for the codecs at one `depth` of shards in shards, in `field`.
pub(super) fn parse_level(
    value: &Value,
    field: &str,
    chunk_shape: &[u64],
    data_type: &DataType,
    depth: usize,
) -> Result<ArrayCodecs, Error> {
    let entries = value.as_array().ok_or_else(|| wrong(field, "an array of codecs", value))?;
    if let Some(position) = sharding::position(entries, field)? {
        let sharding = sharding::parse(entries, position, field, chunk_shape, data_type, depth)?;
        return Ok(ArrayCodecs::Sharding(Box::new(sharding)));
    }
    let chain = entries.iter().map(|entry| codec_v3(entry, field)).collect::<Result<Vec<_>, Error>>()?;
    check_chain(&chain, chunk_shape.len(), data_type, field)?;
    Ok(ArrayCodecs::Chain(chain))
}

/// Parses the codecs of a Zarr v2 array: byte order, then filters, then the compressor, with a transpose for order F.
///
/// Source: Zarr v2 specification, "Metadata": `order`, `filters`, `compressor`.
pub(crate) fn parse_v2(
    dtype_order: ByteOrder,
    f_order: Option<usize>,
    filters: &[Value],
    compressor: Option<&Value>,
) -> Result<Vec<Codec>, Error> {
    let mut codecs =
        filters.iter().chain(compressor).map(Codec::from_v2).collect::<Result<Vec<Codec>, _>>()?;
    let mut chain = Vec::with_capacity(codecs.len() + 2);
    if let Some(rank) = f_order.filter(|rank| 1 < *rank) {
        let order: Vec<usize> = (0..rank).rev().collect();
        chain.push(named_codec("transpose", &serde_json::json!({ "order": order }))?);
    }
    if codecs.iter().all(|codec| codec.class() != CodecClass::ArrayToBytes) {
        // The last filter that states a type states how its elements are stored.
        let order = codecs.iter().rev().find_map(Codec::stored_order).unwrap_or(dtype_order);
        let ahead = codecs.iter().take_while(|codec| codec.class() == CodecClass::ArrayToArray).count();
        codecs.insert(ahead, Codec::Bytes(BytesCodec { order: Some(order) }));
    }
    chain.append(&mut codecs);
    Ok(chain)
}

/// Checks order and number of the stages of a chain over chunks of `rank` dimensions.
pub(crate) fn check_chain(
    chain: &[Codec],
    rank: usize,
    data_type: &DataType,
    field: &str,
) -> Result<(), Error> {
    let array_to_bytes = chain.iter().filter(|codec| codec.class() == CodecClass::ArrayToBytes).count();
    if array_to_bytes != 1 {
        return Err(Error::invalid(format!(
            "wanted one array-to-bytes codec (such as `bytes`) in `{field}`, found {array_to_bytes}"
        )));
    }
    if !chain.is_sorted_by_key(Codec::class) {
        return Err(Error::invalid(format!(
            "wanted `{field}` in the order array-to-array, array-to-bytes, bytes-to-bytes, found another"
        )));
    }
    let is_optional = matches!(data_type, DataType::Optional(_));
    for codec in chain.iter().filter(|codec| codec.class() == CodecClass::ArrayToBytes) {
        let is_variable = matches!(codec, Codec::Variable(_));
        let is_for_optional = matches!(codec, Codec::Optional(_));
        let stores_variable = data_type.is_variable_length() && !is_optional;
        if is_variable != stores_variable || is_for_optional != is_optional {
            return Err(Error::invalid(format!(
                "wanted a codec in `{field}` that stores elements of data type `{data_type}`, found `{}`",
                codec.name()
            )));
        }
    }
    // Behind another array-to-array codec, axes and elements may be others: compiling the chain checks those.
    let is_plain = |codec: &&Codec| codec.class() != CodecClass::ArrayToArray || is_transpose(codec);
    for codec in chain.iter().take_while(is_plain) {
        stored_axes(codec, rank, field)?;
        if needs_byte_order(codec) && data_type.needs_byte_order() {
            return Err(Error::invalid(format!(
                "wanted `endian` in codec `bytes` for data type `{data_type}`, found none"
            )));
        }
    }
    Ok(())
}

pub(super) fn codec_v3(entry: &Value, field: &str) -> Result<Codec, Error> {
    let (name, configuration) = named(entry, field)?;
    match configuration {
        Some(configuration) => named_codec(name, &Value::Object(configuration.clone())),
        None => named_codec(name, &Value::Object(Map::new())),
    }
}

fn named_codec(name: &str, configuration: &Value) -> Result<Codec, Error> {
    Ok(Codec::from_v3(name, configuration)?)
}

/// What chunks have along each axis (a length, say) after `codec`.
pub(crate) fn transposed<T: Copy>(codec: &Codec, shape: &[T], field: &str) -> Result<Vec<T>, Error> {
    let axes = stored_axes(codec, shape.len(), field)?;
    Ok(axes.iter().filter_map(|axis| shape.get(*axis).copied()).collect())
}

/// For each axis that `codec` stores, the axis of its input that it is.
fn stored_axes(codec: &Codec, rank: usize, field: &str) -> Result<Vec<usize>, Error> {
    let Codec::Transpose(transpose) = codec else {
        return Ok((0..rank).collect());
    };
    match &transpose.order {
        TransposeOrder::C => Ok((0..rank).collect()),
        TransposeOrder::F => Ok((0..rank).rev().collect()),
        TransposeOrder::Axes(axes) if axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis)) => {
            Ok(axes.clone())
        }
        TransposeOrder::Axes(axes) => Err(Error::invalid(format!(
            "wanted `order` of codec `transpose` in `{field}` to be a permutation of {rank} axes, found {axes:?}"
        ))),
    }
}

pub(crate) fn is_transpose(codec: &Codec) -> bool {
    matches!(codec, Codec::Transpose(_))
}

fn needs_byte_order(codec: &Codec) -> bool {
    matches!(codec, Codec::Bytes(bytes) if bytes.order.is_none())
}

pub(super) fn is_checksum(codec: &Codec) -> bool {
    matches!(codec, Codec::Checksum(_))
}
