//! HDF5's filter 32004, as imagecodecs' `imagecodecs_lz4h5`: the decoded length in eight big-endian bytes, that of a block in
//! four, then each block behind its stored length in four. A block that did not get shorter is stored as it is.
//!
//! Source: the HDF Group's registered filter plugin for LZ4, "LZ4 compression filter format".

use serde_json::{Value, json};

use super::{DECODED_BYTES_MAX, decompress_block, ffi};
use crate::configuration::Configuration;
use crate::error::{Error, Wanted};

const NAME: &str = "imagecodecs_lz4h5";
/// Bytes before the first block.
const HEADER_BYTES: usize = 12;
/// Decoded bytes of a block, where nothing else is said: the filter's own default, and imagecodecs'.
const BLOCK_BYTES: usize = 1 << 30;

/// Compresses in blocks by LZ4, as HDF5's filter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lz4H5Codec {
    /// 1 (smallest) and up (faster).
    pub acceleration: i32,
    /// Decoded bytes of each block but the last.
    pub block_bytes: usize,
}

impl Lz4H5Codec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "level", "blocksize"])?;
        let bytes = fields.integer_clamped("blocksize", 0, i32::MAX)?.unwrap_or(0);
        let block_bytes = match usize::try_from(bytes) {
            Ok(bytes) if bytes != 0 => bytes.min(DECODED_BYTES_MAX),
            _ => BLOCK_BYTES,
        };
        Ok(Self { acceleration: fields.integer_clamped("level", 1, i32::MAX)?.unwrap_or(1), block_bytes })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"level": self.acceleration, "blocksize": self.block_bytes})
    }

    pub(crate) fn describe(self) -> String {
        format!("{NAME}(acceleration {}, blocks of {} bytes)", self.acceleration, self.block_bytes)
    }

    pub(crate) fn decode(source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        let short = || Error::corrupt(NAME, format!("wanted more than the {} stored bytes", source.len()));
        let (header, mut rest) = source.split_at_checked(HEADER_BYTES).ok_or_else(short)?;
        let (stated, block) = header.split_first_chunk().ok_or_else(short)?;
        let decoded_len = usize::try_from(u64::from_be_bytes(*stated)).unwrap_or(usize::MAX);
        wanted.check(NAME, decoded_len)?;
        let block_bytes = length(block).ok_or_else(short)?;
        if block_bytes == 0 && decoded_len != 0 {
            return Err(Error::corrupt(NAME, format!("blocks of no bytes, for {decoded_len}")));
        }
        // `check` has bounded the length by the target's.
        for target in target[..decoded_len].chunks_mut(block_bytes.max(1)) {
            let (stored, behind) = rest.split_at_checked(4).ok_or_else(short)?;
            let stored = length(stored).ok_or_else(short)?;
            let (stored, behind) = behind.split_at_checked(stored).ok_or_else(short)?;
            rest = behind;
            if stored.len() == target.len() {
                target.copy_from_slice(stored);
            } else if decompress_block(stored, target) != Some(target.len()) {
                let message = format!("wanted a sound block of {} decoded bytes, found none", target.len());
                return Err(Error::corrupt(NAME, message));
            }
        }
        Ok(decoded_len)
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let too_long = || Error::invalid(NAME, format!("wanted blocks that LZ4 takes, found {self:?}"));
        let block_bytes = self.block_bytes.clamp(1, source.len().max(1));
        target.clear();
        target.extend_from_slice(&(source.len() as u64).to_be_bytes());
        target.extend_from_slice(&u32::try_from(block_bytes).map_err(|_| too_long())?.to_be_bytes());
        for block in source.chunks(block_bytes) {
            let start = target.len() + 4;
            let bound = ffi::bound(block.len()).ok_or_else(too_long)?;
            target.resize(start + bound, 0);
            let written = ffi::compress(block, &mut target[start..], self.acceleration);
            let stored = written.filter(|written| *written < block.len());
            target.truncate(start + stored.unwrap_or(0));
            if stored.is_none() {
                target.extend_from_slice(block);
            }
            let stored = u32::try_from(target.len() - start).map_err(|_| too_long())?;
            target[start - 4..start].copy_from_slice(&stored.to_be_bytes());
        }
        Ok(())
    }
}

/// A length in four big-endian bytes.
fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn blocks_round_trip_and_short_ones_are_refused() {
        let source: Vec<u8> = (0..1000u32).flat_map(|number| (number * number / 7).to_le_bytes()).collect();
        for block_bytes in [1, 7, 256, 4000, 1 << 30] {
            let mut stored = Vec::new();
            Lz4H5Codec { acceleration: 1, block_bytes }.encode(&source, &mut stored).unwrap();
            let mut target = vec![0; source.len()];
            Lz4H5Codec::decode(&stored, &mut target, Wanted::Exactly(source.len())).unwrap();
            assert_eq!(target, source);
            for cut in [0, 11, 15, stored.len() - 1] {
                let error = Lz4H5Codec::decode(&stored[..cut], &mut target, Wanted::Exactly(source.len()))
                    .unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{cut}");
            }
        }
        let mut stored = Vec::new();
        Lz4H5Codec { acceleration: 1, block_bytes: 8 }.encode(&[], &mut stored).unwrap();
        assert_eq!(Lz4H5Codec::decode(&stored, &mut [], Wanted::Exactly(0)).unwrap(), 0);
        // Blocks of nothing would never end.
        stored[..12].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
        assert!(Lz4H5Codec::decode(&stored, &mut [0; 4], Wanted::Exactly(4)).is_err());
    }
}
