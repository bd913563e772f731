//! The codecs of a copy: those of the source as its metadata lists them, spelled as the target's format does.

use super::options::CopyCodecs;
use crate::metadata::ZarrFormat;
use crate::{Array, Error};
use serde_json::{Map, Value, json};
use swath_codecs::{Codec, CodecClass};

/// Codecs as a builder takes them, in the spelling of one format.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChunkCodecs {
    pub(super) filters: Vec<Value>,
    /// Only in v3, and only where the source has one.
    pub(super) serializer: Option<Value>,
    pub(super) compressors: Vec<Value>,
}

/// The codecs of the target.
///
/// # Errors
///
/// `Unsupported` of a codec that the target's format has no name for.
pub(super) fn target_codecs(
    source: &Array,
    wanted: &CopyCodecs,
    zarr_format: ZarrFormat,
) -> Result<ChunkCodecs, Error> {
    let element_bytes = source.data_type().size_bytes();
    let compressors = match wanted {
        CopyCodecs::Keep => return kept(source, zarr_format),
        CopyCodecs::Listed(listed) => listed.clone(),
        CopyCodecs::Named(name, level) => named(name, *level, zarr_format, element_bytes),
    };
    Ok(ChunkCodecs { compressors, ..ChunkCodecs::default() })
}

/// One compressor by its name and level.
fn named(name: &str, level: Option<i64>, zarr_format: ZarrFormat, element_bytes: usize) -> Vec<Value> {
    let mut configuration = Map::new();
    match name {
        "none" => return Vec::new(),
        "blosc" => {
            let wanted = json!({"cname": "zstd", "clevel": level.unwrap_or(5), "shuffle": 1, "blocksize": 0});
            configuration.extend(wanted.as_object().cloned().unwrap_or_default());
        }
        "zstd" => {
            configuration.insert("level".to_owned(), json!(level.unwrap_or(0)));
            configuration.insert("checksum".to_owned(), json!(false));
        }
        "gzip" | "zlib" | "bz2" => {
            configuration.insert("level".to_owned(), json!(level.unwrap_or(5)));
        }
        "lz4" => {
            configuration.insert("acceleration".to_owned(), json!(level.unwrap_or(1)));
        }
        _ => configuration.extend(level.map(|level| ("level".to_owned(), json!(level)))),
    }
    match zarr_format {
        ZarrFormat::V2 => {
            configuration.insert("id".to_owned(), json!(name));
            configuration.shift_remove("checksum");
            vec![Value::Object(configuration)]
        }
        ZarrFormat::V3 => vec![to_v3(name, configuration, element_bytes)],
    }
}

