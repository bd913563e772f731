//! Stand-in for `swath_codecs` until its types land.
#![allow(missing_docs)]
use serde_json::Value;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub size_bytes: usize,
    pub swap_unit_bytes: usize,
}
#[derive(Clone, Debug, PartialEq)]
pub enum Codec {
    Bytes(Option<ByteOrder>),
    Transpose(Vec<usize>),
    Crc32c,
    Other(String),
}
impl Codec {
    pub fn from_v3(name: &str, configuration: &Value) -> Result<Self, crate::Error> {
        Ok(match name {
            "bytes" => Self::Bytes(match configuration["endian"].as_str() {
                Some("little") => Some(ByteOrder::Little),
                Some("big") => Some(ByteOrder::Big),
                _ => None,
            }),
            "transpose" => Self::Transpose(
                configuration["order"]
                    .as_array()
                    .map(|order| {
                        order.iter().filter_map(|axis| usize::try_from(axis.as_u64()?).ok()).collect()
                    })
                    .unwrap_or_default(),
            ),
            "crc32c" => Self::Crc32c,
            "gzip" | "zstd" | "blosc" | "lz4" | "numcodecs.zlib" => Self::Other(name.to_owned()),
            _ => return Err(crate::Error::unsupported(format!("codec `{name}`"))),
        })
    }
    pub fn from_v2(entry: &Value) -> Result<Self, crate::Error> {
        match entry["id"].as_str() {
            Some(id @ ("gzip" | "zlib" | "zstd" | "blosc" | "lz4")) => Ok(Self::Other(id.to_owned())),
            Some(id) => Err(crate::Error::unsupported(format!("codec `{id}`"))),
            None => Err(crate::Error::invalid("codec without `id`")),
        }
    }
}
