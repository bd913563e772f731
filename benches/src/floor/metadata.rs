//! What the floor has to know of an array: its own small reading of Zarr v3 and v2 metadata.

use protocol::{Failure, Refused};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How an array lies in its folder.
pub(crate) struct Layout {
    pub(crate) folder: PathBuf,
    /// Elements along each axis.
    pub(crate) shape: Vec<u64>,
    /// Elements of a stored object along each axis.
    pub(crate) outer: Vec<u64>,
    /// Elements of what is decoded at once: an inner chunk, or the whole object where it is no shard.
    pub(crate) inner: Vec<u64>,
    pub(crate) item_bytes: usize,
    /// One element of what is not stored.
    pub(crate) fill: Vec<u8>,
    pub(crate) codec: Codec,
    pub(crate) sharding: Option<Sharding>,
    keys: Keys,
}

/// How a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Raw,
    Blosc,
    Zstd,
    /// numcodecs' framing: the decoded length in four bytes, then one block.
    Lz4,
}

/// Where a shard's index lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharding {
    pub(crate) at_end: bool,
    /// Bytes after the entries: a CRC32C, or nothing.
    pub(crate) checksum_bytes: u64,
}

struct Keys {
    prefix: &'static str,
    separator: String,
}

impl Layout {
    /// Reads the metadata of the array in `folder`.
    pub(crate) fn load(folder: &Path) -> Result<Layout, Failure> {
        match std::fs::read(folder.join("zarr.json")) {
            Ok(bytes) => from_v3(folder, &serde_json::from_slice(&bytes)?),
            Err(_) => {
                let path = folder.join(".zarray");
                let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                from_v2(folder, &serde_json::from_slice(&bytes)?)
            }
        }
    }

    /// The file of the object at these coordinates of the grid.
    pub(crate) fn path(&self, coordinates: &[u64]) -> PathBuf {
        let names: Vec<String> = coordinates.iter().map(u64::to_string).collect();
        self.folder.join(format!("{}{}", self.keys.prefix, names.join(&self.keys.separator)))
    }

    /// Decoded bytes of an inner chunk.
    pub(crate) fn inner_bytes(&self) -> usize {
        self.inner.iter().product::<u64>() as usize * self.item_bytes
    }
}

fn from_v3(folder: &Path, document: &Value) -> Result<Layout, Failure> {
    let grid = &document["chunk_grid"];
    wanted(grid["name"] == "regular", "a regular grid", grid)?;
    let outer = integers(&grid["configuration"]["chunk_shape"])?;
    let dtype = document["data_type"].as_str().unwrap_or_default();
    let item_bytes = item_bytes(dtype)?;
    let encoding = &document["chunk_key_encoding"];
    let separator = encoding["configuration"]["separator"].as_str();
    let keys = match encoding["name"].as_str() {
        Some("default") => Keys { prefix: "c/", separator: separator.unwrap_or("/").to_owned() },
        Some("v2") => Keys { prefix: "", separator: separator.unwrap_or(".").to_owned() },
        _ => return Err(refused("a known encoding of keys", encoding)),
    };
    let codecs = document["codecs"].as_array().map_or(&[][..], Vec::as_slice);
    let (inner, codec, sharding) = match codecs {
        [only] if only["name"] == "sharding_indexed" => {
            let configuration = &only["configuration"];
            let codecs = configuration["codecs"].as_array().map_or(&[][..], Vec::as_slice);
            (integers(&configuration["chunk_shape"])?, chain(codecs)?, Some(sharding(configuration)?))
        }
        codecs => (outer.clone(), chain(codecs)?, None),
    };
    Ok(Layout {
        folder: folder.to_owned(),
        shape: integers(&document["shape"])?,
        outer,
        inner,
        item_bytes,
        fill: fill(dtype, item_bytes, &document["fill_value"])?,
        codec,
        sharding,
        keys,
    })
}

fn sharding(configuration: &Value) -> Result<Sharding, Failure> {
    let codecs = &configuration["index_codecs"];
    let checksum_bytes = match codecs.as_array().map_or(&[][..], Vec::as_slice) {
        [bytes] if is_little_endian(bytes) => 0,
        [bytes, checksum] if is_little_endian(bytes) && checksum["name"] == "crc32c" => 4,
        _ => return Err(refused("an index of bytes and crc32c", codecs)),
    };
    Ok(Sharding { at_end: configuration["index_location"] != "start", checksum_bytes })
}

