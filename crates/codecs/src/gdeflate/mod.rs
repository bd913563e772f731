//! The `gdeflate` codec of zarrs: pages of NVIDIA's GDEFLATE, a DEFLATE for processors of many lanes. It is read and not
//! written.
//!
//! Decoded bytes and pages, as numbers of 64 bits, little-endian; the stored bytes of each page, as such numbers; the pages.
//! Every page decodes to 64 KiB, the last one to what is left.
//!
//! The pages are decoded here: the one library for them reads on behind the bytes that it is given, and has symbols in common
//! with another version of libdeflate.

mod bits;
mod huffman;
mod page;

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
use crate::limits::encoded_bytes_max;
use page::decode_page;

const NAME: &str = "gdeflate";
const PAGE_BYTES: usize = 64 << 10;
const NUMBER_BYTES: usize = 8;
/// What a page has besides its content, at most: its length, a word for each lane on either end, and codes.
const PAGE_OVERHEAD_BYTES: u64 = 1 << 10;

/// Compresses by GDEFLATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GdeflateCodec {
    /// 0 to 12; says nothing to a reader.
    pub level: u8,
}

impl GdeflateCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["level"])?;
        let level = fields.integer("level", 0, 12)?.and_then(|level| u8::try_from(level).ok());
        level
            .map(|level| Self { level })
            .ok_or_else(|| fields.missing("level", "a whole number from 0 to 12"))
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"level": self.level})
    }

    pub(crate) fn describe(self) -> String {
        format!("gdeflate(level {})", self.level)
    }

    /// The most stored bytes of so many.
    pub(crate) fn stored_bytes_max(bytes: usize) -> u64 {
        let pages = bytes.div_ceil(PAGE_BYTES) as u64;
        encoded_bytes_max(bytes as u64).saturating_add(pages.saturating_mul(PAGE_OVERHEAD_BYTES))
    }

    pub(crate) fn decode(source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        let number = |number: usize| {
            let bytes = source.get(number.checked_mul(NUMBER_BYTES)?..)?.first_chunk::<NUMBER_BYTES>()?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        let Some((decoded, pages)) = number(0).zip(number(1)) else {
            return Err(Error::corrupt(NAME, format!("wanted two lengths, found {} bytes", source.len())));
        };
        wanted.check(NAME, decoded)?;
        if pages != decoded.div_ceil(PAGE_BYTES) {
            return Err(Error::corrupt(NAME, format!("wanted pages of {decoded} bytes, found {pages}")));
        }
        // There are as many lengths as bytes decoded divided by 64 Ki, so that nothing overflows.
        let mut rest = source.get((2 + pages) * NUMBER_BYTES..).unwrap_or_default();
        for (at, target) in target[..decoded].chunks_mut(PAGE_BYTES).enumerate() {
            let page = number(2 + at).and_then(|bytes| rest.split_at_checked(bytes));
            let Some((page, behind)) = page else {
                return Err(Error::corrupt(NAME, format!("page {at} of {pages} reaches past the end")));
            };
            if let Err(broken) = decode_page(page, target) {
                return Err(Error::corrupt(
                    NAME,
                    format!("wanted a sound page {at} of {pages}, found {broken}"),
                ));
            }
            rest = behind;
        }
        if rest.is_empty() {
            Ok(decoded)
        } else {
            Err(Error::corrupt(NAME, format!("wanted the last page's end, found {} bytes", rest.len())))
        }
    }

    #[expect(clippy::unused_self, reason = "as all codecs encode")]
    pub(crate) fn encode(self) -> Result<(), Error> {
        Err(Error::unsupported(NAME, "wanted another codec to write with: gdeflate is only read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stored page, as another implementation wrote it, of ten zeros.
    fn stored(decoded: u64, pages: &[&[u8]]) -> Vec<u8> {
        let mut bytes = decoded.to_le_bytes().to_vec();
        bytes.extend((pages.len() as u64).to_le_bytes());
        pages.iter().for_each(|page| bytes.extend((page.len() as u64).to_le_bytes()));
        pages.iter().for_each(|page| bytes.extend_from_slice(page));
        bytes
    }

    #[test]
    fn lengths_have_to_agree() {
        let mut target = [0; 16];
        let mut decode = |bytes: &[u8], wanted| GdeflateCodec::decode(bytes, &mut target, wanted);
        assert_eq!(decode(&stored(0, &[]), Wanted::Exactly(0)).unwrap(), 0);
        assert!(decode(&stored(0, &[b"x"]), Wanted::Exactly(0)).is_err());
        assert!(decode(&stored(17, &[&[0; 200]]), Wanted::AtMost(16)).unwrap_err().is_too_long());
        for bytes in [&b""[..], &[0; 15], &stored(4, &[]), &stored(4, &[b""]), &stored(4, &[&[0; 200], b""])]
        {
            assert!(decode(bytes, Wanted::Exactly(4)).is_err(), "{bytes:?}");
        }
        let mut reaching = stored(4, &[&[0; 200]]);
        reaching[16] = 201;
        assert!(decode(&reaching, Wanted::Exactly(4)).is_err());
    }

    #[test]
    fn levels_are_checked() {
        assert_eq!(GdeflateCodec::from_json(&json!({"level": 12})).unwrap().level, 12);
        assert!(GdeflateCodec::from_json(&json!({"level": 13})).is_err());
        assert!(GdeflateCodec::from_json(&Value::Null).is_err());
    }
}
