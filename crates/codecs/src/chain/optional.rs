//! Elements that may be missing, and the two chains that store them.

use super::{Chain, Checksums};
use crate::error::{Error, Wanted};
use crate::layout::{ChunkLayout, Element};
use crate::number::NumberType;
use crate::optional::{NAME, OptionalCodec};
use crate::scratch::{Contexts, Nested, room};

/// Two lengths of 64 bits.
const HEADER_BYTES: usize = 16;

/// The codec for chunks of a known layout.
#[derive(Debug, Clone)]
pub(super) struct OptionalStage {
    /// The truth values of all elements.
    mask: Chain,
    /// The elements, where none is missing.
    data: Chain,
    /// Of those, where some are.
    codec: OptionalCodec,
    /// What an element is that is there.
    present: Element,
    /// Elements of a chunk.
    count: usize,
}

impl OptionalStage {
    /// Compiles the codec for chunks of `layout`.
    ///
    /// # Errors
    ///
    /// `Invalid` where elements cannot be missing, and as [`Chain::compile`] for the codecs of either part.
    pub(super) fn new(codec: &OptionalCodec, layout: &ChunkLayout) -> Result<Self, Error> {
        let present = layout.element.present().ok_or_else(|| {
            Error::invalid(
                NAME,
                format!("wanted elements that may be missing, found {:?}", layout.element.kind),
            )
        })?;
        let count = layout.decoded_len()? / layout.element.size_bytes;
        let truth = ChunkLayout { shape: layout.shape.clone(), element: Element::number(NumberType::Bool) };
        let mask = Chain::compile(&codec.mask, &truth)?;
        let data = Chain::compile(&codec.data, &list_of(count, present))?;
        Ok(Self { mask, data, codec: codec.clone(), present, count })
    }

    pub(super) fn set_checksums(&mut self, checksums: Checksums) {
        self.mask.set_checksums(checksums);
        self.data.set_checksums(checksums);
    }

    /// The most stored bytes of a chunk.
    pub(super) fn stored(&self) -> Option<usize> {
        let bytes = self.mask.encoded_len_max().checked_add(self.data.encoded_len_max())?;
        usize::try_from(bytes).ok()?.checked_add(HEADER_BYTES)
    }

    /// What of that chunks do not use that are small and many.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.mask.spare_bytes() + self.data.spare_bytes()
    }

    /// Decodes to all of `target`, whose elements each have a byte before them that tells whether they are there.
    pub(super) fn decode(
        &self,
        source: &[u8],
        target: &mut [u8],
        wanted: Wanted,
        contexts: &mut Contexts,
    ) -> Result<usize, Error> {
        wanted.check(NAME, target.len())?;
        let (mask, data) = parts(source)?;
        let element_bytes = self.present.size_bytes;
        let Nested { scratch, elements } = contexts.nested();
        let (truth, values) = room(elements, target.len())?.split_at_mut(self.count);
        self.mask.decode_into(mask, truth, scratch)?;
        let present = truth.iter().filter(|byte| **byte != 0).count();
        let values = &mut values[..present * element_bytes];
        if present == self.count {
            self.data.decode_into(data, values, scratch)?;
        } else if present != 0 {
            self.chain_of(present)?.decode_into(data, values, scratch)?;
        }
        let mut values = values.chunks_exact(element_bytes);
        for (byte, element) in truth.iter().zip(target.chunks_exact_mut(1 + element_bytes)) {
            let value = if *byte == 0 { None } else { values.next() };
            element[0] = u8::from(value.is_some());
            match value {
                Some(value) => element[1..].copy_from_slice(value),
                None => element[1..].fill(0),
            }
        }
        Ok(target.len())
    }

    /// Encodes `source`, replacing what `target` holds.
    pub(super) fn encode(
        &self,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Error> {
        let Nested { scratch, elements } = contexts.nested();
        elements.clear();
        let element_bytes = 1 + self.present.size_bytes;
        elements.extend(source.chunks_exact(element_bytes).map(|element| u8::from(element[0] != 0)));
        let mut mask = Vec::new();
        self.mask.encode(elements, &mut mask, scratch)?;
        let is_present = |element: &&[u8]| element[0] != 0;
        let present = source.chunks_exact(element_bytes).filter(is_present).count();
        elements.clear();
        source.chunks_exact(element_bytes).filter(is_present).for_each(|element| {
            elements.extend_from_slice(&element[1..]);
        });
        let mut data = Vec::new();
        if present == self.count {
            self.data.encode(elements, &mut data, scratch)?;
        } else if present != 0 {
            self.chain_of(present)?.encode(elements, &mut data, scratch)?;
        }
        *target = joined(&mask, &data);
        Ok(())
    }

    /// The chain of so many elements that are there: only the chunk tells how many they are.
    fn chain_of(&self, present: usize) -> Result<Chain, Error> {
        let chain = Chain::compile(&self.codec.data, &list_of(present, self.present))?;
        Ok(chain.with_checksums(self.data.checksums))
    }
}

