//! Checksums beside the content: `crc32c` of Zarr v3, and numcodecs' `crc32`, `adler32`, `fletcher32` and
//! `jenkins_lookup3`. Four bytes, little endian, after the content or before it.
//!
//! Zarr v3 codec specification "crc32c" 1.0 (RFC 3720, 12.1); numcodecs' `checksum32` and `fletcher32`, which lay them out
//! the same way.

mod fletcher32;
mod lookup3;

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;

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

/// How the checksum is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumAlgorithm {
    /// CRC-32C (RFC 3720).
    Crc32c,
    /// CRC-32 as in gzip (RFC 1952).
    Crc32,
    /// Adler-32 as in zlib (RFC 1950).
    Adler32,
    /// HDF5's Fletcher-32: over big-endian words of 16 bits.
    Fletcher32,
    /// Bob Jenkins' lookup3 (`hashlittle`), as in HDF5.
    JenkinsLookup3 {
        /// The seed.
        initial: u32,
    },
}

/// Adds a checksum of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChecksumCodec {
    /// How it is worked out.
    pub algorithm: ChecksumAlgorithm,
    /// Where it lies.
    pub location: ChecksumLocation,
}

impl ChecksumAlgorithm {
    /// The codec's short name, as in metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crc32c => "crc32c",
            Self::Crc32 => "crc32",
            Self::Adler32 => "adler32",
            Self::Fletcher32 => "fletcher32",
            Self::JenkinsLookup3 { .. } => "jenkins_lookup3",
        }
    }

    fn of(self, content: &[u8]) -> u32 {
        match self {
            Self::Crc32c => crc_fast::crc32_iscsi(content),
            Self::Crc32 => crc_fast::crc32_iso_hdlc(content),
            Self::Adler32 => crate::deflate::adler32(content),
            Self::Fletcher32 => fletcher32::fletcher32(content),
            Self::JenkinsLookup3 { initial } => lookup3::hash(content, initial),
        }
    }

    /// Where the checksum lies unless metadata say otherwise.
    fn usual_location(self) -> ChecksumLocation {
        match self {
            Self::Crc32 | Self::Adler32 => ChecksumLocation::Start,
            Self::Crc32c | Self::Fletcher32 | Self::JenkinsLookup3 { .. } => ChecksumLocation::End,
        }
    }

    fn takes_location(self) -> bool {
        matches!(self, Self::Crc32c | Self::Crc32 | Self::Adler32)
    }
}

impl ChecksumCodec {
    /// Reads a configuration of the codec called `name`; `None` where no checksum is called that.
    pub(crate) fn from_json(name: &str, configuration: &Value) -> Option<Result<Self, Error>> {
        let algorithm = match name {
            "crc32c" => ChecksumAlgorithm::Crc32c,
            "crc32" => ChecksumAlgorithm::Crc32,
            "adler32" => ChecksumAlgorithm::Adler32,
            "fletcher32" => ChecksumAlgorithm::Fletcher32,
            "jenkins_lookup3" => ChecksumAlgorithm::JenkinsLookup3 { initial: 0 },
            _ => return None,
        };
        Some(Self::configured(algorithm, configuration))
    }

    fn configured(algorithm: ChecksumAlgorithm, configuration: &Value) -> Result<Self, Error> {
        let name = algorithm.name();
        if let ChecksumAlgorithm::JenkinsLookup3 { .. } = algorithm {
            let fields = Configuration::new(name, configuration, &["id", "initval", "prefix"])?;
            let initial = fields.integer("initval", 0, u32::MAX.into())?.unwrap_or(0);
            if let Some(prefix) = fields.get("prefix") {
                return Err(Error::unsupported(name, format!("wanted no `prefix`, found {prefix}")));
            }
            // The field was checked to fit.
            let initial = u32::try_from(initial).unwrap_or_default();
            let algorithm = ChecksumAlgorithm::JenkinsLookup3 { initial };
            return Ok(Self { algorithm, location: algorithm.usual_location() });
        }
        let known: &[&str] = if algorithm.takes_location() { &["id", "location"] } else { &["id"] };
        let fields = Configuration::new(name, configuration, known)?;
        let wanted = "\"start\" or \"end\"";
        let location = match fields.text("location", wanted)? {
            None => algorithm.usual_location(),
            Some("end") => ChecksumLocation::End,
            Some("start") => ChecksumLocation::Start,
            Some(other) => return Err(Error::invalid_field(name, "location", wanted, other)),
        };
        Ok(Self { algorithm, location })
    }

