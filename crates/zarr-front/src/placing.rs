//! Putting what arrived into the results: chunks are decoded, or copied from where they lie.

use crate::decoded_cache::Version;
use crate::note::ChunkPart;
use crate::placement::Placement;
use crate::read_batch::ReadBatch;
use crate::{Error, ErrorKind};
use swath_codecs::{Chain, DecodedChunk, Scratch, Tile};
use swath_ioengine::{Arrival, ObjectRef, Piece, Scratch as LaneScratch};

impl ReadBatch<'_> {
    #[inline]
    fn claim(&self, placement: &Placement) -> Result<Tile<'_>, Error> {
        self.results.output.claim(placement.result(), placement.tile).ok_or_else(filled_twice)
    }

    /// Copies a chunk, or a part of it, from where it lies to where it is wanted.
    pub(crate) fn place_piece(
        &self,
        placements: &[Placement],
        part: ChunkPart,
        piece: &Piece<'_>,
    ) -> Result<(), Error> {
        let chain = &self.array.compiled.chain;
        let Some((start, strides)) = raw_part(chain, part, piece.len()) else {
            return Err(no_raw_part(chain, piece.len()));
        };
        for placement in placements {
            let copy = |at: usize, stride: usize, rows: &mut [&mut [u8]]| {
                piece.scatter(at, stride, rows).map_err(Error::from)
            };
            self.claim(placement)?.fill_rows(strides, (start, piece.len()), copy)?;
        }
        Ok(())
    }

    /// Decodes a chunk and puts it where it is wanted.
    pub(crate) fn place(
        &self,
        placements: &[Placement],
        part: ChunkPart,
        stored: &[u8],
        scratch: &mut LaneScratch,
    ) -> Result<(), Error> {
        let compiled = &self.array.compiled;
        let shaped = compiled.shaped.as_ref().zip(placements.first());
        let shaped = shaped.map(|(shaped, first)| shaped.of(first, &self.results.output)).transpose()?;
        let (chain, variable) = match &shaped {
            None => (&compiled.chain, &compiled.variable),
            Some(chains) => (&chains.chain, &chains.variable),
        };
        // Nothing is encoded, so nothing is decoded.
        if let Some((start, _)) = raw_part(chain, part, stored.len()) {
            let part = chain.view_part(stored, start)?;
            return self.write_tiles(placements, &part);
        }
        let scratch = scratch.get::<Scratch>();
        if self.fields.is_some() {
            return self.write_tiles(placements, &chain.decode_view(stored, scratch)?);
        }
        let Some((first, others)) = placements.split_first() else { return Ok(()) };
        let mut first = self.claim(first)?;
        if chain.decodes_in_place() && first.covers(&compiled.chunk_shape) {
            first = match first.into_contiguous() {
                Ok(target) => {
                    chain.decode_into(stored, target, scratch)?;
                    return self.write_tiles(others, &chain.view_decoded(target));
                }
                Err(tile) => tile,
            };
        }
        if let (Some(variable), Some(contents)) = (variable, self.results.contents()) {
            let others = others.iter().map(|placement| self.claim(placement));
            return contents.place(variable, stored, scratch, first, others);
        }
        let chunk = chain.decode_view(stored, scratch)?;
        first.write(&chunk)?;
        self.write_tiles(others, &chunk)
    }

    /// Copies a decoded chunk, or the part of it that there is, to where it is wanted.
    pub(crate) fn write_tiles(
        &self,
        placements: &[Placement],
        chunk: &DecodedChunk<'_>,
    ) -> Result<(), Error> {
        match &self.fields {
            None => self.write_whole(placements, chunk),
            Some(fields) => {
                let (mut packed, mut strides) = (Vec::new(), Vec::new());
                self.write_whole(placements, &fields.see(chunk, (&mut packed, &mut strides)))
            }
        }
    }

    /// Copies what there is of every element.
    #[inline]
    fn write_whole(&self, placements: &[Placement], chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        for placement in placements {
            self.claim(placement)?.write(chunk)?;
        }
        Ok(())
    }

    /// Puts a chunk that was read, or what kept it from being read, where it is wanted.
    pub(crate) fn chunk_arrived(
        &self,
        (placements, part): (&[Placement], ChunkPart),
        keep: Option<Version>,
        result: &Result<Arrival<'_>, swath_ioengine::Error>,
        (object, scratch): (&ObjectRef, &mut LaneScratch),
    ) {
        let placed = match result {
            Ok(Arrival::Placed(_)) => {
                Err(Error::new(ErrorKind::Internal, "a chunk was placed without a target"))
            }
            Ok(Arrival::Piece(piece)) => self.place_piece(placements, part, piece),
            Ok(Arrival::Bytes(stored)) => match keep {
                Some(version) => self.place_and_keep(placements, version, stored, scratch.get()),
                None => self.place(placements, part, stored, scratch),
            },
            Err(error) if self.says_missing(error) => return self.fill(placements),
            Err(error) => Err(self.storage_error(error.clone())),
        };
        if let Err(error) = placed {
            self.fail(placements, &error.with_object(&object.key));
        }
    }
}

#[cold]
fn filled_twice() -> Error {
    Error::new(ErrorKind::Internal, "a tile was filled twice")
}

/// Where in a chunk `len` stored bytes start that are its elements as they are, and how far apart these are; `None` of
/// what is encoded, or is no chunk by its length.
#[inline]
fn raw_part(chain: &Chain, part: ChunkPart, len: usize) -> Option<(usize, &[usize])> {
    let strides = chain.part_strides()?;
    match part {
        ChunkPart::From(start) => Some((start as usize, strides)),
        ChunkPart::Whole if len == chain.decoded_len() => Some((0, strides)),
        ChunkPart::Whole => None,
    }
}

/// Why stored bytes are neither a chunk nor a part of one that can be placed as they are.
#[cold]
fn no_raw_part(chain: &Chain, len: usize) -> Error {
    if chain.part_strides().is_none() {
        return Error::new(ErrorKind::Internal, "a part of an encoded chunk was read");
    }
    Error::new(ErrorKind::Corrupt, format!("wanted a chunk of {} bytes, found {len}", chain.decoded_len()))
}
