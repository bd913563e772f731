//! From elements of any length to the stored bytes of one chunk.
//!
//! As for reads, elements go their way as places, which say where the bytes of each are: in the fill value, in what is written, or
//! in the chunk as it was stored.

use super::chunk_encoder::{ChunkEncoder, EncoderMemory, make_room, outside, put};
use super::placed::Placed;
use crate::data_type::PLACE_BYTES;
use crate::strided_copy::repeat;
use crate::variable::Place;
use crate::{Error, ErrorKind};
use swath_codecs::{VariableChain, VariableChunk};

/// The contents that places are in, by number: the fill value, what is written, the chunk as it was stored.
pub(super) const WRITTEN: u32 = 1;
const STORED: u32 = 2;

impl ChunkEncoder<'_> {
    /// Puts the stored bytes of a chunk of elements of any length behind what `target` holds, as
    /// [`encode_behind`](Self::encode_behind).
    pub(super) fn encode_variable(
        &mut self,
        placed: Placed<'_>,
        stored: Option<&[u8]>,
        target: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let Self { subject, form, memory: EncoderMemory { scratch, chunk, .. }, kept_bytes } = self;
        let chain = form.variable.as_ref().ok_or_else(outside)?;
        make_room(chunk, form.chain.decoded_len());
        let is_whole = placed.covers(&form.shape);
        if !is_whole {
            repeat(chunk, subject.fill);
        }
        let kept = stored.filter(|_| !is_whole).map(|stored| chain.decode(stored, scratch)).transpose()?;
        if let Some(kept) = &kept {
            *kept_bytes = (*kept_bytes).max(swath_ioengine::storage_len(kept.content.len()));
            put_stored(chain, kept, chunk)?;
        }
        put(subject, &form.shape, placed, chunk).ok_or_else(outside)?;
        let contents =
            [subject.fill_content, subject.source.content, kept.as_ref().map_or(&[], |kept| &kept.content)];
        let found = found(chunk, contents).ok_or_else(outside)?;
        if subject.omits_empty && is_fill(&found, subject.fill, contents) {
            return Ok(false);
        }
        encode(chain, &found, target, scratch)?;
        Ok(true)
    }

    /// Puts the stored bytes of a chunk of nothing but the fill value behind what `target` holds, of an array of elements of
    /// any length.
    pub(super) fn encode_variable_fill(&mut self, target: &mut Vec<u8>) -> Result<(), Error> {
        let Self { subject, form, memory: EncoderMemory { scratch, chunk, .. }, .. } = self;
        let chain = form.variable.as_ref().ok_or_else(outside)?;
        make_room(chunk, form.chain.decoded_len());
        repeat(chunk, subject.fill);
        let found = found(chunk, [subject.fill_content, &[], &[]]).ok_or_else(outside)?;
        encode(chain, &found, target, scratch)
    }
}

/// An element: its bytes, or how many of the times that it may be missing it is there.
type Found<'a> = Result<&'a [u8], u8>;

/// Puts the places of a chunk as it was stored into memory, in C order.
fn put_stored(chain: &VariableChain, kept: &VariableChunk, chunk: &mut [u8]) -> Result<(), Error> {
    let places = chunk.as_chunks_mut::<PLACE_BYTES>().0;
    for (number, (element, source)) in chain.stored_order().into_iter().zip(&kept.places).enumerate() {
        let place = match chain.missing(kept, number) {
            Some(present) => Place::Missing { present },
            None => Place::At { chunk: STORED, bytes: source.clone() },
        };
        *places.get_mut(element).ok_or_else(outside)? = place.to_bytes().ok_or_else(outside)?;
    }
    Ok(())
}

/// The elements that lie at the places of a chunk.
fn found<'a>(chunk: &[u8], contents: [&'a [u8]; 3]) -> Option<Vec<Found<'a>>> {
    let element = |place: &[u8; PLACE_BYTES]| {
        Some(match Place::from_bytes(place)? {
            Place::Missing { present } => Err(present),
            Place::At { chunk, bytes } => Ok(contents.get(usize::try_from(chunk).ok()?)?.get(bytes)?),
        })
    };
    chunk.as_chunks::<PLACE_BYTES>().0.iter().map(element).collect()
}

fn is_fill(elements: &[Found<'_>], fill: &[u8], contents: [&[u8]; 3]) -> bool {
    let Some(Some(fill)) = found(fill, contents).map(|fill| fill.first().copied()) else { return false };
    elements.iter().all(|element| *element == fill)
}

/// Stored bytes of a chunk, at most: those that readers take.
const STORED_BYTES_MAX: u64 = crate::compiled::VARIABLE_LEN_MAX;

fn encode(
    chain: &VariableChain,
    elements: &[Found<'_>],
    target: &mut Vec<u8>,
    scratch: &mut swath_codecs::Scratch,
) -> Result<(), Error> {
    let times = chain.times();
    let bytes: Vec<&[u8]> = elements.iter().map(|element| element.unwrap_or_default()).collect();
    let presence: Vec<u8> = match times {
        0 => Vec::new(),
        times => elements.iter().map(|element| element.map_or_else(|present| present, |_| times)).collect(),
    };
    let mut encoded = Vec::new();
    chain.encode(&bytes, &presence, &mut encoded, scratch)?;
    let len = swath_ioengine::storage_len(encoded.len());
    if STORED_BYTES_MAX < len {
        let message = format!("a chunk of {len} bytes of elements of any length: smaller chunks are written");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    target.extend_from_slice(&encoded);
    Ok(())
}
