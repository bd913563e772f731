//! The array that a copy makes: what the source is, but for what the options say.

use super::missing_value::{self, FILL_VALUE};
use super::options::{CopyOptions, CopyShards};
use super::plan::{CopyPlan, Problem};
use super::target_codecs::{ChunkCodecs, target_codecs};
use super::variable::variable_bytes;
use crate::metadata::{ArrayCodecs, ZarrFormat};
use crate::raveling::cell_count;
use crate::region::Region;
use crate::store::Store;
use crate::{Array, ArrayBuilder, AxisKind, AxisSelection, Error, MemoryOrder, ResolvedAxis, Selection};
use serde_json::{Value, json};
use std::num::NonZeroI64;
use swath_codecs::ByteOrder;
use swath_ioengine::{Limits, MemoryMedium, storage_len};

/// What is copied, and what it becomes.
pub(super) struct Target {
    pub(super) builder: ArrayBuilder,
    /// The new array as it would be in an empty store.
    pub(super) model: Array,
    /// What of the source is copied, along each axis.
    axes: Vec<ResolvedAxis>,
}

/// Where xarray keeps the names of dimensions of v2 arrays.
const V2_NAMES: &str = "_ARRAY_DIMENSIONS";

impl Target {
    /// Checks what is wanted, without a look at any store.
    ///
    /// # Errors
    ///
    /// What cannot be made: `Invalid` for shapes that do not fit, `Unsupported` for codecs, data types and regions.
    pub(super) fn new(source: &Array, options: &CopyOptions<'_>) -> Result<Target, Error> {
        let named = |error: Error| error.with_object(&source.name());
        let axes = region_axes(source, options).map_err(named)?;
        let shape: Vec<u64> = axes.iter().map(|axis| axis.count).collect();
        let builder = builder(source, &shape, options).map_err(named)?;
        let model = builder
            .create(&Store::memory(&MemoryMedium::new()), "")
            .map_err(|error| error.about(&source.name()))?;
        Ok(Target { builder, model, axes })
    }

    /// The plan of the copy. Of an array whose elements have lengths of their own some chunks are read for it.
    ///
    /// # Errors
    ///
    /// `Invalid` where the memory is too little for one object; those of reading these chunks.
    pub(super) fn plan(&self, source: &Array, options: &CopyOptions<'_>) -> Result<CopyPlan, Error> {
        let element_bytes = match source.data_type().is_variable_length() {
            true => variable_bytes(source, &self.axes)?,
            false => storage_len(self.model.data_type().size_bytes()),
        };
        let decoded_bytes = |array: &Array| decoded_bytes(array, element_bytes);
        let origin: Vec<(u64, u64)> =
            self.axes.iter().map(|axis| (axis.start, axis.step.unsigned_abs())).collect();
        let verifies = options.verify == super::Verify::Yes;
        CopyPlan::new(&Problem {
            shape: self.model.shape(),
            element_bytes,
            origin: &origin,
            source_chunk: source.chunk_shape(),
            target_object: self.model.metadata().chunk_shape(),
            memory_bytes: options.memory_bytes,
            decoded_bytes: decoded_bytes(source).max(if verifies { decoded_bytes(&self.model) } else { 0 }),
            lanes: storage_len(Limits::default().lanes),
            more_boxes: u64::from(verifies),
        })
        .map_err(|error| error.with_object(&source.name()))
    }

    /// What of the source a box of the target is.
    pub(super) fn selection(&self, region: &Region) -> Result<Selection, Error> {
        let axes =
            self.axes.iter().zip(region.start.iter().zip(&region.shape)).map(|(axis, (start, count))| {
                let step = axis.step;
                let first = i64::try_from(axis.start)
                    .ok()?
                    .checked_add(i64::try_from(*start).ok()?.checked_mul(step)?)?;
                let stop = first.checked_add(i64::try_from(*count).ok()?.checked_mul(step)?)?;
                Some(AxisSelection::Slice {
                    start: Some(first),
                    stop: Some(stop),
                    step: NonZeroI64::new(step)?,
                })
            });
        let axes = axes.collect::<Option<Vec<_>>>();
        axes.map(Selection::new).ok_or_else(|| Error::invalid("an axis of more than 2^63 elements"))
    }
}

/// Bytes that a lane decodes a chunk into before its elements are put where they belong.
fn decoded_bytes(array: &Array, element_bytes: u64) -> u64 {
    let compiled = &array.inner.compiled;
    if compiled.variable.is_some() {
        return cell_count(&compiled.chunk_shape).unwrap_or(u64::MAX).saturating_mul(element_bytes);
    }
    if compiled.part_strides.is_some() { 0 } else { storage_len(compiled.chain.decoded_len()) }
}

