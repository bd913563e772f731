//! Runs a chain backwards.

use std::ops::Range;

use super::stage::{Stage, StageCodec};
use super::{Chain, Checksums};
use crate::checksum::{CHECKSUM_BYTES, ChecksumCodec};
use crate::error::{Error, Wanted};
use crate::scratch::{Buffers, Contexts, Scratch, room};

/// A decoded chunk whose transpose and byte swap are left to whoever copies out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedChunk<'a> {
    /// Elements in the stored order: all, or a part of them.
    pub bytes: &'a [u8],
    /// Bytes of the chunk that lie before `bytes`: 0 where these are all.
    pub start: usize,
    /// Bytes between neighbours along each logical axis of the chunk in `bytes`.
    pub strides: &'a [usize],
    /// `Some(unit)` when each unit of that many bytes is stored in foreign order.
    pub swap_unit_bytes: Option<usize>,
}

/// Where the bytes of a stage lie.
#[derive(Debug, Clone)]
struct Located {
    place: Place,
    range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Source,
    First,
    Second,
    Target,
}

impl Chain {
    /// Decodes one stored chunk straight to C order, native endian.
    ///
    /// Writes all of `target`, whose length must be [`decoded_len`](Self::decoded_len), and never reads what it held.
    /// After an error, what `target` holds is not defined.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `source` is not what the chain writes, or decodes to more or fewer bytes. `Checksum` when a
    /// checksum does not match. `Unsupported` when the stored bytes themselves name a compressor that is not there.
    /// `Internal` when `target` has another length, or when a library found no memory.
    pub fn decode_into(&self, source: &[u8], target: &mut [u8], scratch: &mut Scratch) -> Result<(), Error> {
        if target.len() != self.decoded_len {
            return Err(self.wrong_caller_length("a target", target.len()));
        }
        if self.to_native.keeps_order() && self.stages.first().is_some_and(|stage| !stage.is_view()) {
            self.undo_stages(source, Some(&mut *target), scratch)?;
            self.to_native.swap(target);
        } else {
            let located = self.undo_stages(source, None, scratch)?;
            self.to_native.copy(located.bytes(source, &scratch.buffers), target);
        }
        Ok(())
    }

    /// Decodes one stored chunk and leaves transpose and byte swap to the reader.
    ///
    /// The bytes are borrowed from `source` itself where nothing is compressed, otherwise from `scratch`.
    ///
    /// # Errors
    ///
    /// As for [`decode_into`](Self::decode_into).
    pub fn decode_view<'a>(
        &'a self,
        source: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<DecodedChunk<'a>, Error> {
        let located = self.undo_stages(source, None, scratch)?;
        Ok(DecodedChunk {
            bytes: located.bytes(source, &scratch.buffers),
            start: 0,
            strides: &self.strides,
            swap_unit_bytes: self.swap_unit_bytes,
        })
    }

    /// Sees some of a stored chunk's bytes, those from `start` on, as that part of the chunk.
    ///
    /// # Errors
    ///
    /// `Internal` where stored bytes are not the elements themselves (see [`part_strides`](Self::part_strides)), or
    /// those given reach past the chunk's end.
    #[inline]
    pub fn view_part<'a>(&'a self, bytes: &'a [u8], start: usize) -> Result<DecodedChunk<'a>, Error> {
        let end = start.checked_add(bytes.len()).filter(|end| *end <= self.decoded_len);
        let Some((_, strides)) = end.zip(self.part_strides()) else {
            return Err(not_a_part(start, bytes.len()));
        };
        Ok(DecodedChunk { bytes, start, strides, swap_unit_bytes: self.swap_unit_bytes })
    }

    /// Sees what [`decode_into`](Self::decode_into) wrote, a chunk in C order and native byte order, as a decoded chunk, to
    /// copy parts of it elsewhere.
    #[must_use]
    pub fn view_decoded<'a>(&'a self, decoded: &'a [u8]) -> DecodedChunk<'a> {
        DecodedChunk { bytes: decoded, start: 0, strides: &self.native_strides, swap_unit_bytes: None }
    }

    /// Undoes the bytes->bytes codecs, last to first; the very last to run writes to `target` where there is one.
    ///
    /// What it returns is `decoded_len` bytes.
    fn undo_stages(
        &self,
        source: &[u8],
        mut target: Option<&mut [u8]>,
        scratch: &mut Scratch,
    ) -> Result<Located, Error> {
        let Scratch { contexts, buffers } = scratch;
        let mut current = Located { place: Place::Source, range: 0..source.len() };
        for (index, stage) in self.stages.iter().enumerate().rev() {
            current = match (&stage.codec, index, &mut target) {
                (StageCodec::Checksum(codec), _, _) => {
                    let stored = current.bytes(source, buffers);
                    let start = current.range.start + self.content_offset(*codec, stored, stage.wanted)?;
                    let range = start..start + (stored.len() - CHECKSUM_BYTES);
                    Located { place: current.place, range }
                }
                (_, 0, Some(target)) => {
                    let written = stage.decode(current.bytes(source, buffers), target, contexts)?;
                    Located { place: Place::Target, range: 0..written }
                }
                _ => current.decode_to_buffer(stage, source, buffers, contexts)?,
            };
        }
        // Every stage has checked its own length; without any, or with none that knows it, this is the check.
        Wanted::Exactly(self.decoded_len).check("bytes", current.range.len())?;
        Ok(current)
    }

    /// Checks length and checksum of stored bytes with a checksum; where the content starts in them.
    fn content_offset(&self, codec: ChecksumCodec, stored: &[u8], wanted: Wanted) -> Result<usize, Error> {
        let (content, checksum) = codec.split(stored)?;
        wanted.check(codec.algorithm.name(), content.len())?;
        if self.checksums == Checksums::Verify {
            codec.verify(content, checksum)?;
        }
        Ok(codec.content_start())
    }

    pub(super) fn wrong_caller_length(&self, what: &str, found: usize) -> Error {
        Error::internal("chain", format!("wanted {what} of {} bytes, found {found}", self.decoded_len))
    }
}

