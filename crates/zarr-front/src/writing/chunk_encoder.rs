//! From elements to the stored bytes of one chunk.

use super::axis_part::AxisPart;
use super::chunk_form::ChunkForm;
use super::elements::Spread;
use super::listed_part::Pick;
use super::options::EmptyChunks;
use super::placed::Placed;
use super::stored_object::memory_of;
use crate::compiled::Compiled;
use crate::metadata::{ArrayMetadata, ZarrFormat};
use crate::strided_copy::{CopyAxis, copy_box, is_repeated, repeat};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use swath_codecs::{Picks, Scratch};

/// What a write is of: an array, and the elements that are put into it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) compiled: &'a Compiled,
    /// One element; of those of any length its place.
    pub(super) fill: &'a [u8],
    /// What that place is in.
    pub(super) fill_content: &'a [u8],
    /// Whether chunks of nothing but the fill value are left out.
    pub(super) omits_empty: bool,
    pub(super) source: &'a Spread<'a>,
    /// Which element of the source goes where, where elements are named one by one.
    pub(super) picks: Option<&'a Picks>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        metadata: &'a ArrayMetadata,
        compiled: &'a Compiled,
        (source, picks): (&'a Spread<'a>, Option<&'a Picks>),
        empty_chunks: EmptyChunks,
    ) -> Subject<'a> {
        // What a v2 array without a fill value reads where nothing is stored is not defined, so all is stored.
        let is_defined = metadata.zarr_format() == ZarrFormat::V3
            || metadata.document().get("fill_value").is_some_and(|value| !value.is_null());
        let omits_empty = is_defined && empty_chunks == EmptyChunks::Omit;
        let fill_content = metadata.fill_value().bytes();
        let fill = if compiled.variable.is_some() { &compiled.fill } else { fill_content };
        Subject { compiled, fill, fill_content, omits_empty, source, picks }
    }
}

/// Encodes chunks, one after the other, on one thread.
pub(super) struct ChunkEncoder<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) form: ChunkForm,
    pub(super) memory: EncoderMemory,
    /// The most bytes that elements of any length came to in a chunk that was decoded to keep some of them.
    pub(super) kept_bytes: u64,
}

/// The memory and contexts of a thread that encodes chunks, of whatever array: what is new to the process costs more than what is
/// done with it.
#[derive(Default)]
pub(super) struct EncoderMemory {
    pub(super) scratch: Scratch,
    pub(super) chunk: Vec<u8>,
    /// An object of before, for its memory.
    spare: Vec<u8>,
}

