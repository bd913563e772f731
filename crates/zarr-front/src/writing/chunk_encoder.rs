//! From elements to the stored bytes of one chunk.

use super::axis_part::AxisPart;
use super::elements::Spread;
use super::options::EmptyChunks;
use crate::compiled::Compiled;
use crate::metadata::{ArrayMetadata, ZarrFormat};
use crate::strided_copy::{CopyAxis, copy_box, is_repeated, repeat};
use crate::{Error, ErrorKind};
use swath_codecs::Scratch;

/// What a write is of: an array, and the elements that are put into it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) fill: &'a [u8],
    /// Whether chunks of nothing but the fill value are left out.
    pub(super) omits_empty: bool,
    pub(super) source: &'a Spread<'a>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        metadata: &'a ArrayMetadata,
        compiled: &'a Compiled,
        source: &'a Spread<'a>,
        empty_chunks: EmptyChunks,
    ) -> Subject<'a> {
        // What a v2 array without a fill value reads where nothing is stored is not defined, so all is stored.
        let is_defined = metadata.zarr_format() == ZarrFormat::V3
            || metadata.document().get("fill_value").is_some_and(|value| !value.is_null());
        let omits_empty = is_defined && empty_chunks == EmptyChunks::Omit;
        Subject { compiled, fill: metadata.fill_value().bytes(), omits_empty, source }
    }
}

/// The memory and contexts of a thread that encodes chunks, one after the other.
pub(super) struct ChunkEncoder<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) scratch: Scratch,
    chunk: Vec<u8>,
    encoded: Vec<u8>,
}

impl<'a> ChunkEncoder<'a> {
    pub(super) fn new(subject: Subject<'a>) -> ChunkEncoder<'a> {
        ChunkEncoder { subject, scratch: Scratch::default(), chunk: Vec::new(), encoded: Vec::new() }
    }

    /// The stored bytes of a chunk that `parts` are put into; `None` where it is not to be stored. Elements that are not
    /// written come from `stored`, or are the fill value.
    pub(super) fn encode(
        &mut self,
        parts: &[AxisPart],
        stored: Option<&[u8]>,
    ) -> Result<Option<&[u8]>, Error> {
        let Subject { compiled, fill, omits_empty, .. } = self.subject;
        let is_whole = covers(parts, &compiled.chunk_shape);
        let chunk = match own_run(&self.subject, parts).filter(|_| is_whole) {
            Some(run) => run,
            None => {
                self.chunk.resize(compiled.chain.decoded_len(), 0);
                match stored.filter(|_| !is_whole) {
                    Some(stored) => {
                        compiled.chain.decode_into(stored, &mut self.chunk, &mut self.scratch)?;
                    }
                    None if is_whole => {}
                    None => repeat(&mut self.chunk, fill),
                }
                put(&self.subject, parts, &mut self.chunk).ok_or_else(outside)?;
                &self.chunk
            }
        };
        if omits_empty && is_repeated(chunk, fill) {
            return Ok(None);
        }
        if compiled.chain.is_identity() {
            return Ok(Some(chunk));
        }
        compiled.chain.encode(chunk, &mut self.encoded, &mut self.scratch)?;
        Ok(Some(&self.encoded))
    }

    /// The stored bytes of a chunk of nothing but the fill value.
    pub(super) fn fill_chunk(&mut self) -> Result<Vec<u8>, Error> {
        let Subject { compiled, fill, .. } = self.subject;
        self.chunk.resize(compiled.chain.decoded_len(), 0);
        repeat(&mut self.chunk, fill);
        compiled.chain.encode(&self.chunk, &mut self.encoded, &mut self.scratch)?;
        Ok(self.encoded.clone())
    }
}

/// Whether every element of a box of these extents is written.
pub(super) fn covers(parts: &[AxisPart], extents: &[u64]) -> bool {
    parts.iter().zip(extents).all(|(part, extent)| part.covers(*extent))
}

/// The bytes of a whole chunk, where they lie in the source as they do in a chunk.
fn own_run<'a>(subject: &Subject<'a>, parts: &[AxisPart]) -> Option<&'a [u8]> {
    let (compiled, source) = (subject.compiled, subject.source);
    let mut run = subject.fill.len();
    for ((part, stride), extent) in parts.iter().zip(&source.strides).zip(&compiled.chunk_shape).rev() {
        let is_run = part.count == 1 || (part.step == 1 && *stride == run.cast_signed());
        if part.count != *extent || !is_run {
            return None;
        }
        run = run.checked_mul(usize::try_from(part.count).ok()?)?;
    }
    let start = source_start(subject, parts)?;
    source.bytes.get(start..start.checked_add(run)?)
}

/// Where the first element of `parts` lies in the source.
fn source_start(subject: &Subject<'_>, parts: &[AxisPart]) -> Option<usize> {
    let mut start = subject.source.first;
    for (part, stride) in parts.iter().zip(&subject.source.strides) {
        start = start.checked_add_signed(isize::try_from(part.number).ok()?.checked_mul(*stride)?)?;
    }
    Some(start)
}

/// Copies what is written of a chunk into its memory.
fn put(subject: &Subject<'_>, parts: &[AxisPart], chunk: &mut [u8]) -> Option<()> {
    let element = subject.fill.len();
    let mut axes = Vec::with_capacity(parts.len());
    let (mut stride, mut to) = (element, 0usize);
    let each = parts.iter().zip(&subject.source.strides).zip(&subject.compiled.chunk_shape);
    for ((part, source_stride), extent) in each.rev() {
        let step = isize::try_from(part.step).ok()?;
        axes.push(CopyAxis {
            count: usize::try_from(part.count).ok()?,
            source_stride: *source_stride,
            target_stride: stride.cast_signed().checked_mul(step)?,
        });
        to = to.checked_add(usize::try_from(part.first).ok()?.checked_mul(stride)?)?;
        stride = stride.checked_mul(usize::try_from(*extent).ok()?)?;
    }
    axes.reverse();
    let from = source_start(subject, parts)?;
    copy_box(&axes, element, (subject.source.bytes, from), (chunk, to))
}

fn outside() -> Error {
    Error::new(ErrorKind::Internal, "a write takes elements outside its source or its chunk")
}
