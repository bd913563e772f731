//! The `crc32c` codec: four bytes of checksum after the content, or before it.
//!
//! Zarr v3 codec specification "crc32c" 1.0 (RFC 3720, 12.1, little endian, at the end); numcodecs' `crc32c` lays it
//! out the same way and allows the start.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;

const NAME: &str = "crc32c";
/// Bytes that the codec adds.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Where the checksum lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumLocation {
    /// Before the content.
    Start,
    /// After the content, as Zarr v3 has it.
    End,
}

/// Adds a CRC-32C of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crc32cCodec {
    /// Where the checksum lies.
    pub location: ChecksumLocation,
}

impl Crc32cCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "location"])?;
        let wanted = "\"start\" or \"end\"";
        let location = match fields.text("location", wanted)? {
            None | Some("end") => ChecksumLocation::End,
            Some("start") => ChecksumLocation::Start,
            Some(other) => return Err(Error::invalid_field(NAME, "location", wanted, other)),
        };
        Ok(Self { location })
    }

    pub(crate) fn to_json(self) -> Value {
        match self.location {
            ChecksumLocation::Start => json!({"location": "start"}),
            ChecksumLocation::End => Value::Null,
        }
    }

    /// The content and the checksum that is stored with it.
    pub(crate) fn split(self, source: &[u8]) -> Result<(&[u8], u32), Error> {
        let parts = match self.location {
            ChecksumLocation::Start => source.split_first_chunk().map(|(stored, content)| (content, stored)),
            ChecksumLocation::End => source.split_last_chunk(),
        };
        match parts {
            Some((content, stored)) => Ok((content, u32::from_le_bytes(*stored))),
            None => Err(Error::corrupt(
                NAME,
                format!("wanted at least {CHECKSUM_BYTES} stored bytes, found {}", source.len()),
            )),
        }
    }

    /// Where the content starts in the stored bytes.
    pub(crate) fn content_start(self) -> usize {
        match self.location {
            ChecksumLocation::Start => CHECKSUM_BYTES,
            ChecksumLocation::End => 0,
        }
    }

    /// Compares the content with its checksum.
    pub(crate) fn verify(content: &[u8], stored: u32) -> Result<(), Error> {
        let found = crc_fast::crc32_iscsi(content);
        if found == stored {
            Ok(())
        } else {
            Err(Error::checksum(
                NAME,
                format!("wanted {stored:#010x}, found {found:#010x} over {} bytes", content.len()),
            ))
        }
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) {
        let checksum = crc_fast::crc32_iscsi(source).to_le_bytes();
        target.clear();
        target.reserve(source.len() + CHECKSUM_BYTES);
        match self.location {
            ChecksumLocation::Start => {
                target.extend_from_slice(&checksum);
                target.extend_from_slice(source);
            }
            ChecksumLocation::End => {
                target.extend_from_slice(source);
                target.extend_from_slice(&checksum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn matches_rfc_3720() {
        // RFC 3720, B.4: 32 bytes of zeros, then of ones, then ascending.
        let ascending: Vec<u8> = (0..32).collect();
        for (content, wanted) in
            [(&[0; 32][..], 0x8A91_36AA_u32), (&[0xFF; 32], 0x62A8_AB43), (&ascending, 0x46DD_794E)]
        {
            assert_eq!(crc_fast::crc32_iscsi(content), wanted);
        }
    }

    #[test]
    fn every_length_agrees_with_one_bit_at_a_time() {
        let content: Vec<u8> = (0..600u32).map(|i| (i * 31 % 251) as u8).collect();
        let mut slow = !0u32;
        for (i, &byte) in content.iter().enumerate() {
            assert_eq!(crc_fast::crc32_iscsi(&content[..i]), !slow);
            slow ^= u32::from(byte);
            for _ in 0..8 {
                slow = (slow >> 1) ^ if slow & 1 == 1 { 0x82F6_3B78 } else { 0 };
            }
        }
    }

    #[test]
    fn both_locations_round_trip_and_verify() {
        for location in [ChecksumLocation::Start, ChecksumLocation::End] {
            let codec = Crc32cCodec { location };
            let mut stored = Vec::new();
            codec.encode(b"content", &mut stored);
            let (content, checksum) = codec.split(&stored).unwrap();
            assert_eq!(content, b"content");
            Crc32cCodec::verify(content, checksum).unwrap();
            assert_eq!(Crc32cCodec::verify(b"contend", checksum).unwrap_err().kind(), ErrorKind::Checksum);
            assert_eq!(codec.split(&stored[..3]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
