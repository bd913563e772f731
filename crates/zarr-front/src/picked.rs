//! Selections of elements that are picked one by one, on their way into an output.

use crate::array::Array;
use crate::picking::{Room, pick_axis, pick_mask, pick_points, pick_stretch};
use crate::selection::{Mask, Points, ResolvedList};
use crate::{Error, ResolvedAxis};
use swath_codecs::{Cut, CutAxis, Output};

/// What one selection of a plan picks.
pub(crate) struct PickedSelection {
    /// The selection's number.
    pub(crate) selection: usize,
    pub(crate) picked: Picked,
}

/// Elements that are picked one by one, checked against the array.
pub(crate) enum Picked {
    /// Along some axes, by axis.
    Lists(Vec<ResolvedList>),
    Points(Points),
    /// A mask, and how many elements it takes.
    Mask(Mask, u64),
}

impl Picked {
    /// The shape of the result, where axes do not tell it.
    pub(crate) fn shape(&self) -> Vec<u64> {
        match self {
            Picked::Lists(_) => Vec::new(),
            Picked::Points(points) => points.shape().to_vec(),
            Picked::Mask(_, count) => vec![*count],
        }
    }

    /// Adds a selection to an output, of an array's `axes` and of what is picked besides.
    pub(crate) fn project(
        picked: Option<&Picked>,
        axes: &[ResolvedAxis],
        array: &Array,
        output: &mut Output<'_>,
        room: &mut Room,
    ) -> Result<(), Error> {
        let (shape, extents, compiled) = (array.shape(), array.chunk_shape(), &array.inner.compiled);
        let lists = match picked {
            Some(Picked::Points(points)) => {
                return Ok(output.push_points(pick_points(points, shape, compiled, room)?, extents)?);
            }
            Some(Picked::Mask(mask, _)) => {
                return Ok(output.push_points(pick_mask(mask, shape, compiled, room)?, extents)?);
            }
            Some(Picked::Lists(lists)) => lists.as_slice(),
            None => &[],
        };
        let edges = |axis: usize| compiled.shaped.as_ref().and_then(|shaped| shaped.grid.axis(axis));
        let mut cuts: Vec<Cut> = Vec::with_capacity(axes.len());
        for (number, (axis, extent)) in axes.iter().zip(extents).enumerate() {
            let list = lists.iter().find(|list| list.axis == number);
            cuts.push(match (list, edges(number)) {
                (Some(list), edges) => {
                    Cut::Picked(pick_axis(&list.indices, (shape[number], *extent), edges, room)?)
                }
                (None, Some(edges)) => Cut::Picked(pick_stretch(axis, edges, room)?),
                (None, None) => Cut::Stepped(CutAxis::new(axis.start, axis.count, axis.step, *extent)),
            });
        }
        Ok(output.push_cuts(cuts)?)
    }
}