fn kept(source: &Array, zarr_format: ZarrFormat) -> Result<ChunkCodecs, Error> {
    let document = source.metadata().document();
    let element_bytes = source.data_type().size_bytes();
    match (source.zarr_format(), zarr_format) {
        (ZarrFormat::V2, target) => {
            let filters = document.get("filters").and_then(Value::as_array).cloned().unwrap_or_default();
            let compressor = document.get("compressor").filter(|compressor| !compressor.is_null()).cloned();
            let own =
                ChunkCodecs { filters, serializer: None, compressors: compressor.into_iter().collect() };
            match target {
                ZarrFormat::V2 => Ok(own),
                ZarrFormat::V3 => from_v2(own, element_bytes),
            }
        }
        (ZarrFormat::V3, target) => {
            let listed = document.get("codecs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let own = parts(innermost(listed))?;
            match target {
                ZarrFormat::V3 => Ok(own),
                ZarrFormat::V2 => from_v3(own),
            }
        }
    }
}

/// The codecs of the chunks within all shards; transposes ahead of shards say only how these are numbered.
fn innermost(codecs: &[Value]) -> &[Value] {
    let shards = codecs.iter().find(|codec| name_of(codec) == "sharding_indexed");
    let inner = shards.and_then(|shards| shards.get("configuration")?.get("codecs")?.as_array());
    inner.map_or(codecs, |inner| innermost(inner))
}

fn name_of(codec: &Value) -> &str {
    codec.as_str().or_else(|| codec.get("name").and_then(Value::as_str)).unwrap_or_default()
}

/// Codecs by what they stand between.
fn parts(codecs: &[Value]) -> Result<ChunkCodecs, Error> {
    let mut parts = ChunkCodecs::default();
    for codec in codecs {
        let configuration = codec.get("configuration").unwrap_or(&Value::Null);
        match Codec::from_v3(name_of(codec), configuration)?.class() {
            CodecClass::ArrayToArray => parts.filters.push(codec.clone()),
            CodecClass::ArrayToBytes => parts.serializer = Some(codec.clone()),
            CodecClass::BytesToBytes => parts.compressors.push(codec.clone()),
        }
    }
    Ok(parts)
}

/// The codecs of a v2 array in v3: filters that make bytes of bytes go before the compressor.
fn from_v2(own: ChunkCodecs, element_bytes: usize) -> Result<ChunkCodecs, Error> {
    let mut found = ChunkCodecs::default();
    for codec in own.filters.into_iter().chain(own.compressors) {
        // What makes bytes of objects is no filter in v3, and the builder names it.
        if matches!(codec.get("id").and_then(Value::as_str), Some("vlen-utf8" | "vlen-bytes" | "json2")) {
            continue;
        }
        let class = Codec::from_v2(&codec)?.class();
        let mut configuration = codec.as_object().cloned().unwrap_or_default();
        let id = configuration.shift_remove("id").unwrap_or_default();
        let codec = to_v3(id.as_str().unwrap_or_default(), configuration, element_bytes);
        match class {
            CodecClass::ArrayToArray if found.compressors.is_empty() => found.filters.push(codec),
            CodecClass::BytesToBytes => found.compressors.push(codec),
            _ => return Err(unsupported(&codec)),
        }
    }
    Ok(found)
}

/// numcodecs' name and fields in v3: its own name where v3 has one, else `numcodecs.` before it.
fn to_v3(id: &str, mut configuration: Map<String, Value>, element_bytes: usize) -> Value {
    match id {
        "blosc" => {
            let shuffle = match configuration.get("shuffle").and_then(Value::as_i64) {
                Some(0) => "noshuffle",
                Some(2) => "bitshuffle",
                // Blosc chooses by the size of an element.
                Some(-1) if element_bytes == 1 => "bitshuffle",
                _ => "shuffle",
            };
            configuration.insert("shuffle".to_owned(), json!(shuffle));
            configuration.insert("typesize".to_owned(), json!(element_bytes));
            configuration.entry("blocksize").or_insert(json!(0));
            json!({"name": id, "configuration": configuration})
        }
        "zstd" => {
            configuration.entry("level").or_insert(json!(0));
            configuration.entry("checksum").or_insert(json!(false));
            json!({"name": id, "configuration": configuration})
        }
        "gzip" => {
            configuration.entry("level").or_insert(json!(1));
            json!({"name": id, "configuration": configuration})
        }
        "crc32c" => json!({"name": id}),
        _ => json!({"name": format!("numcodecs.{id}"), "configuration": configuration}),
    }
}

/// The codecs of a v3 array in v2, which has one compressor: checksums behind it are left out.
fn from_v3(own: ChunkCodecs) -> Result<ChunkCodecs, Error> {
    let to_v2 = |codec: &Value| {
        let name = name_of(codec);
        let id = name.strip_prefix("numcodecs.").unwrap_or(name);
        let mut configuration =
            codec.get("configuration").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(shuffle) = configuration.get_mut("shuffle").filter(|_| id == "blosc") {
            *shuffle = match shuffle.as_str() {
                Some("noshuffle") => json!(0),
                Some("bitshuffle") => json!(2),
                _ => json!(1),
            };
        }
        if id == "blosc" {
            configuration.shift_remove("typesize");
        }
        configuration.insert("id".to_owned(), json!(id));
        let codec = Value::Object(configuration);
        Codec::from_v2(&codec).map(|_| codec.clone()).map_err(|_| unsupported(&codec))
    };
    let mut compressors = Vec::new();
    for codec in &own.compressors {
        if !matches!(name_of(codec), "crc32c" | "numcodecs.crc32c" | "numcodecs.crc32" | "numcodecs.adler32")
        {
            compressors.push(to_v2(codec)?);
        }
    }
    // The transpose of F order is the one filter of v3 that v2 spells otherwise.
    if let Some(codec) = own.filters.iter().find(|codec| name_of(codec) == "transpose") {
        return Err(unsupported(codec));
    }
    let filters = own.filters.iter().map(to_v2).collect::<Result<_, _>>()?;
    Ok(ChunkCodecs { filters, serializer: None, compressors })
}

fn unsupported(codec: &Value) -> Error {
    Error::unsupported(format!("a copy in the other format with the codec {codec}: name other codecs for it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_of_v2_become_those_of_v3_and_back() {
        let own = ChunkCodecs {
            filters: vec![json!({"id": "delta", "dtype": "<i4"})],
            serializer: None,
            compressors: vec![
                json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
            ],
        };
        let found = from_v2(own.clone(), 4).unwrap();
        assert_eq!(found.filters, [json!({"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}})]);
        let blosc = json!({"name": "blosc", "configuration":
            {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0, "typesize": 4}});
        assert_eq!(found.compressors, [blosc]);
        assert_eq!(from_v3(found).unwrap(), own);
        let zlib =
            ChunkCodecs { compressors: vec![json!({"id": "zlib", "level": 3})], ..ChunkCodecs::default() };
        let found = from_v2(zlib, 1).unwrap();
        assert_eq!(found.compressors, [json!({"name": "numcodecs.zlib", "configuration": {"level": 3}})]);
    }

    #[test]
    fn codecs_are_taken_out_of_nested_shards() {
        let inner =
            json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}, "crc32c"]);
        let shard =
            |codecs: &Value| json!([{"name": "sharding_indexed", "configuration": {"codecs": codecs}}]);
        let nested = shard(&shard(&inner));
        let found = parts(innermost(nested.as_array().unwrap())).unwrap();
        assert_eq!((found.filters.len(), found.serializer), (1, Some(json!({"name": "bytes"}))));
        assert_eq!(found.compressors, [json!("crc32c")]);
    }
}
