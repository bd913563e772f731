//! Outputs whose elements are converted.

use super::super::cut_axis::CutAxis;
use super::super::output::{AxisPlace, Output, ResultLayout, no_room};
use super::seams::Seams;
use crate::conversion::CompiledConversion;
use crate::error::Error;
use std::sync::Arc;

/// Tells of a chunk's number, as points count chunks, its coordinate along an axis.
pub(super) type ChunkCoordinate = dyn Fn(u64) -> u64 + Send + Sync;

/// What an output needs to convert.
pub(in super::super) struct Converted {
    conversion: Arc<CompiledConversion>,
    coordinate: Box<ChunkCoordinate>,
    /// Of each result, the blocks that lie in several chunks; none where there are no means.
    seams: Vec<Option<Seams>>,
    /// Bytes that seams may still take.
    seam_room: usize,
    seam_bytes_max: usize,
}

impl<'m> Output<'m> {
    /// The output with a conversion on the way to it: of elements as chunks have them to the output's own. It must have no
    /// results yet.
    ///
    /// What blocks have in several chunks takes memory beside it, at most `seam_bytes_max`. `coordinate` tells of a chunk's
    /// number, as [`push_points`](Self::push_points) has them, its coordinate along the axis that elements are normalised
    /// along.
    ///
    /// # Errors
    ///
    /// `Internal` where the output's elements are not as large as the conversion's.
    pub fn with_conversion(
        self,
        conversion: Arc<CompiledConversion>,
        seam_bytes_max: usize,
        coordinate: Box<dyn Fn(u64) -> u64 + Send + Sync>,
    ) -> Result<Output<'m>, Error> {
        let (wanted, found) = (conversion.target().size_bytes(), self.element_bytes);
        if wanted != found {
            return Err(Error::internal(
                "output",
                format!("wanted elements of {wanted} bytes, found {found}"),
            ));
        }
        let converted = Converted {
            conversion,
            coordinate,
            seams: Vec::new(),
            seam_room: seam_bytes_max,
            seam_bytes_max,
        };
        let mut output = self;
        output.converted = Some(Box::new(converted));
        Ok(output)
    }

    /// What converts elements on the way to the output.
    #[must_use]
    #[inline]
    pub fn conversion(&self) -> Option<&CompiledConversion> {
        self.converted.as_ref().map(|converted| &*converted.conversion)
    }

    /// True where elements become one.
    #[inline]
    pub(in super::super) fn has_means(&self) -> bool {
        self.converted.as_ref().is_some_and(|converted| converted.conversion.has_means())
    }

    /// The blocks of a result that lie in several chunks.
    pub(super) fn seams(&self, result: usize) -> Option<&Seams> {
        self.converted.as_ref()?.seams.get(result)?.as_ref()
    }

    pub(super) fn chunk_along_channels(&self, chunk: u64) -> u64 {
        self.converted.as_ref().map_or(0, |converted| (converted.coordinate)(chunk))
    }

    /// [`lay_out`](Output::lay_out) where elements become one.
    pub(in super::super) fn lay_out_means(&mut self, axes: &[CutAxis]) -> Result<ResultLayout, Error> {
        let (result, room) = (self.result_count(), self.room());
        let Some(converted) = &mut self.converted else { return Err(no_room(room)) };
        let mut layout = ResultLayout { bytes: 0, tile_count: 1, is_plain: false };
        let (mut stride, mut is_empty) = (Some(self.element_bytes), false);
        let mut places = Vec::with_capacity(axes.len());
        for (axis, cut) in axes.iter().enumerate().rev() {
            let factor = converted.conversion.factor(axis);
            if !cut.count().is_multiple_of(factor) {
                let message =
                    format!("wanted a multiple of {factor} elements along an axis, found {}", cut.count());
                return Err(Error::internal("output", message));
            }
            places.push(AxisPlace { cut: *cut, target_stride: stride.unwrap_or(0) });
            let count = usize::try_from(cut.count() / factor).ok();
            stride = stride.zip(count).and_then(|(stride, count)| stride.checked_mul(count));
            layout.tile_count = layout.tile_count.saturating_mul(cut.tile_count());
            is_empty |= cut.count() == 0;
        }
        let bytes = match stride {
            _ if is_empty => 0,
            Some(bytes) if bytes <= room => bytes,
            _ => return Err(no_room(room)),
        };
        let seams =
            if is_empty { None } else { Seams::new(axes, &converted.conversion, converted.seam_room)? };
        let taken = seams.as_ref().map_or(Some(0), Seams::bytes);
        let Some(left) = taken.and_then(|taken| converted.seam_room.checked_sub(taken)) else {
            return Err(too_many_seams(converted.seam_bytes_max));
        };
        converted.seam_room = left;
        converted.seams.truncate(result);
        converted.seams.push(seams);
        self.axes.extend(places.into_iter().rev());
        Ok(ResultLayout { bytes, ..layout })
    }
}

impl Converted {
    /// Refuses elements that are picked along an axis, or anywhere, where several of them were to become one.
    pub(in super::super) fn refuse_picks(&self, axis: Option<usize>) -> Result<(), Error> {
        let factors = &self.conversion.factors;
        let is_free =
            axis.map_or(factors.is_empty(), |axis| factors.get(axis).is_none_or(|factor| *factor == 1));
        if is_free {
            return Ok(());
        }
        let message =
            "means of elements that are picked one by one: lists, points and masks take a factor of 1";
        Err(Error::unsupported("output", message))
    }
}

#[cold]
pub(super) fn too_many_seams(max: usize) -> Error {
    let message = format!(
        "means of blocks that lie in several chunks, whose shares take more than {max} bytes: read it in parts, or by \
         factors that divide the chunks"
    );
    Error::unsupported("output", message)
}