/// What of the source is copied: all of it, or slices that go forwards.
fn region_axes(source: &Array, options: &CopyOptions<'_>) -> Result<Vec<ResolvedAxis>, Error> {
    let axes = match &options.region {
        Some(selection) => source.resolve(selection)?.axes,
        None => source.resolve(&Selection::all())?.axes,
    };
    match axes.iter().find(|axis| axis.kind == AxisKind::Dropped || axis.step < 0) {
        None => Ok(axes),
        Some(_) => Err(Error::unsupported(
            "a region with an index or a step backwards: slices keep the axes, such as 3:4",
        )),
    }
}

fn builder(source: &Array, shape: &[u64], options: &CopyOptions<'_>) -> Result<ArrayBuilder, Error> {
    let metadata = source.metadata();
    let zarr_format = options.zarr_format.unwrap_or(source.zarr_format());
    let chunks = match options.chunk_shape.as_ref().filter(|chunks| chunks.len() == shape.len()) {
        None => source.common_chunk_shape().unwrap_or_else(|| source.chunk_shape().to_vec()),
        Some(chunks) => {
            let whole = |(chunk, length): (&u64, &u64)| if *chunk == 0 { (*length).max(1) } else { *chunk };
            chunks.iter().zip(shape).map(whole).collect()
        }
    };
    let ChunkCodecs { filters, serializer, compressors } =
        target_codecs(source, &options.codecs, zarr_format)?;
    let mut builder = ArrayBuilder::new(shape, source.data_type().clone())
        .zarr_format(zarr_format)
        .chunk_shape(&chunks)
        .filters(filters)
        .compressors(compressors)
        .byte_order(byte_order(source))
        .attributes(attributes(source, zarr_format));
    if let Some(serializer) = serializer {
        builder = builder.serializer(serializer);
    }
    let is_null = metadata.document().get("fill_value").is_some_and(Value::is_null);
    let has_fill = !is_null && !missing_value::becomes_null(source, zarr_format);
    builder =
        if has_fill { builder.fill_value(metadata.fill_value().clone()) } else { builder.no_fill_value() };
    if zarr_format == ZarrFormat::V3 {
        if let Some(names) = metadata.dimension_names() {
            builder = builder.dimension_names(names.iter().cloned());
        }
        if let Some(shards) = shards(source, &chunks, options) {
            builder = builder.shard_shape(&shards);
        }
        if let ArrayCodecs::Sharding(sharding) = metadata.codecs() {
            builder = builder.index_location(sharding.index_location);
        }
    } else if metadata.document().get("order") == Some(&json!("F")) {
        builder = builder.order(MemoryOrder::F);
    }
    if zarr_format == source.zarr_format() {
        builder = builder.chunk_key_encoding(metadata.chunk_key_encoding().clone());
    }
    Ok(builder)
}

fn shards(source: &Array, chunks: &[u64], options: &CopyOptions<'_>) -> Option<Vec<u64>> {
    match &options.shards {
        CopyShards::None => None,
        CopyShards::Of(shards) if shards.len() == chunks.len() => {
            let shape = source.shape().iter().zip(chunks);
            // A whole axis of so many whole chunks.
            let whole = shape.map(|(length, chunk)| length.div_ceil(*chunk).max(1).saturating_mul(*chunk));
            Some(
                shards
                    .iter()
                    .zip(whole)
                    .map(|(shard, whole)| if *shard == 0 { whole } else { *shard })
                    .collect(),
            )
        }
        CopyShards::Keep | CopyShards::Of(_) => {
            let shards = source.shard_shape()?;
            let fits = shards.iter().zip(chunks).all(|(shard, chunk)| shard.is_multiple_of((*chunk).max(1)));
            fits.then(|| shards.to_vec())
        }
    }
}

/// The order of the bytes that the source's elements are stored in; a v3 array without an order of its own is little.
fn byte_order(source: &Array) -> ByteOrder {
    let document = source.metadata().document();
    let is_big = match source.zarr_format() {
        ZarrFormat::V2 => {
            document.get("dtype").and_then(Value::as_str).is_some_and(|name| name.starts_with('>'))
        }
        ZarrFormat::V3 => false,
    };
    if is_big { ByteOrder::Big } else { ByteOrder::Little }
}

/// The attributes: the names of dimensions are one of them in v2, and metadata in v3. With such names an array is one of xarray's,
/// which takes the fill value of v2 arrays for missing.
fn attributes(source: &Array, zarr_format: ZarrFormat) -> serde_json::Map<String, Value> {
    let mut attributes = source.metadata().attributes().clone();
    if source.zarr_format() == zarr_format {
        return attributes;
    }
    let names = source.metadata().dimension_names();
    match (zarr_format, names.map(|names| names.iter().cloned().collect::<Option<Vec<String>>>())) {
        (ZarrFormat::V3, Some(_)) => {
            attributes.shift_remove(V2_NAMES);
            if !attributes.contains_key(FILL_VALUE)
                && let Some(value) = missing_value::attribute(source)
            {
                attributes.insert(FILL_VALUE.to_owned(), value);
            }
        }
        (ZarrFormat::V2, Some(Some(names))) => {
            attributes.insert(V2_NAMES.to_owned(), json!(names));
        }
        _ => {}
    }
    attributes
}