/// Elements along one axis.
fn list_of(count: usize, element: Element) -> ChunkLayout {
    ChunkLayout { shape: vec![count as u64], element }
}

/// The stored truth values and elements with their lengths before them.
pub(super) fn joined(mask: &[u8], data: &[u8]) -> Vec<u8> {
    let lengths = [mask.len(), data.len()].map(|length| (length as u64).to_le_bytes());
    [lengths.as_flattened(), mask, data].concat()
}

/// The stored truth values and elements.
pub(super) fn parts(source: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let length = |at: usize| {
        let bytes = source.get(at..)?.first_chunk::<8>()?;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    };
    let found = length(0).zip(length(8)).and_then(|(mask, data)| {
        let (mask, rest) = source.get(HEADER_BYTES..)?.split_at_checked(mask)?;
        (rest.len() == data).then_some((mask, rest))
    });
    found.ok_or_else(|| {
        Error::corrupt(
            NAME,
            format!("wanted two lengths and as many bytes behind them, found {} bytes", source.len()),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::{Chain, ChunkLayout, Codec, Element, ErrorKind, NumberType, Scratch};
    use serde_json::{Value, json};

    fn optional(data: &Value) -> Value {
        json!({"mask_codecs": [{"name": "packbits"}], "data_codecs": data})
    }

    fn chain(data: &Value, behind: &[&str], element: Element) -> Chain {
        let mut codecs = vec![Codec::from_v3("zarrs.optional", &optional(data)).unwrap()];
        codecs.extend(behind.iter().map(|name| Codec::from_v3(name, &Value::Null).unwrap()));
        Chain::compile(&codecs, &ChunkLayout { shape: vec![2, 3], element }).unwrap()
    }

    /// Chunks of six elements of two bytes with so many of them missing.
    fn chunks() -> impl Iterator<Item = Vec<u8>> {
        (0..64u8).map(|mask| {
            let element = |at: u8| match mask >> at & 1 {
                0 => [0, 0, 0],
                _ => [1, at + 1, 10 * at],
            };
            (0..6).flat_map(element).collect()
        })
    }

    #[test]
    fn chunks_round_trip_whatever_is_missing() {
        let element = Element::optional(Element::number(NumberType::UInt16));
        let big = json!([{"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]);
        let (chain, mut scratch) = (chain(&big, &["crc32c"], element), Scratch::default());
        assert!(chain.describe()[0].starts_with("optional("));
        for chunk in chunks() {
            let (mut stored, mut decoded) = (Vec::new(), vec![0xff; 18]);
            chain.encode(&chunk, &mut stored, &mut scratch).unwrap();
            assert!(stored.len() as u64 <= chain.encoded_len_max());
            chain.decode_into(&stored, &mut decoded, &mut scratch).unwrap();
            assert_eq!(decoded, chunk);
            for end in 0..stored.len() {
                assert!(chain.decode_into(&stored[..end], &mut decoded, &mut scratch).is_err());
            }
        }
    }

    #[test]
    fn what_may_be_missing_twice_is_stored_twice() {
        let element = Element::optional(Element::optional(Element::number(NumberType::UInt8)));
        let nested = json!([{"name": "optional", "configuration": optional(&json!(["bytes"]))}]);
        let (chain, mut scratch) = (chain(&nested, &[], element), Scratch::default());
        let chunk = [1, 1, 7, 0, 0, 0, 1, 0, 0, 1, 1, 9, 1, 0, 0, 0, 0, 0];
        let (mut stored, mut decoded) = (Vec::new(), vec![0xff; 18]);
        chain.encode(&chunk, &mut stored, &mut scratch).unwrap();
        chain.decode_into(&stored, &mut decoded, &mut scratch).unwrap();
        assert_eq!(decoded, chunk);
    }

    #[test]
    fn elements_and_codecs_have_to_fit() {
        let compile = |codec: &str, configuration: &Value, element| {
            let codec = Codec::from_v3(codec, configuration).unwrap();
            Chain::compile(&[codec], &ChunkLayout { shape: vec![4], element }).map_err(|error| error.kind())
        };
        let number = Element::number(NumberType::UInt8);
        let plain = optional(&json!(["bytes"]));
        assert_eq!(compile("optional", &plain, number).unwrap_err(), ErrorKind::Invalid);
        assert_eq!(
            compile("bytes", &Value::Null, Element::optional(number)).unwrap_err(),
            ErrorKind::Invalid
        );
        let twice = Element::optional(Element::optional(number));
        assert_eq!(compile("optional", &plain, twice).unwrap_err(), ErrorKind::Invalid);
        for broken in [json!({}), json!({"mask_codecs": ["bytes"]}), optional(&json!("bytes"))] {
            assert!(Codec::from_v3("optional", &broken).is_err(), "{broken}");
        }
    }
}
