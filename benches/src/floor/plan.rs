//! Which chunks a case needs, and where their rows go: worked out once, before the clock runs.

use crate::metadata::{Codec, Layout};
use crate::objects::{Objects, Stored};
use crate::tiles::{Nest, Nests, Tile, axis_tiles};
use protocol::{ArrayCase, Failure, Mode, Refused};
use std::ops::Range;
use std::path::PathBuf;

/// Everything that a pass does.
pub(crate) struct Plan {
    /// The files that are read.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) nests: Vec<Nest>,
    /// Chunks of each call: one range for a batch, one a selection otherwise.
    pub(crate) stages: Vec<Range<usize>>,
    /// Decoded bytes of what is read at once.
    pub(crate) unit_bytes: usize,
    /// Stored bytes of the largest.
    pub(crate) stored_bytes_max: usize,
    pub(crate) output_bytes: usize,
}

/// One read: an inner chunk, or a slab of one that is stored as it is.
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Index into the files; [`FILL`] for what is not stored.
    pub(crate) file: u32,
    pub(crate) pieces_start: u32,
    pub(crate) pieces_len: u32,
}

/// The file of chunks that are not stored.
pub(crate) const FILL: u32 = u32::MAX;

/// A part of a chunk that goes to one place of the output.
pub(crate) struct Piece {
    pub(crate) target: u64,
    pub(crate) source: u32,
    pub(crate) nest: u32,
}

/// A piece, before pieces are sorted by what is read.
struct Wanted {
    object: u64,
    offset: u64,
    len: u32,
    piece: Piece,
}

/// Chunks that are stored as they are and larger than this are read slab by slab, so that the bytes are still in a
/// second-level cache when they are copied.
const SLAB_BYTES: usize = 256 << 10;

impl Plan {
    /// Works out what `case` needs.
    pub(crate) fn new(layout: &Layout, case: &ArrayCase) -> Result<Plan, Failure> {
        let unit = unit_shape(layout);
        let unit_bytes = unit.iter().product::<u64>() as usize * layout.item_bytes;
        if u32::try_from(layout.inner_bytes()).is_err() {
            return Err(Refused("the floor wants chunks of less than 4 GiB".to_owned()).into());
        }
        let mut planner = Planner {
            layout,
            unit_bytes,
            unit,
            objects: Objects::new(layout),
            nests: Nests::default(),
            wanted: Vec::new(),
        };
        let selection_bytes = case.elements() * layout.item_bytes;
        let output_bytes = selection_bytes * case.selections.len();
        let mut plan = Plan {
            files: Vec::new(),
            chunks: Vec::new(),
            pieces: Vec::new(),
            nests: Vec::new(),
            stages: Vec::new(),
            unit_bytes,
            stored_bytes_max: 0,
            output_bytes,
        };
        let mut file_objects: Vec<u64> = Vec::new();
        for (number, corner) in case.selections.iter().enumerate() {
            planner.select(corner, &case.selection_shape, number * selection_bytes)?;
            if case.mode == Mode::OneByOne || number + 1 == case.selections.len() {
                planner.finish_stage(&mut plan, &mut file_objects);
            }
        }
        plan.nests = planner.nests.into_list();
        plan.files = file_objects.iter().map(|object| planner.objects.path(*object)).collect();
        plan.stored_bytes_max = plan.chunks.iter().map(|chunk| chunk.len as usize).max().unwrap_or(0);
        Ok(plan)
    }
}

/// What is read at once: an inner chunk, or some whole rows of its first axis that has any.
fn unit_shape(layout: &Layout) -> Vec<u64> {
    let mut unit = layout.inner.clone();
    if layout.codec == Codec::Raw
        && let Some(axis) = unit.iter().position(|extent| 1 < *extent)
    {
        let row_bytes = layout.inner_bytes() as u64 / unit[axis];
        let rows_max = (SLAB_BYTES as u64 / row_bytes).clamp(1, unit[axis]);
        let is_divisor = |rows: &u64| unit[axis].is_multiple_of(*rows);
        unit[axis] = (1..=rows_max).rev().find(is_divisor).unwrap_or(1);
    }
    unit
}

struct Planner<'a> {
    layout: &'a Layout,
    unit: Vec<u64>,
    unit_bytes: usize,
    objects: Objects<'a>,
    nests: Nests,
    wanted: Vec<Wanted>,
}

