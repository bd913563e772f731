//! The `shuffle` codec, as numcodecs' `shuffle`: byte 0 of all elements, then byte 1 of all, and so on.

use serde_json::{Value, json};

use crate::blosc::{shuffle, unshuffle};
use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
use crate::scratch::room;

const NAME: &str = "shuffle";
/// The size that numcodecs takes when none is asked for.
const UNSTATED_ELEMENT_BYTES: usize = 4;
/// No element of any data type is longer.
const ELEMENT_BYTES_MAX: i64 = 1 << 20;

/// Groups the bytes of elements by their place, so that a compressor finds more in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShuffleCodec {
    /// Bytes of an element; 0 and 1 leave the bytes as they are.
    pub element_bytes: usize,
}

impl ShuffleCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "elementsize"])?;
        let element_bytes = fields.integer("elementsize", 0, ELEMENT_BYTES_MAX)?;
        let element_bytes = element_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        Ok(Self { element_bytes: element_bytes.unwrap_or(UNSTATED_ELEMENT_BYTES) })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"elementsize": self.element_bytes})
    }

    pub(crate) fn describe(self) -> String {
        format!("shuffle({} bytes)", self.element_bytes)
    }

    pub(crate) fn decode(self, source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        wanted.check(NAME, source.len())?;
        if let Some(error) = self.wrong_length(source.len()) {
            return Err(Error::corrupt(NAME, error));
        }
        // `check` has bounded the length by the target's.
        unshuffle(self.element_bytes.max(1), source, &mut target[..source.len()]);
        Ok(source.len())
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(error) = self.wrong_length(source.len()) {
            return Err(Error::invalid(NAME, error));
        }
        shuffle(self.element_bytes.max(1), source, room(target, source.len())?);
        target.truncate(source.len());
        Ok(())
    }

    /// Why so many bytes are no whole elements.
    fn wrong_length(self, bytes: usize) -> Option<String> {
        let wanted = self.element_bytes.max(1);
        (!bytes.is_multiple_of(wanted)).then(|| format!("wanted a multiple of {wanted} bytes, found {bytes}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn bytes_are_grouped_by_their_place() {
        let mut stored = Vec::new();
        ShuffleCodec { element_bytes: 2 }.encode(&[1, 2, 3, 4, 5, 6], &mut stored).unwrap();
        assert_eq!(stored, [1, 3, 5, 2, 4, 6]);
    }

    #[test]
    fn every_size_round_trips() {
        for element_bytes in [0, 1, 2, 3, 4, 8, 16, 21] {
            let codec = ShuffleCodec { element_bytes };
            let source: Vec<u8> = (0..=u8::MAX).cycle().step_by(7).take(element_bytes.max(1) * 300).collect();
            let (mut stored, mut target) = (Vec::new(), vec![0; source.len() + 5]);
            codec.encode(&source, &mut stored).unwrap();
            let written = codec.decode(&stored, &mut target, Wanted::AtMost(source.len() + 5)).unwrap();
            assert_eq!(target[..written], source);
        }
    }

    #[test]
    fn parts_of_elements_are_refused() {
        let codec = ShuffleCodec { element_bytes: 4 };
        assert_eq!(codec.encode(&[0; 6], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Invalid);
        let error = codec.decode(&[0; 6], &mut [0; 6], Wanted::Exactly(6)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(codec.decode(&[0; 8], &mut [0; 4], Wanted::Exactly(4)).is_err());
    }
}
