//! A plan in parts that are written at once: whole shards each, so that no two touch the same object.

use super::plan::{FieldPlace, Hypercube, Plan, Variable};
use crate::{Error, ErrorKind, Piece};
use std::num::NonZeroI64;
use swath_zarr_front::{AxisSelection, Selection};

/// Whole shards of a variable, or chunks where it has no shards, over all of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    /// Its number among all of the plan, by which a journal knows it.
    pub(super) number: usize,
    pub(super) group: usize,
    pub(super) variable: usize,
    pub(super) of: CellBox,
}

/// A box of a variable along the dimensions before the grid's, and all of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellBox {
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

impl CellBox {
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

    /// The coordinates of its first element.
    pub(super) fn first(&self, group: &Hypercube) -> Vec<u64> {
        let grid = group.grid_dimensions.iter().map(|_| 0);
        self.span.iter().map(|(start, _)| *start).chain(grid).collect()
    }

    /// How many fields it has.
    pub(super) fn fields(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    /// The boxes of whole chunks of this variable that it is cut into, of `cells` each at least where it has so many. It begins with a
    /// chunk.
    pub(super) fn bands(&self, variable: &Variable, cells: usize) -> impl Iterator<Item = CellBox> {
        let mut extents: Vec<u64> = variable.chunks.iter().take(self.span.len()).copied().collect();
        let mut wanted = swath_ioengine::storage_len(cells).div_ceil(extents.iter().product::<u64>().max(1));
        for (extent, (_, len)) in extents.iter_mut().zip(&self.span).rev() {
            let chunks = wanted.min(len.div_ceil(*extent)).max(1);
            *extent *= chunks;
            wanted = wanted.div_ceil(chunks);
        }
        cut(&self.span, &self.cells, extents)
    }
}

impl Slab {
    /// How many fields it has.
    pub(super) fn fields(&self) -> usize {
        self.of.fields()
    }
}

impl Plan {
    /// The slabs of a piece that have a field, in the order in which their files are read forwards.
    pub(super) fn slabs(&self, piece: Piece) -> Vec<Slab> {
        let mut slabs = Vec::new();
        let mut number = 0;
        for (group, cube) in self.groups.iter().enumerate() {
            for (variable, of) in cube.variables.iter().enumerate() {
                for of in boxes(cube, of) {
                    slabs.push(Slab { number, group, variable, of });
                    number += 1;
                }
            }
        }
        for slab in &mut slabs {
            let is_new = |place: &FieldPlace| self.first_new_file <= place.file;
            slab.of.cells.iter_mut().for_each(|cell| *cell = cell.filter(is_new));
        }
        slabs.retain(|slab| slab.of.cells.iter().any(Option::is_some));
        slabs.sort_by_key(|slab| slab.of.cells.iter().flatten().min().copied());
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

/// The boxes of whole shards that a variable is cut into.
fn boxes<'a>(group: &Hypercube, variable: &'a Variable) -> impl Iterator<Item = CellBox> + use<'a> {
    let header = variable.dimensions.len();
    let span: Vec<(u64, u64)> = group.shape(variable).into_iter().take(header).map(|len| (0, len)).collect();
    let objects = variable.shards.as_ref().unwrap_or(&variable.chunks);
    cut(&span, &variable.cells, objects.iter().take(header).copied().collect())
}

/// The boxes of so many cells along each dimension that a box is cut into; fewer at its end.
fn cut<'a>(
    span: &[(u64, u64)],
    cells: &'a [Option<FieldPlace>],
    extents: Vec<u64>,
) -> impl Iterator<Item = CellBox> + use<'a> {
    let (starts, shape): (Vec<u64>, Vec<u64>) = span.iter().copied().unzip();
    let grid: Vec<u64> = shape.iter().zip(&extents).map(|(len, extent)| len.div_ceil(*extent)).collect();
    let count: u64 = grid.iter().product();
    (0..count).map(move |number| {
        let firsts: Vec<u64> =
            unraveled(number, &grid).iter().zip(&extents).map(|(at, extent)| at * extent).collect();
        let each = firsts.iter().zip(&extents).zip(&shape);
        let lens: Vec<u64> = each.map(|((first, extent), len)| (*extent).min(len - first)).collect();
        let cell = |within| {
            let place = unraveled(within, &lens);
            let each = place.iter().zip(&firsts).zip(&shape);
            let cell = each.fold(0, |cell, ((at, first), len)| cell * len + first + at);
            usize::try_from(cell).ok().and_then(|cell| cells.get(cell).copied().flatten())
        };
        let cells = (0..lens.iter().product()).map(cell).collect();
        let span = starts.iter().zip(&firsts).map(|(start, first)| start + first).zip(lens.iter().copied());
        CellBox { span: span.collect(), cells }
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

#[cfg(test)]
mod tests {
    use super::*;

    type Band = (Vec<(u64, u64)>, Vec<u64>);

    fn variable(chunks: &[u64], cells: u64) -> Variable {
        let place = |offset| Some(FieldPlace { file: 0, offset, len: 1, number: 0 });
        Variable {
            name: "t".to_owned(),
            attributes: serde_json::Map::new(),
            dimensions: (0..chunks.len() - 1).collect(),
            chunks: chunks.to_vec(),
            shards: None,
            compressors: Vec::new(),
            cells: (0..cells).map(place).collect(),
        }
    }

    /// The cells of each band, by where their messages are.
    fn bands(span: &[(u64, u64)], variable: &Variable, cells: usize) -> Vec<Band> {
        let whole = CellBox { span: span.to_vec(), cells: variable.cells.clone() };
        let places = |of: &CellBox| of.cells.iter().flatten().map(|place| place.offset).collect();
        whole.bands(variable, cells).map(|band| (band.span.clone(), places(&band))).collect()
    }

    #[test]
    fn bands_are_whole_chunks_of_cells_enough() {
        // Of 4 times and 3 levels, from time 4 on.
        let of_fields = variable(&[1, 1, 100], 12);
        let found = bands(&[(4, 4), (0, 3)], &of_fields, 1);
        assert_eq!(found.len(), 12);
        assert_eq!(found[5], (vec![(5, 1), (2, 1)], vec![5]));
        let found = bands(&[(4, 4), (0, 3)], &of_fields, 2);
        assert_eq!(found[0], (vec![(4, 1), (0, 2)], vec![0, 1]));
        assert_eq!(found[1], (vec![(4, 1), (2, 1)], vec![2]));
        let found = bands(&[(4, 4), (0, 3)], &of_fields, 5);
        assert_eq!(found[1], (vec![(6, 2), (0, 3)], (6..12).collect()));
        let found = bands(&[(4, 4), (0, 3)], &of_fields, 1000);
        assert_eq!(found, [(vec![(4, 4), (0, 3)], (0..12).collect())]);
        let found = bands(&[(4, 4), (0, 3)], &variable(&[2, 3, 100], 12), 3);
        assert_eq!(found[1], (vec![(6, 2), (0, 3)], (6..12).collect()));
        // Variables of one field have no dimensions before the grid's.
        assert_eq!(bands(&[], &variable(&[100], 1), 4), [(vec![], vec![0])]);
    }
}