    /// The name that metadata of v3 give it: the specification's where it says all, else numcodecs'.
    pub(crate) fn v3_name(self) -> &'static str {
        match (self.algorithm, self.location) {
            (ChecksumAlgorithm::Crc32c, ChecksumLocation::End) => "crc32c",
            (ChecksumAlgorithm::Crc32c, ChecksumLocation::Start) => "numcodecs.crc32c",
            (ChecksumAlgorithm::Crc32, _) => "numcodecs.crc32",
            (ChecksumAlgorithm::Adler32, _) => "numcodecs.adler32",
            (ChecksumAlgorithm::Fletcher32, _) => "numcodecs.fletcher32",
            (ChecksumAlgorithm::JenkinsLookup3 { .. }, _) => "numcodecs.jenkins_lookup3",
        }
    }

    pub(crate) fn to_json(self) -> Value {
        if let ChecksumAlgorithm::JenkinsLookup3 { initial } = self.algorithm {
            return json!({"initval": initial});
        }
        match self.location {
            location if location == self.algorithm.usual_location() => Value::Null,
            ChecksumLocation::Start => json!({"location": "start"}),
            ChecksumLocation::End => json!({"location": "end"}),
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
                self.algorithm.name(),
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
    pub(crate) fn verify(self, content: &[u8], stored: u32) -> Result<(), Error> {
        let found = self.algorithm.of(content);
        if found == stored || self.is_of_whole_words(content, stored) {
            Ok(())
        } else {
            Err(Error::checksum(
                self.algorithm.name(),
                format!("wanted {stored:#010x}, found {found:#010x} over {} bytes", content.len()),
            ))
        }
    }

    /// Whether it is the Fletcher-32 of all but an odd last byte, which zarrs leaves out, and HDF5 and numcodecs do not.
    fn is_of_whole_words(self, content: &[u8], stored: u32) -> bool {
        match (self.algorithm, content.split_last()) {
            (ChecksumAlgorithm::Fletcher32, Some((_, words))) if words.len().is_multiple_of(2) => {
                self.algorithm.of(words) == stored
            }
            _ => false,
        }
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) {
        let checksum = self.algorithm.of(source).to_le_bytes();
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

    const ALGORITHMS: [ChecksumAlgorithm; 6] = [
        ChecksumAlgorithm::Crc32c,
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::Adler32,
        ChecksumAlgorithm::Fletcher32,
        ChecksumAlgorithm::JenkinsLookup3 { initial: 0 },
        ChecksumAlgorithm::JenkinsLookup3 { initial: 7 },
    ];

    /// `numcodecs.checksum32` and `numcodecs.fletcher32` of version 0.17.1 over the first bytes of `i * 31 % 251`: crc32,
    /// adler32, fletcher32, jenkins_lookup3, and jenkins_lookup3 with a seed of 7.
    const NUMCODECS: [(usize, [u32; 5]); 13] = [
        (1, [0xd202_ef8d, 0x0001_0001, 0x0000_0000, 0x8ba9_414b, 0x58c1_84bf]),
        (2, [0xccd1_1f0a, 0x0021_0020, 0x001f_001f, 0xba50_0617, 0x8085_328e]),
        (3, [0xf37a_ca27, 0x007f_005e, 0x3e3e_3e1f, 0x689a_df9b, 0x02f4_35c4]),
        (7, [0xac70_26df, 0x06cf_028c, 0x6ecb_7518, 0xc5e5_de42, 0x389c_f1a0]),
        (8, [0x3bcd_3a9e, 0x0a34_0365, 0x6fa4_75f1, 0x8f27_fb1b, 0xc956_6660]),
        (11, [0x241b_bab6, 0x17be_04b4, 0x86c1_a90e, 0x0a3d_ab15, 0x59bf_d0bf]),
        (12, [0x7b9a_5a64, 0x1ccc_050e, 0x871b_a968, 0xe017_38cf, 0x03ac_d559]),
        (13, [0xb17f_190e, 0x2253_0587, 0xa984_2269, 0x7524_c733, 0x8bf9_eab2]),
        (24, [0xb2c7_6ab6, 0x8580_0bdb, 0x0fc0_33b2, 0x1cab_40e8, 0x68b7_04c4]),
        (25, [0xa301_ad6e, 0x924d_0ccd, 0x3573_25b3, 0xb7a4_098f, 0x6e82_e2be]),
        (721, [0x5e5e_f7b4, 0x3920_613d, 0x1b9b_f896, 0x0c96_a39b, 0x0865_fb08]),
        (1000, [0xb403_841f, 0x68a8_e796, 0x4e60_d698, 0x256c_59b9, 0xa488_b10f]),
        (1001, [0x9f04_8d51, 0x50cc_e815, 0xa3f9_5599, 0x242e_4038, 0x4c9f_c373]),
    ];

    #[test]
    fn matches_rfc_3720() {
        // RFC 3720, B.4: 32 bytes of zeros, then of ones, then ascending.
        let ascending: Vec<u8> = (0..32).collect();
        for (content, wanted) in
            [(&[0; 32][..], 0x8A91_36AA_u32), (&[0xFF; 32], 0x62A8_AB43), (&ascending, 0x46DD_794E)]
        {
            assert_eq!(ChecksumAlgorithm::Crc32c.of(content), wanted);
        }
    }

    #[test]
    fn every_length_agrees_with_one_bit_at_a_time() {
        let content: Vec<u8> = (0..600u32).map(|i| (i * 31 % 251) as u8).collect();
        for (algorithm, polynomial) in
            [(ChecksumAlgorithm::Crc32c, 0x82F6_3B78), (ChecksumAlgorithm::Crc32, 0xEDB8_8320)]
        {
            let mut slow = !0u32;
            for (i, &byte) in content.iter().enumerate() {
                assert_eq!(algorithm.of(&content[..i]), !slow);
                slow ^= u32::from(byte);
                for _ in 0..8 {
                    slow = (slow >> 1) ^ if slow & 1 == 1 { polynomial } else { 0 };
                }
            }
        }
    }

    #[test]
    fn matches_numcodecs() {
        let content: Vec<u8> = (0..1001u32).map(|i| (i * 31 % 251) as u8).collect();
        for (length, wanted) in NUMCODECS {
            let found = ALGORITHMS[1..].iter().map(|algorithm| algorithm.of(&content[..length]));
            assert_eq!(found.collect::<Vec<u32>>(), wanted, "{length}");
        }
    }

    #[test]
    fn both_locations_round_trip_and_verify() {
        for algorithm in ALGORITHMS {
            for location in [ChecksumLocation::Start, ChecksumLocation::End] {
                let codec = ChecksumCodec { algorithm, location };
                let mut stored = Vec::new();
                codec.encode(b"content", &mut stored);
                let (content, checksum) = codec.split(&stored).unwrap();
                assert_eq!(content, b"content");
                codec.verify(content, checksum).unwrap();
                assert_eq!(codec.verify(b"contend", checksum).unwrap_err().kind(), ErrorKind::Checksum);
                assert_eq!(codec.split(&stored[..3]).unwrap_err().kind(), ErrorKind::Corrupt);
            }
        }
    }

    #[test]
    fn an_odd_last_byte_may_be_left_out_of_fletcher32() {
        for (algorithm, is_taken) in
            [(ChecksumAlgorithm::Fletcher32, true), (ChecksumAlgorithm::Crc32c, false)]
        {
            let codec = ChecksumCodec { algorithm, location: ChecksumLocation::End };
            let found = |content: &[u8], over: &[u8]| codec.verify(content, algorithm.of(over)).is_ok();
            assert_eq!(found(b"abcde", b"abcd"), is_taken);
            assert!(!found(b"abcd", b"abc") && !found(b"abcde", b"abcx") && !found(b"abcdef", b"abcd"));
        }
    }

    #[test]
    fn configurations_are_checked() {
        let read = |name: &str, value: Value| ChecksumCodec::from_json(name, &value).unwrap();
        assert_eq!(read("crc32", json!({})).unwrap().location, ChecksumLocation::Start);
        assert_eq!(read("adler32", json!({"location": "end"})).unwrap().location, ChecksumLocation::End);
        assert!(read("fletcher32", json!({"location": "end"})).is_err());
        assert_eq!(
            read("jenkins_lookup3", json!({"initval": 7, "prefix": null})).unwrap().algorithm,
            ChecksumAlgorithm::JenkinsLookup3 { initial: 7 }
        );
        let error = read("jenkins_lookup3", json!({"prefix": [1]})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(ChecksumCodec::from_json("md5", &Value::Null).is_none());
    }
}