impl Located {
    fn bytes<'a>(&self, source: &'a [u8], buffers: &'a Buffers) -> &'a [u8] {
        match self.place {
            Place::Source => &source[self.range.clone()],
            Place::First => &buffers.first[self.range.clone()],
            Place::Second => &buffers.second[self.range.clone()],
            // The caller holds the target, and asks only where it gave none.
            Place::Target => &[],
        }
    }

    /// Decodes one stage to the buffer that does not hold its source.
    fn decode_to_buffer(
        &self,
        stage: &Stage,
        source: &[u8],
        buffers: &mut Buffers,
        contexts: &mut Contexts,
    ) -> Result<Self, Error> {
        let Buffers { first, second, .. } = buffers;
        let (from, to, place) = match self.place {
            Place::First => (&first[..], second, Place::Second),
            Place::Second => (&second[..], first, Place::First),
            Place::Source | Place::Target => (source, first, Place::First),
        };
        let from = &from[self.range.clone()];
        let written = match stage.wanted {
            Wanted::AtMost(most) if to.len().max(ROOM_BYTES) < most => {
                decode_growing(stage, (from, most), to, contexts)?
            }
            wanted => stage.decode(from, room(to, wanted.bytes())?, contexts)?,
        };
        Ok(Self { place, range: 0..written })
    }
}

/// What a stage that may decode to more bytes than this gets at first: few do, and memory that is touched is taken.
const ROOM_BYTES: usize = 1 << 20;

/// Decodes a stage to at most `most` bytes, with ever more room until they fit.
#[cold]
fn decode_growing(
    stage: &Stage,
    (source, most): (&[u8], usize),
    target: &mut Vec<u8>,
    contexts: &mut Contexts,
) -> Result<usize, Error> {
    let mut length = source.len().saturating_mul(4).max(target.len()).max(ROOM_BYTES).min(most);
    loop {
        let decoded = stage.decode_wanted(Wanted::AtMost(length), source, room(target, length)?, contexts);
        match decoded {
            Err(error) if error.is_too_long() && length < most => {
                length = length.saturating_mul(4).min(most);
            }
            decoded => return decoded,
        }
    }
}

#[cold]
fn not_a_part(start: usize, len: usize) -> Error {
    Error::internal("chain", format!("wanted a part of a chunk, found {len} bytes at {start}"))
}
