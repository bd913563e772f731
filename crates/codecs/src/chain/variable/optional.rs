//! Elements of any length that may be missing, and the two chains that store them.

use super::super::optional::{joined, parts};
use super::super::{Chain, Checksums};
use super::{VariableChain, VariableChunk};
use crate::codec::Codec;
use crate::error::Error;
use crate::layout::{ChunkLayout, Element};
use crate::number::NumberType;
use crate::optional::OptionalCodec;
use crate::scratch::{Scratch, room};
use crate::variable::VariableElements;

/// The `optional` codec for chunks of a known shape.
#[derive(Debug, Clone)]
pub(super) struct OptionalForm {
    /// The truth values of all elements.
    mask: Chain,
    /// What stores the elements that are there, whose number only the chunk tells.
    data: Vec<Codec>,
    elements: VariableElements,
    /// How many times more they may be missing.
    times: u8,
    checksums: Checksums,
}

impl OptionalForm {
    /// Compiles the codec for chunks of `shape`.
    ///
    /// # Errors
    ///
    /// As [`Chain::compile`] and [`VariableChain::compile`] for the codecs of either part.
    pub(super) fn new(
        codec: &OptionalCodec,
        shape: &[u64],
        (elements, times): (VariableElements, u8),
    ) -> Result<Self, Error> {
        let truth = ChunkLayout { shape: shape.to_vec(), element: Element::number(NumberType::Bool) };
        let mask = Chain::compile(&codec.mask, &truth)?;
        let form = Self { mask, data: codec.data.clone(), elements, times, checksums: Checksums::Verify };
        // Whether its codecs are any that store such elements, chunks must not be the first to tell.
        form.chain_of(1)?;
        Ok(form)
    }

    pub(super) fn set_checksums(&mut self, checksums: Checksums) {
        self.mask.set_checksums(checksums);
        self.checksums = checksums;
    }

    /// How many times elements may be missing.
    pub(super) fn times(&self) -> u8 {
        self.times.saturating_add(1)
    }

    /// Decodes a chunk.
    pub(super) fn decode(&self, source: &[u8], scratch: &mut Scratch) -> Result<VariableChunk, Error> {
        let (mask, data) = parts(source)?;
        let mut truth = Vec::new();
        let truth = room(&mut truth, self.mask.decoded_len())?;
        self.mask.decode_into(mask, truth, scratch)?;
        let present = truth.iter().filter(|byte| **byte != 0).count();
        let found = match present {
            0 => VariableChunk { content: Vec::new(), places: Vec::new(), presence: Vec::new() },
            present => self.chain_of(present)?.decode(data, scratch)?,
        };
        let (mut places, mut presence) = (Vec::with_capacity(truth.len()), Vec::with_capacity(truth.len()));
        let mut stored = found.places.into_iter().enumerate();
        for byte in truth {
            match if *byte == 0 { None } else { stored.next() } {
                Some((number, place)) => {
                    places.push(place);
                    presence.push(found.presence.get(number).map_or(1, |times| times.saturating_add(1)));
                }
                None => {
                    places.push(0..0);
                    presence.push(0);
                }
            }
        }
        Ok(VariableChunk { content: found.content, places, presence })
    }

    /// Encodes the elements of a chunk, of which `presence` tells how many times each is there.
    pub(super) fn encode(
        &self,
        elements: &[&[u8]],
        presence: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Vec<u8>, Error> {
        let truth: Vec<u8> = presence.iter().map(|times| u8::from(*times != 0)).collect();
        let there = || elements.iter().zip(presence).filter(|(_, times)| **times != 0);
        let present: Vec<&[u8]> = there().map(|(element, _)| *element).collect();
        let inner: Vec<u8> = match self.times {
            0 => Vec::new(),
            _ => there().map(|(_, times)| times - 1).collect(),
        };
        let (mut mask, mut data) = (Vec::new(), Vec::new());
        self.mask.encode(&truth, &mut mask, scratch)?;
        if !present.is_empty() {
            self.chain_of(present.len())?.encode(&present, &inner, &mut data, scratch)?;
        }
        Ok(joined(&mask, &data))
    }

    /// The chain of so many elements that are there.
    fn chain_of(&self, present: usize) -> Result<VariableChain, Error> {
        let shape = [u64::try_from(present).unwrap_or(u64::MAX)];
        let chain = VariableChain::compile_optional(&self.data, &shape, self.elements, self.times)?;
        Ok(chain.with_checksums(self.checksums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use serde_json::{Value, json};

    fn compile(configuration: &Value, times: u8) -> Result<VariableChain, Error> {
        let codec = Codec::from_v3("zarrs.optional", configuration)?;
        VariableChain::compile_optional(&[codec], &[2, 2], VariableElements::Strings, times)
    }

    /// Two lengths, a mask of one bit an element, and what `vlen-utf8` makes of "a" and "bc".
    fn stored(mask: u8) -> Vec<u8> {
        let mut stored = [1u64, 15].map(u64::to_le_bytes).concat();
        stored.push(mask);
        stored.extend(b"\x02\0\0\0\x01\0\0\0a\x02\0\0\0bc");
        stored
    }

    fn plain(data: &str) -> Value {
        json!({"mask_codecs": ["packbits"], "data_codecs": [data]})
    }

    fn texts(chunk: &VariableChunk) -> Vec<(u8, &str)> {
        let text =
            |place: &std::ops::Range<usize>| std::str::from_utf8(&chunk.content[place.clone()]).unwrap();
        chunk.presence.iter().copied().zip(chunk.places.iter().map(text)).collect()
    }

    #[test]
    fn those_that_are_there_find_their_places() {
        let chain = compile(&plain("vlen-utf8"), 1).unwrap();
        let mut scratch = Scratch::default();
        let chunk = chain.decode(&stored(0b1010), &mut scratch).unwrap();
        assert_eq!(texts(&chunk), [(0, ""), (1, "a"), (0, ""), (1, "bc")]);
        for end in 0..stored(0b1010).len() {
            assert!(chain.decode(&stored(0b1010)[..end], &mut scratch).is_err());
        }
        for mask in [0b1011, 0b0010] {
            assert_eq!(chain.decode(&stored(mask), &mut scratch).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let none = [1u64, 0].map(u64::to_le_bytes).concat();
        let chunk = chain.decode(&[&none[..], &[0]].concat(), &mut scratch).unwrap();
        assert_eq!(texts(&chunk), [(0, ""); 4]);
    }

    #[test]
    fn what_may_be_missing_twice_is_looked_for_twice() {
        let nested = json!({"mask_codecs": ["packbits"], "data_codecs": [
            {"name": "optional", "configuration": plain("vlen-utf8")}]});
        let chain = compile(&nested, 2).unwrap();
        let within = stored(0b101);
        let mut bytes = [1, u64::try_from(within.len()).unwrap()].map(u64::to_le_bytes).concat();
        bytes.push(0b1101);
        bytes.extend(within);
        let chunk = chain.decode(&bytes, &mut Scratch::default()).unwrap();
        assert_eq!(texts(&chunk), [(2, "a"), (0, ""), (1, ""), (2, "bc")]);
    }

    #[test]
    fn other_codecs_are_invalid() {
        for (configuration, times) in [(plain("vlen-utf8"), 2), (plain("bytes"), 1), (plain("zstd"), 1)] {
            assert!(compile(&configuration, times).is_err(), "{configuration}");
        }
        assert!(compile(&plain("vlen-utf8"), 0).is_err());
        let plain = [Codec::from_v3("vlen-utf8", &Value::Null).unwrap()];
        let error = VariableChain::compile_optional(&plain, &[2], VariableElements::Strings, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