impl Planner<'_> {
    /// Adds what one selection needs; its result starts at `target` of the output.
    fn select(&mut self, corner: &[u64], extents: &[u64], target: usize) -> Result<(), Failure> {
        let axes: Vec<Vec<Tile>> = (0..self.layout.shape.len())
            .map(|axis| axis_tiles(corner[axis], extents[axis], self.unit[axis]))
            .collect();
        if axes.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut at = vec![0usize; axes.len()];
        loop {
            let tiles: Vec<Tile> = axes.iter().zip(&at).map(|(axis, at)| axis[*at]).collect();
            self.want(&tiles, extents, target)?;
            let Some(axis) = (0..axes.len()).rev().find(|axis| at[*axis] + 1 < axes[*axis].len()) else {
                return Ok(());
            };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
    }

    fn want(&mut self, tiles: &[Tile], extents: &[u64], target: usize) -> Result<(), Failure> {
        let item = self.layout.item_bytes;
        let (source, within) =
            (offset_of(tiles, &self.unit, |tile| tile.source), offset_of(tiles, extents, |tile| tile.target));
        let nest = self.nests.number(tiles, &self.unit, extents, item)?;
        let first: Vec<u64> = tiles.iter().zip(&self.unit).map(|(tile, extent)| tile.unit * extent).collect();
        let (object, offset, len) = match self.objects.find(&first)? {
            Stored::At { object, offset, len } if self.layout.codec == Codec::Raw => {
                let inner = self.layout.inner_bytes();
                if len != inner as u64 {
                    return Err(format!("wanted a chunk of {inner} bytes, found {len}").into());
                }
                (object, offset + self.slab(&first) as u64, self.unit_bytes as u32)
            }
            Stored::At { object, offset, len } => (object, offset, u32::try_from(len)?),
            Stored::Missing => (u64::MAX, 0, 0),
        };
        let piece = Piece { target: (target + within * item) as u64, source: (source * item) as u32, nest };
        self.wanted.push(Wanted { object, offset, len, piece });
        Ok(())
    }

    /// Where the slab that starts at these elements lies in its chunk, in bytes.
    fn slab(&self, first: &[u64]) -> usize {
        let inner = &self.layout.inner;
        let elements = first.iter().zip(inner).fold(0, |sum, (first, extent)| sum * extent + first % extent);
        elements as usize * self.layout.item_bytes
    }

    /// Makes one stage of all that was wanted since the last: each chunk once, in storage order.
    fn finish_stage(&mut self, plan: &mut Plan, file_objects: &mut Vec<u64>) {
        let start = plan.chunks.len();
        self.wanted.sort_unstable_by_key(|wanted| (wanted.object, wanted.offset, wanted.piece.target));
        let mut previous = None;
        for wanted in self.wanted.drain(..) {
            let place = (wanted.object, wanted.offset);
            let file = match wanted.object {
                u64::MAX => FILL,
                object => self.objects.file_number(object, file_objects),
            };
            if file == FILL || previous != Some(place) {
                let pieces_start = plan.pieces.len() as u32;
                let (offset, len) = (wanted.offset, wanted.len);
                plan.chunks.push(Chunk { offset, len, file, pieces_start, pieces_len: 0 });
                previous = Some(place);
            }
            if let Some(chunk) = plan.chunks.last_mut() {
                chunk.pieces_len += 1;
            }
            plan.pieces.push(wanted.piece);
        }
        if self.layout.codec == Codec::Raw {
            for chunk in &mut plan.chunks[start..] {
                trim(chunk, &mut plan.pieces, &self.nests);
            }
        }
        plan.stages.push(start..plan.chunks.len());
    }
}

/// Of what is stored as it is, reads only from the first byte that is needed to the last.
fn trim(chunk: &mut Chunk, pieces: &mut [Piece], nests: &Nests) {
    if chunk.file == FILL {
        return;
    }
    let pieces = &mut pieces[chunk.pieces_start as usize..][..chunk.pieces_len as usize];
    let start = pieces.iter().map(|piece| piece.source).min().unwrap_or(0);
    let end = pieces.iter().map(|piece| piece.source + nests.span(piece.nest)).max().unwrap_or(0);
    pieces.iter_mut().for_each(|piece| piece.source -= start);
    chunk.offset += u64::from(start);
    chunk.len = end - start;
}

/// Elements before a tile's first, in C order.
fn offset_of(tiles: &[Tile], extents: &[u64], start: impl Fn(&Tile) -> u64) -> usize {
    tiles.iter().zip(extents).fold(0, |sum, (tile, extent)| sum * extent + start(tile)) as usize
}
