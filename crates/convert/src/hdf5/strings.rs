//! Strings of any length, which lie in heaps all over the file: held in the references themselves.

use hdf5_reader::Dataset;
use serde_json::{Value, json};

/// Bytes of the strings of one array, and of their lengths, at most.
const BYTES_MAX: usize = 64 << 20;

/// The one chunk of an array of strings, as numcodecs' `vlen-utf8` writes it: their number and each behind its length, in 32
/// little-endian bits.
///
/// # Errors
///
/// What is wrong with them, or that they are too many.
pub(super) fn chunk(dataset: &Dataset) -> Result<Vec<u8>, String> {
    let count = dataset.num_elements().map_err(|error| error.to_string())?;
    let is_few = usize::try_from(count).is_ok_and(|count| count <= BYTES_MAX / 4);
    let count = u32::try_from(count).ok().filter(|_| is_few).ok_or_else(|| format!("{count} strings"))?;
    let strings = dataset.read_strings().map_err(|error| error.to_string())?;
    let mut chunk = count.to_le_bytes().to_vec();
    for string in strings {
        let len = u32::try_from(string.len()).map_err(|_| "a string of over 4 GiB")?;
        if BYTES_MAX < chunk.len() + string.len() {
            return Err(format!("strings of over {BYTES_MAX} bytes"));
        }
        chunk.extend_from_slice(&len.to_le_bytes());
        chunk.extend_from_slice(string.as_bytes());
    }
    Ok(chunk)
}

/// The codecs of such a chunk.
pub(super) fn codecs() -> Vec<Value> {
    vec![json!({"id": "vlen-utf8"})]
}
