//! What chunks went through on their way into the file, as numcodecs' codecs.

use hdf5_reader::messages::filter_pipeline::FilterPipelineMessage;
use serde_json::{Value, json};

/// Codecs in the order in which they encode, which is HDF5's own: one for each filter, none for one that does nothing.
///
/// # Errors
///
/// The filter that there is no codec for.
pub(super) fn codecs(
    pipeline: &FilterPipelineMessage,
    element_bytes: u64,
) -> Result<Vec<Option<Value>>, String> {
    let mut codecs = Vec::new();
    for filter in &pipeline.filters {
        let setting = |number: usize| filter.client_data.get(number).copied();
        codecs.push(Some(match filter.id {
            1 => json!({"id": "zlib", "level": setting(0).unwrap_or(1).min(9)}),
            2 => {
                let bytes = setting(0).map_or(element_bytes, u64::from);
                // One byte each: nothing is moved.
                if bytes <= 1 {
                    codecs.push(None);
                    continue;
                }
                json!({"id": "shuffle", "elementsize": bytes})
            }
            3 => json!({"id": "fletcher32"}),
            // Its own blocks, with their lengths before them: what `imagecodecs` calls so.
            32004 => json!({"id": "imagecodecs_lz4h5"}),
            32001 => blosc(setting(4), setting(5), setting(6))?,
            32015 => json!({"id": "zstd", "level": setting(0).unwrap_or(3).min(22)}),
            id => {
                let name = filter.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
                return Err(format!("filter {id}{name}"));
            }
        }));
    }
    Ok(codecs)
}

/// Blosc 1, whose chunks say themselves how they are to be decoded.
fn blosc(level: Option<u32>, shuffle: Option<u32>, compressor: Option<u32>) -> Result<Value, String> {
    let number = compressor.unwrap_or(0);
    let name = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]
        .get(usize::try_from(number).unwrap_or(usize::MAX))
        .ok_or_else(|| format!("blosc with compressor {number}"))?;
    let (level, shuffle) = (level.unwrap_or(5).min(9), shuffle.unwrap_or(1).min(2));
    Ok(json!({"id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle, "blocksize": 0}))
}