/// Bytes in little-endian order, then at most one codec that compresses them.
fn chain(codecs: &[Value]) -> Result<Codec, Failure> {
    let found = Value::from(codecs);
    match codecs {
        [bytes] if is_little_endian(bytes) => Ok(Codec::Raw),
        [bytes, codec] if is_little_endian(bytes) => {
            compressor(codec["name"].as_str()).ok_or_else(|| refused("bytes and blosc, zstd or lz4", &found))
        }
        _ => Err(refused("bytes and at most one codec", &found)),
    }
}

fn is_little_endian(codec: &Value) -> bool {
    codec["name"] == "bytes" && codec["configuration"]["endian"] != "big"
}

fn compressor(name: Option<&str>) -> Option<Codec> {
    match name? {
        "blosc" => Some(Codec::Blosc),
        "zstd" => Some(Codec::Zstd),
        "lz4" | "numcodecs.lz4" => Some(Codec::Lz4),
        _ => None,
    }
}

fn from_v2(folder: &Path, document: &Value) -> Result<Layout, Failure> {
    let outer = integers(&document["chunks"])?;
    wanted(document["order"] == "C", "C order", &document["order"])?;
    wanted(document["filters"].as_array().is_none_or(Vec::is_empty), "no filters", &document["filters"])?;
    let typestr = document["dtype"].as_str().unwrap_or_default();
    let dtype = match typestr.split_at_checked(2) {
        Some((kind, size)) if kind != "|b" && !kind.starts_with('>') => {
            let bits = size.parse::<u32>().unwrap_or(0) * 8;
            let name = match kind.as_bytes()[1] {
                b'i' => "int",
                b'u' => "uint",
                b'f' => "float",
                _ => return Err(refused("a number", &document["dtype"])),
            };
            format!("{name}{bits}")
        }
        Some(("|b", "1")) => "bool".to_owned(),
        _ => return Err(refused("little-endian numbers", &document["dtype"])),
    };
    let item_bytes = item_bytes(&dtype)?;
    let codec = match &document["compressor"] {
        Value::Null => Codec::Raw,
        found => compressor(found["id"].as_str()).ok_or_else(|| refused("blosc, zstd or lz4", found))?,
    };
    Ok(Layout {
        folder: folder.to_owned(),
        shape: integers(&document["shape"])?,
        inner: outer.clone(),
        outer,
        item_bytes,
        fill: fill(&dtype, item_bytes, &document["fill_value"])?,
        codec,
        sharding: None,
        keys: Keys {
            prefix: "",
            separator: document["dimension_separator"].as_str().unwrap_or(".").to_owned(),
        },
    })
}

fn item_bytes(dtype: &str) -> Result<usize, Failure> {
    let bits = match dtype.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()) {
        "" if dtype == "bool" => 8,
        "8" => 8,
        "16" => 16,
        "32" => 32,
        "64" => 64,
        _ => return Err(refused("a number of 8, 16, 32 or 64 bits", &Value::from(dtype))),
    };
    Ok(bits / 8)
}

/// The little-endian bytes of a fill value; `null` is zero, as zarr-python has it.
fn fill(dtype: &str, item_bytes: usize, value: &Value) -> Result<Vec<u8>, Failure> {
    let unknown = || refused("a fill value that is a number", value);
    if !dtype.starts_with("float") {
        let integer = match value {
            Value::Null => 0,
            Value::Bool(flag) => u64::from(*flag),
            value => value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned)).ok_or_else(unknown)?,
        };
        return Ok(integer.to_le_bytes()[..item_bytes].to_vec());
    }
    let float = match value {
        Value::Null => 0.0,
        Value::String(name) if name == "NaN" => f64::NAN,
        Value::String(name) if name == "Infinity" => f64::INFINITY,
        Value::String(name) if name == "-Infinity" => f64::NEG_INFINITY,
        value => value.as_f64().ok_or_else(unknown)?,
    };
    match item_bytes {
        4 => Ok((float as f32).to_le_bytes().to_vec()),
        8 => Ok(float.to_le_bytes().to_vec()),
        2 if float.to_bits() == 0 => Ok(vec![0; 2]),
        _ => Err(unknown()),
    }
}

fn integers(value: &Value) -> Result<Vec<u64>, Failure> {
    let numbers: Option<Vec<u64>> =
        value.as_array().and_then(|numbers| numbers.iter().map(Value::as_u64).collect());
    numbers.ok_or_else(|| refused("a list of lengths", value))
}

fn wanted(is_so: bool, wanted: &str, found: &Value) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(refused(wanted, found)) }
}

fn refused(wanted: &str, found: &Value) -> Failure {
    Refused(format!("the floor wants {wanted}, found {found}")).into()
}
