//! What metadata says of a blosc codec.

use std::ffi::CStr;

use serde_json::{Value, json};

use super::NAME;
use crate::configuration::Configuration;
use crate::error::Error;

/// What blosc compresses its blocks with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BloscCompressor {
    /// blosc's own.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4, slower to compress and smaller.
    Lz4Hc,
    /// Snappy: decodes only.
    Snappy,
    /// DEFLATE.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl BloscCompressor {
    const ALL: [Self; 6] = [Self::BloscLz, Self::Lz4, Self::Lz4Hc, Self::Snappy, Self::Zlib, Self::Zstd];

    /// The name in metadata, `cname`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BloscLz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Lz4Hc => "lz4hc",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// The name that c-blosc, as it is built here, compresses by.
    pub(super) fn library_name(self) -> Result<&'static CStr, Error> {
        match self {
            Self::BloscLz => Ok(c"blosclz"),
            Self::Lz4 => Ok(c"lz4"),
            Self::Lz4Hc => Ok(c"lz4hc"),
            Self::Zlib => Ok(c"zlib"),
            Self::Zstd => Ok(c"zstd"),
            Self::Snappy => Err(Error::unsupported(
                NAME,
                "wanted to compress with blosclz, lz4, lz4hc, zlib or zstd, found snappy, which is only read",
            )),
        }
    }
}

/// How blosc arranges the bytes of a block before it compresses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BloscShuffle {
    /// Not at all.
    None,
    /// First bytes of all elements first, then the second, and so on.
    Byte,
    /// First bits of all elements first, then the second, and so on.
    Bit,
    /// numcodecs' -1: `Bit` for elements of one byte, else `Byte`.
    Auto,
}

impl BloscShuffle {
    const WANTED: &str = "\"noshuffle\", \"shuffle\", \"bitshuffle\" or -1 to 2";

    /// The name in v3 metadata; `"autoshuffle"` is not one, but for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "noshuffle",
            Self::Byte => "shuffle",
            Self::Bit => "bitshuffle",
            Self::Auto => "autoshuffle",
        }
    }

    /// c-blosc's number for elements of such a size.
    pub(super) fn number_for(self, element_bytes: usize) -> i32 {
        match self {
            Self::None => 0,
            Self::Byte => 1,
            Self::Bit => 2,
            Self::Auto if element_bytes == 1 => 2,
            Self::Auto => 1,
        }
    }
}

/// Shuffles and compresses in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloscCodec {
    /// What blocks are compressed with.
    pub compressor: BloscCompressor,
    /// How the bytes of a block are arranged.
    pub shuffle: BloscShuffle,
    /// 0 (stored) to 9 (smallest).
    pub level: i32,
    /// Bytes of a block; 0 lets the library choose.
    pub block_bytes: usize,
    /// Bytes of what is shuffled, `typesize`; `None` stands for the chunk's element.
    pub element_bytes: Option<usize>,
}

impl Default for BloscCodec {
    /// What numcodecs takes when nothing is asked for: LZ4, byte shuffle, level 5.
    fn default() -> Self {
        Self {
            compressor: BloscCompressor::Lz4,
            shuffle: BloscShuffle::Byte,
            level: 5,
            block_bytes: 0,
            element_bytes: None,
        }
    }
}

impl BloscCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let known = ["id", "cname", "clevel", "shuffle", "blocksize", "typesize"];
        let fields = Configuration::new(NAME, configuration, &known)?;
        let default = Self::default();
        let size = |field: &str, min: i64| -> Result<Option<usize>, Error> {
            let size = fields.integer(field, min, i32::MAX.into())?;
            Ok(size.and_then(|size| usize::try_from(size).ok()))
        };
        Ok(Self {
            compressor: compressor_from(&fields)?.unwrap_or(default.compressor),
            shuffle: shuffle_from(&fields)?.unwrap_or(default.shuffle),
            level: fields
                .integer("clevel", 0, 9)?
                .and_then(|level| i32::try_from(level).ok())
                .unwrap_or(default.level),
            block_bytes: size("blocksize", 0)?.unwrap_or(default.block_bytes),
            element_bytes: size("typesize", 1)?,
        })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut value = json!({
            "cname": self.compressor.name(),
            "clevel": self.level,
            "shuffle": self.shuffle.name(),
            "blocksize": self.block_bytes,
        });
        if self.shuffle == BloscShuffle::Auto {
            // v3 has no name for it; numcodecs' number is read by zarr-python's numcodecs codecs.
            value["shuffle"] = json!(-1);
        }
        if let Some(element_bytes) = self.element_bytes {
            value["typesize"] = json!(element_bytes);
        }
        value
    }

    pub(crate) fn describe(self) -> String {
        format!("blosc({}, {}, level {})", self.compressor.name(), self.shuffle.name(), self.level)
    }
}

fn compressor_from(fields: &Configuration<'_>) -> Result<Option<BloscCompressor>, Error> {
    let wanted = "blosclz, lz4, lz4hc, snappy, zlib or zstd";
    let Some(value) = fields.get("cname") else { return Ok(None) };
    match BloscCompressor::ALL.into_iter().find(|compressor| value == compressor.name()) {
        Some(compressor) => Ok(Some(compressor)),
        None => Err(fields.wrong("cname", wanted, value)),
    }
}

fn shuffle_from(fields: &Configuration<'_>) -> Result<Option<BloscShuffle>, Error> {
    let Some(value) = fields.get("shuffle") else { return Ok(None) };
    let shuffle = match (value.as_str(), value.as_i64()) {
        (Some("noshuffle"), _) | (_, Some(0)) => BloscShuffle::None,
        (Some("shuffle"), _) | (_, Some(1)) => BloscShuffle::Byte,
        (Some("bitshuffle"), _) | (_, Some(2)) => BloscShuffle::Bit,
        (_, Some(-1)) => BloscShuffle::Auto,
        _ => return Err(fields.wrong("shuffle", BloscShuffle::WANTED, value)),
    };
    Ok(Some(shuffle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dialects_are_read() {
        let v3 =
            json!({"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0});
        let codec = BloscCodec::from_json(&v3).unwrap();
        assert_eq!(codec.to_json(), v3);
        assert_eq!(codec.describe(), "blosc(zstd, bitshuffle, level 3)");
        let v2 = json!({"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0});
        assert_eq!(BloscCodec::from_json(&v2).unwrap(), BloscCodec { element_bytes: None, ..codec });
        assert_eq!(BloscCodec::from_json(&Value::Null).unwrap(), BloscCodec::default());
        let auto = BloscCodec::from_json(&json!({"shuffle": -1})).unwrap();
        assert_eq!((auto.shuffle.number_for(1), auto.shuffle.number_for(2)), (2, 1));
        assert_eq!(BloscCodec::from_json(&auto.to_json()).unwrap(), auto);
    }

    #[test]
    fn bad_fields_are_named() {
        for (field, value) in [
            ("cname", json!("lz5")),
            ("clevel", json!(10)),
            ("shuffle", json!("byteshuffle")),
            ("shuffle", json!(3)),
            ("typesize", json!(0)),
            ("blocksize", json!(-1)),
        ] {
            let error = BloscCodec::from_json(&json!({ field: value })).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}