impl<'a> ChunkEncoder<'a> {
    pub(super) fn new(subject: Subject<'a>, memory: EncoderMemory) -> ChunkEncoder<'a> {
        ChunkEncoder { subject, form: ChunkForm::new(subject.compiled), memory, kept_bytes: 0 }
    }

    /// Puts the stored bytes of a chunk that something is put into behind what `target` holds; `false` where it is not to be
    /// stored. Elements that are not written come from `stored`, or are the fill value.
    pub(super) fn encode_behind(
        &mut self,
        placed: Placed<'_>,
        stored: Option<&[u8]>,
        target: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        if self.form.variable.is_some() {
            return self.encode_variable(placed, stored, target);
        }
        let Subject { fill, omits_empty, .. } = self.subject;
        let ChunkForm { shape, chain, .. } = &self.form;
        let is_whole = placed.covers(shape);
        let compiled = self.subject.compiled;
        // Fields in a foreign byte order are turned in a chunk of our own.
        let is_own = compiled.foreign.is_empty();
        let EncoderMemory { scratch, chunk, .. } = &mut self.memory;
        let encoded = match own_run(&self.subject, shape, placed).filter(|_| is_whole && is_own) {
            Some(run) => run,
            None => {
                make_room(chunk, chain.decoded_len());
                match stored.filter(|_| !is_whole) {
                    Some(stored) => {
                        chain.decode_into(stored, chunk, scratch)?;
                        compiled.turn_foreign(chunk);
                    }
                    None if is_whole => {}
                    None => repeat(chunk, fill),
                }
                put(&self.subject, shape, placed, chunk).ok_or_else(outside)?;
                &*chunk
            }
        };
        if omits_empty && is_repeated(encoded, fill) {
            return Ok(false);
        }
        let encoded = match is_own {
            true => encoded,
            false => {
                compiled.turn_foreign(chunk);
                chunk
            }
        };
        match chain.is_identity() {
            true => target.extend_from_slice(encoded),
            false => chain.encode_behind(encoded, target, scratch)?,
        }
        Ok(true)
    }

    /// The stored bytes of a chunk that is an object of its own; `None` where it is not to be stored. Their memory is to be
    /// given back by [`reuse`](Self::reuse).
    pub(super) fn encode_object(
        &mut self,
        placed: Placed<'_>,
        stored: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut object = self.spare();
        Ok(self.encode_behind(placed, stored, &mut object)?.then_some(object))
    }

    /// Memory for an object: that of one before, where it was given back. It is empty.
    pub(super) fn spare(&mut self) -> Vec<u8> {
        let mut spare = std::mem::take(&mut self.memory.spare);
        spare.clear();
        spare
    }

    /// Takes back the memory of an object that was written, unless the store has kept it.
    pub(super) fn reuse(&mut self, object: Bytes) {
        if let Some(memory) = memory_of(object) {
            self.reuse_part(memory);
        }
    }

    /// The same of a part of an object.
    pub(super) fn reuse_part(&mut self, part: Vec<u8>) {
        self.memory.spare = part;
    }

    /// The stored bytes of a chunk of nothing but the fill value.
    pub(super) fn fill_chunk(&mut self) -> Result<Vec<u8>, Error> {
        let mut object = self.spare();
        if self.form.variable.is_some() {
            self.encode_variable_fill(&mut object)?;
            return Ok(object);
        }
        let chain = &self.form.chain;
        let EncoderMemory { scratch, chunk, .. } = &mut self.memory;
        make_room(chunk, chain.decoded_len());
        // In the byte order that chunks are encoded from.
        repeat(chunk, &self.subject.compiled.fill);
        chain.encode(chunk, &mut object, scratch)?;
        Ok(object)
    }
}

/// Makes `chunk` so many bytes long; what they are is not defined. Memory that the system hands out as zeros is not filled
/// with zeros once more.
pub(super) fn make_room(chunk: &mut Vec<u8>, len: usize) {
    if chunk.len() != len {
        *chunk = vec![0; len];
    }
}

/// The bytes of a whole chunk, where they lie in the source as they do in a chunk.
fn own_run<'a>(subject: &Subject<'a>, shape: &[u64], placed: Placed<'_>) -> Option<&'a [u8]> {
    let Placed::Box(parts) = placed else { return None };
    let source = subject.source;
    let (mut run, mut start) = (subject.fill.len(), source.first);
    for ((part, stride), extent) in parts.iter().zip(&source.strides).zip(shape).rev() {
        let AxisPart::Stepped(part) = part else { return None };
        let is_run = part.count == 1 || (part.step == 1 && *stride == run.cast_signed());
        if part.count != *extent || !is_run {
            return None;
        }
        run = run.checked_mul(usize::try_from(part.count).ok()?)?;
        start = start.checked_add_signed(distance(part.number, *stride)?)?;
    }
    source.bytes.get(start..start.checked_add(run)?)
}

/// Bytes from element 0 to another, along an axis.
fn distance(number: u64, stride: isize) -> Option<isize> {
    isize::try_from(number).ok()?.checked_mul(stride)
}

/// Copies what is written of a chunk of this shape into its memory.
pub(super) fn put(subject: &Subject<'_>, shape: &[u64], placed: Placed<'_>, chunk: &mut [u8]) -> Option<()> {
    match placed {
        Placed::Box(parts) => put_box(subject, shape, parts, chunk),
        Placed::Tiles(tiles) => tiles.iter().try_for_each(|tile| put_tile(subject, shape, *tile, chunk)),
    }
}

fn put_box(subject: &Subject<'_>, shape: &[u64], parts: &[AxisPart<'_>], chunk: &mut [u8]) -> Option<()> {
    let (element, source) = (subject.fill.len(), subject.source);
    let mut axes = Vec::with_capacity(parts.len());
    let (mut stride, mut from, mut to) = (element, source.first, 0usize);
    let each = parts.iter().zip(&source.strides).zip(shape);
    for ((part, source_stride), extent) in each.rev() {
        let target_stride = stride.cast_signed();
        axes.push(match part {
            AxisPart::Stepped(part) => {
                from = from.checked_add_signed(distance(part.number, *source_stride)?)?;
                to = to.checked_add(usize::try_from(part.first).ok()?.checked_mul(stride)?)?;
                CopyAxis::Even {
                    count: usize::try_from(part.count).ok()?,
                    source_stride: *source_stride,
                    target_stride: target_stride.checked_mul(isize::try_from(part.step).ok()?)?,
                }
            }
            AxisPart::Listed(part) => {
                let place = |pick: Pick| {
                    Some((distance(pick.number, *source_stride)?, distance(pick.element, target_stride)?))
                };
                CopyAxis::Listed(part.picks().map(place).collect::<Option<_>>()?)
            }
        });
        stride = stride.checked_mul(usize::try_from(*extent).ok()?)?;
    }
    axes.reverse();
    copy_box(axes, element, (&source.bytes, from), (chunk, to))
}

/// Copies the elements of a tile, in the order in which they are named: of those of one place, the last one counts.
fn put_tile(subject: &Subject<'_>, shape: &[u64], tile: u64, chunk: &mut [u8]) -> Option<()> {
    let (element, source) = (subject.fill.len(), subject.source);
    let stride = source.strides.first().copied().unwrap_or(0);
    for (range, number) in subject.picks?.runs(tile) {
        let count = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let from = source.first.checked_add_signed(distance(number, stride)?)?;
        let start = own_number(range.start, &subject.compiled.chunk_shape, shape);
        let to = usize::try_from(start).ok()?.checked_mul(element)?;
        let target = chunk.get_mut(to..to.checked_add(count.checked_mul(element)?)?)?;
        match stride == element.cast_signed() {
            true => target.copy_from_slice(source.bytes.get(from..from.checked_add(target.len())?)?),
            false => {
                let found = source.bytes.get(from..from.checked_add(element)?)?;
                target.chunks_exact_mut(element.max(1)).for_each(|place| place.copy_from_slice(found));
            }
        }
    }
    Some(())
}

/// The number of an element of a chunk of this shape, which picks number as one of the longest chunks: they are the same where
/// all chunks have one shape. A run of picks is one by either.
fn own_number(mut number: u64, longest: &[u64], shape: &[u64]) -> u64 {
    if longest == shape {
        return number;
    }
    let (mut own, mut stride) = (0, 1);
    for (long, extent) in longest.iter().zip(shape).rev() {
        own += number % (*long).max(1) * stride;
        number /= (*long).max(1);
        stride *= extent;
    }
    own
}

#[cold]
pub(super) fn outside() -> Error {
    Error::new(ErrorKind::Internal, "a write takes elements outside its source or its chunk")
}
