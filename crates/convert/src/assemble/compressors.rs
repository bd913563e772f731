//! Compressors by the words that people have for them.

use crate::{Error, ErrorKind};
use serde_json::{Value, json};

/// Compressors of 32-bit floats as Zarr v3's metadata lists them, from `NAME` or `NAME:LEVEL`: `zstd`, `gzip`, `blosc` (zstd behind a shuffle),
/// or `none`, which is an empty list.
///
/// # Errors
///
/// `Invalid` for other words, and for a level that is no number.
pub fn compressors(text: &str) -> Result<Vec<Value>, Error> {
    let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
    let invalid = |message: String| Error::new(ErrorKind::Invalid, message);
    let level = level.map(|level| {
        level.parse::<i32>().map_err(|_| invalid(format!("wanted a level of a codec, found {level:?}")))
    });
    let level = level.transpose()?;
    let configuration = match name {
        "none" => return Ok(Vec::new()),
        "zstd" => json!({ "level": level.unwrap_or(3), "checksum": false }),
        "gzip" => json!({ "level": level.unwrap_or(6) }),
        "blosc" => json!({
            "cname": "zstd",
            "clevel": level.unwrap_or(5),
            "shuffle": "shuffle",
            "typesize": 4,
            "blocksize": 0,
        }),
        _ => return Err(invalid(format!("wanted a codec zstd, gzip, blosc or none, found {name:?}"))),
    };
    Ok(vec![json!({ "name": name, "configuration": configuration })])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressors_are_named_or_refused() {
        assert_eq!(compressors("gzip:9").unwrap()[0]["configuration"]["level"], 9);
        assert_eq!(compressors("zstd").unwrap()[0]["configuration"]["level"], 3);
        assert!(compressors("none").unwrap().is_empty());
        for text in ["zstd:fast", "lzma", ""] {
            assert_eq!(compressors(text).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
