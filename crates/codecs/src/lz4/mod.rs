//! The `lz4` codec, as numcodecs' `lz4`: the decoded length in four little-endian bytes, then one LZ4 block.

mod ffi;
mod hdf5;

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
pub(crate) use ffi::decompress as decompress_block;
pub use hdf5::Lz4H5Codec;

const NAME: &str = "lz4";
/// Bytes of the decoded length before the block.
const HEADER_BYTES: usize = 4;
/// LZ4_MAX_INPUT_SIZE of lz4.h.
pub(crate) const DECODED_BYTES_MAX: usize = 0x7E00_0000;

/// Compresses by LZ4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lz4Codec {
    /// 1 (smallest) and up (faster); smaller numbers stand for 1, as in the library.
    pub acceleration: i32,
}

impl Lz4Codec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "acceleration"])?;
        Ok(Self { acceleration: fields.integer_clamped("acceleration", 1, i32::MAX)?.unwrap_or(1) })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"acceleration": self.acceleration})
    }

    pub(crate) fn describe(self) -> String {
        format!("lz4(acceleration {})", self.acceleration)
    }

    pub(crate) fn decode(source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        let Some((header, block)) = source.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::corrupt(
                NAME,
                format!("wanted at least {HEADER_BYTES} stored bytes, found {}", source.len()),
            ));
        };
        let stated = u32::from_le_bytes(*header);
        let decoded_len = usize::try_from(stated).unwrap_or(usize::MAX);
        wanted.check(NAME, decoded_len)?;
        // `check` has bounded the length by the target's.
        match decompress_block(block, &mut target[..decoded_len]) {
            Some(written) if written == decoded_len => Ok(written),
            Some(written) => Err(Error::wrong_length(NAME, Wanted::Exactly(decoded_len), written as u64)),
            None => Err(Error::corrupt(
                NAME,
                format!(
                    "wanted a sound block of {decoded_len} decoded bytes, found none in {} bytes",
                    block.len()
                ),
            )),
        }
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let too_long = || {
            Error::invalid(
                NAME,
                format!("wanted at most {DECODED_BYTES_MAX} bytes to compress, found {}", source.len()),
            )
        };
        let bound = ffi::bound(source.len()).ok_or_else(too_long)?;
        let decoded_len = u32::try_from(source.len()).map_err(|_| too_long())?;
        target.clear();
        target.extend_from_slice(&decoded_len.to_le_bytes());
        target.resize(HEADER_BYTES + bound, 0);
        match ffi::compress(source, &mut target[HEADER_BYTES..], self.acceleration) {
            Some(written) => {
                target.truncate(HEADER_BYTES + written);
                Ok(())
            }
            None => Err(Error::internal(NAME, "wanted room for liblz4's own bound, found too little")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn round_trips() {
        for source in [&b""[..], b"a", &b"abcabc".repeat(500)] {
            for acceleration in [1, 10, i32::MAX] {
                let mut stored = Vec::new();
                Lz4Codec { acceleration }.encode(source, &mut stored).unwrap();
                let mut target = vec![0; source.len()];
                Lz4Codec::decode(&stored, &mut target, Wanted::Exactly(source.len())).unwrap();
                assert_eq!(target, source);
            }
        }
    }

    #[test]
    fn the_stated_length_must_be_the_promised_one() {
        let mut stored = Vec::new();
        Lz4Codec { acceleration: 1 }.encode(&[7; 100], &mut stored).unwrap();
        for length in [0, 99, 101, 1000] {
            let error = Lz4Codec::decode(&stored, &mut vec![0; length], Wanted::Exactly(length)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
        // A header that lies about its own block.
        stored[0] = 101;
        assert!(Lz4Codec::decode(&stored, &mut [0; 101], Wanted::Exactly(101)).is_err());
        stored[0] = 99;
        assert!(Lz4Codec::decode(&stored, &mut [0; 99], Wanted::Exactly(99)).is_err());
        assert!(Lz4Codec::decode(&stored[..3], &mut [], Wanted::Exactly(0)).is_err());
    }

    #[test]
    fn accelerations_are_cut_as_the_library_does() {
        for (given, taken) in [(-5, 1), (0, 1), (7, 7)] {
            assert_eq!(Lz4Codec::from_json(&json!({"acceleration": given})).unwrap().acceleration, taken);
        }
    }
}
