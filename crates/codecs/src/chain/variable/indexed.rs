//! Elements of any length, and the two chains that store their offsets and their bytes.

use std::ops::Range;

use super::super::{Chain, Checksums};
use crate::codec::Codec;
use crate::error::Error;
use crate::layout::{ChunkLayout, Element};
use crate::number::NumberType;
use crate::scratch::{Scratch, room};
use crate::variable::{IndexedCodec, OffsetsLocation};

const NAME: &str = "vlen";
const LENGTH_BYTES: usize = 8;

/// The codec for chunks of a known number of elements.
#[derive(Debug, Clone)]
pub(super) struct IndexedStage {
    offsets: Chain,
    /// What stores the elements' bytes, whose number only the offsets tell.
    data: Vec<Codec>,
    location: OffsetsLocation,
    offset_bytes: usize,
    checksums: Checksums,
}

impl IndexedStage {
    /// Compiles the codec for chunks of `count` elements.
    ///
    /// # Errors
    ///
    /// As [`Chain::compile`] for the codecs of either part.
    pub(super) fn new(codec: &IndexedCodec, count: usize) -> Result<Self, Error> {
        let element = Element::number(codec.offset);
        let count = (count as u64).saturating_add(1);
        let offsets = Chain::compile(&codec.offsets, &ChunkLayout { shape: vec![count], element })?;
        Chain::compile(&codec.data, &bytes_of(1))?;
        let (data, location) = (codec.data.clone(), codec.location);
        Ok(Self { offsets, data, location, offset_bytes: element.size_bytes, checksums: Checksums::Verify })
    }

    pub(super) fn set_checksums(&mut self, checksums: Checksums) {
        self.offsets.set_checksums(checksums);
        self.checksums = checksums;
    }

    /// Decodes a chunk to the elements' bytes, at most so many, and where each lies.
    pub(super) fn decode(
        &self,
        source: &[u8],
        bytes_max: usize,
        scratch: &mut Scratch,
    ) -> Result<(Vec<u8>, Vec<Range<usize>>), Error> {
        let (offsets, data) = self.parts(source).ok_or_else(|| {
            Error::corrupt(NAME, format!("wanted offsets of a stated length, found {} bytes", source.len()))
        })?;
        let mut decoded = Vec::new();
        self.offsets.decode_into(offsets, room(&mut decoded, self.offsets.decoded_len())?, scratch)?;
        let mut places = Vec::with_capacity(decoded.len() / self.offset_bytes);
        let mut ends = decoded.chunks_exact(self.offset_bytes).map(number);
        let mut before = ends.next().flatten().unwrap_or(0);
        for (element, end) in ends.enumerate() {
            let end = end.filter(|end| before <= *end).ok_or_else(|| {
                Error::corrupt(NAME, format!("element {element} ends before it starts, at {before}"))
            })?;
            places.push(before..end);
            before = end;
        }
        if bytes_max < before {
            let found = source.len();
            return Err(Error::corrupt(
                NAME,
                format!(
                    "wanted at most {bytes_max} bytes of elements in {found} stored ones, found {before}"
                ),
            ));
        }
        let mut content = Vec::new();
        if before != 0 {
            let chain = Chain::compile(&self.data, &bytes_of(before))?.with_checksums(self.checksums);
            content.try_reserve_exact(before).map_err(|_| {
                Error::internal(NAME, format!("wanted memory for {before} bytes of a chunk, found none"))
            })?;
            content.resize(before, 0);
            chain.decode_into(data, &mut content, scratch)?;
        }
        Ok((content, places))
    }

    /// Encodes the elements of a chunk.
    pub(super) fn encode(&self, elements: &[&[u8]], scratch: &mut Scratch) -> Result<Vec<u8>, Error> {
        let mut offsets = Vec::with_capacity((elements.len() + 1) * self.offset_bytes);
        let mut end = 0usize;
        self.push_offset(&mut offsets, end)?;
        for element in elements {
            end = end.saturating_add(element.len());
            self.push_offset(&mut offsets, end)?;
        }
        let (mut index, mut data) = (Vec::new(), Vec::new());
        self.offsets.encode(&offsets, &mut index, scratch)?;
        if end != 0 {
            let chain = Chain::compile(&self.data, &bytes_of(end))?;
            chain.encode(&elements.concat(), &mut data, scratch)?;
        }
        let length = (index.len() as u64).to_le_bytes();
        Ok(match self.location {
            OffsetsLocation::Start => [&length[..], &index, &data].concat(),
            OffsetsLocation::End => [&data[..], &index, &length].concat(),
        })
    }

    /// Adds an offset in native order.
    fn push_offset(&self, offsets: &mut Vec<u8>, offset: usize) -> Result<(), Error> {
        if self.offset_bytes == LENGTH_BYTES {
            offsets.extend((offset as u64).to_ne_bytes());
            return Ok(());
        }
        let short = u32::try_from(offset).map_err(|_| {
            Error::invalid(NAME, format!("wanted offsets of 32 bits, found elements of {offset} bytes"))
        })?;
        offsets.extend(short.to_ne_bytes());
        Ok(())
    }

    /// The stored offsets, and the stored bytes.
    fn parts<'a>(&self, source: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let length = |bytes: &[u8; LENGTH_BYTES]| usize::try_from(u64::from_le_bytes(*bytes)).ok();
        match self.location {
            OffsetsLocation::Start => {
                let (bytes, rest) = source.split_first_chunk()?;
                rest.split_at_checked(length(bytes)?)
            }
            OffsetsLocation::End => {
                let (rest, bytes) = source.split_last_chunk()?;
                let (data, offsets) = rest.split_at_checked(rest.len().checked_sub(length(bytes)?)?)?;
                Some((offsets, data))
            }
        }
    }
}

/// A chunk of so many bytes.
fn bytes_of(count: usize) -> ChunkLayout {
    ChunkLayout { shape: vec![count as u64], element: Element::number(NumberType::UInt8) }
}

/// A number of 32 or 64 bits in native order.
fn number(bytes: &[u8]) -> Option<usize> {
    match bytes.first_chunk::<8>() {
        Some(bytes) => usize::try_from(u64::from_ne_bytes(*bytes)).ok(),
        None => usize::try_from(u32::from_ne_bytes(*bytes.first_chunk::<4>()?)).ok(),
    }
}
