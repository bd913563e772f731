//! A plan in parts that are written at once: whole shards each, so that no two touch the same object.

use super::plan::{FieldPlace, Hypercube, Plan, Variable};
use crate::{Error, ErrorKind, Piece};
use std::num::NonZeroI64;
use swath_zarr_front::{AxisSelection, Selection};

/// A box of a variable along the dimensions before the grid's, and all of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    /// Its number among all of the plan, by which a journal knows it.
    pub(super) number: usize,
    pub(super) group: usize,
    pub(super) variable: usize,
    /// The first cell along each dimension, and how many.
    pub(super) span: Vec<(u64, u64)>,
    /// Its cells, the last dimension running fastest.
    pub(super) cells: Vec<Option<FieldPlace>>,
}

/// The step of a slice.
const ONE: NonZeroI64 = match NonZeroI64::new(1) {
    Some(one) => one,
    None => NonZeroI64::MIN,
};

impl Slab {
    /// What it fills of its variable.
    pub(super) fn selection(&self) -> Result<Selection, Error> {
        let signed = |value: u64| {
            i64::try_from(value).map_err(|_| Error::new(ErrorKind::Invalid, "an array longer than 2^63"))
        };
        let slice = |(start, count): &(u64, u64)| {
            let (start, stop) = (Some(signed(*start)?), Some(signed(start + count)?));
            Ok(AxisSelection::Slice { start, stop, step: ONE })
        };
        let mut axes = self.span.iter().map(slice).collect::<Result<Vec<_>, Error>>()?;
        axes.push(AxisSelection::Ellipsis);
        Ok(Selection::new(axes))
    }

    /// Its shape, that of its group's grid behind.
    pub(super) fn shape(&self, group: &Hypercube) -> Vec<u64> {
        let grid = group.grid_dimensions.iter().map(|(_, len)| *len);
        self.span.iter().map(|(_, len)| *len).chain(grid).collect()
    }

    /// How many fields it has.
    pub(super) fn fields(&self) -> usize {
        self.cells.iter().flatten().count()
    }
}

impl Plan {
    /// The slabs of a piece that have a field, in the order in which their files are read forwards.
    pub(super) fn slabs(&self, piece: Piece) -> Vec<Slab> {
        let mut slabs = Vec::new();
        let mut number = 0;
        for (group, cube) in self.groups.iter().enumerate() {
            for (variable, of) in cube.variables.iter().enumerate() {
                for (span, cells) in boxes(cube, of) {
                    slabs.push(Slab { number, group, variable, span, cells });
                    number += 1;
                }
            }
        }
        for slab in &mut slabs {
            let is_new = |place: &FieldPlace| self.first_new_file <= place.file;
            slab.cells.iter_mut().for_each(|cell| *cell = cell.filter(is_new));
        }
        slabs.retain(|slab| slab.cells.iter().any(Option::is_some));
        slabs.sort_by_key(|slab| slab.cells.iter().flatten().min().copied());
        if piece == Piece::WHOLE {
            return slabs;
        }
        // Each slab belongs to the piece in which its middle lies when fields are counted.
        let total = slabs.iter().map(Slab::fields).sum::<usize>().max(1);
        let mut before = 0;
        slabs.retain(|slab| {
            let middle = before * 2 + slab.fields();
            before += slab.fields();
            piece.takes(middle, 2 * total)
        });
        slabs
    }
}

/// A box: the first cell along each dimension and how many, and the fields of its cells.
type CellBox = (Vec<(u64, u64)>, Vec<Option<FieldPlace>>);

/// The boxes of whole shards that a variable is cut into.
fn boxes<'a>(group: &'a Hypercube, variable: &'a Variable) -> impl Iterator<Item = CellBox> + 'a {
    let header = variable.dimensions.len();
    let shape: Vec<u64> = group.shape(variable).into_iter().take(header).collect();
    let objects = variable.shards.as_ref().unwrap_or(&variable.chunks);
    let extents: Vec<u64> = objects.iter().take(header).copied().collect();
    let grid: Vec<u64> = shape.iter().zip(&extents).map(|(len, extent)| len.div_ceil(*extent)).collect();
    let count: u64 = grid.iter().product();
    (0..count).map(move |number| {
        let at = unraveled(number, &grid);
        let span: Vec<(u64, u64)> = at
            .iter()
            .zip(&extents)
            .zip(&shape)
            .map(|((at, extent), len)| (at * extent, (*extent).min(len - at * extent)))
            .collect();
        let lens: Vec<u64> = span.iter().map(|(_, len)| *len).collect();
        let cells = (0..lens.iter().product()).map(|within| {
            let place = unraveled(within, &lens);
            let cell = place
                .iter()
                .zip(&span)
                .zip(&shape)
                .fold(0, |cell, ((at, (first, _)), len)| cell * len + first + at);
            usize::try_from(cell).ok().and_then(|cell| variable.cells.get(cell).copied().flatten())
        });
        (span.clone(), cells.collect())
    })
}

/// The place of a number among cells, the last dimension running fastest.
pub(super) fn unraveled(number: u64, lens: &[u64]) -> Vec<u64> {
    let mut rest = number;
    let mut place: Vec<u64> = lens
        .iter()
        .rev()
        .map(|len| {
            let at = rest % len.max(&1);
            rest /= len.max(&1);
            at
        })
        .collect();
    place.reverse();
    place
}
