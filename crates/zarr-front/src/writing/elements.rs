//! What is written: elements in memory, wherever each of them lies.

use crate::data_type::PLACE_BYTES;
use crate::strided_copy::{CopyAxis, copy_box};
use crate::variable::VariableArrayData;
use crate::{AxisKind, Error, ResolvedAxis};
use std::borrow::Cow;

/// Elements in the caller's memory, in this machine's byte order: a shape, and how many bytes apart neighbours are along
/// each axis. Strides may be negative, or 0 where one element stands for many.
///
/// ```
/// use swath_zarr_front::Elements;
///
/// let bytes: Vec<u8> = (0..6).collect();
/// // The transpose of 2 by 3 elements of one byte.
/// assert!(Elements::strided(&bytes, 0, &[3, 2], &[1, 3], 1).is_ok());
/// assert!(Elements::strided(&bytes, 0, &[3, 3], &[1, 3], 1).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    /// Where the first element lies.
    first: usize,
    shape: Vec<u64>,
    strides: Vec<isize>,
    /// What the elements are places in, where they have lengths of their own.
    content: Option<&'a [u8]>,
}

impl<'a> Elements<'a> {
    /// Elements of `element_bytes` each, one behind the other in C order.
    ///
    /// # Errors
    ///
    /// `Invalid` where `bytes` are not exactly as many as the shape needs.
    pub fn new(bytes: &'a [u8], shape: &[u64], element_bytes: usize) -> Result<Elements<'a>, Error> {
        let mut strides = vec![0; shape.len()];
        let mut run = Some(element_bytes);
        for (stride, count) in strides.iter_mut().zip(shape).rev() {
            *stride = run.and_then(|run| isize::try_from(run).ok()).unwrap_or(0);
            run = run.zip(usize::try_from(*count).ok()).and_then(|(run, count)| run.checked_mul(count));
        }
        if shape.contains(&0) {
            run = Some(0);
        }
        match run {
            Some(run) if run == bytes.len() => {
                Ok(Elements { bytes, first: 0, shape: shape.to_vec(), strides, content: None })
            }
            _ => Err(Error::invalid(format!(
                "wanted the bytes of {shape:?} elements of {element_bytes} bytes, found {} bytes",
                bytes.len()
            ))),
        }
    }

    /// One element, which stands for as many as are wanted.
    #[must_use]
    pub fn one(element: &'a [u8]) -> Elements<'a> {
        Elements { bytes: element, first: 0, shape: Vec::new(), strides: Vec::new(), content: None }
    }

    /// The elements of `data`, which lie at `places` in its bytes.
    pub(super) fn of_places(places: &'a [u8], data: &'a VariableArrayData) -> Result<Elements<'a>, Error> {
        let elements = Elements::new(places, data.shape(), PLACE_BYTES)?;
        Ok(Elements { content: Some(data.as_bytes()), ..elements })
    }

    /// Whether they have lengths of their own.
    pub(super) fn is_variable(&self) -> bool {
        self.content.is_some()
    }

    /// Elements of `element_bytes` each anywhere in `bytes`: the first at `first`, neighbours `strides` bytes apart.
    ///
    /// # Errors
    ///
    /// `Invalid` where there are not as many strides as axes, or an element lies outside the bytes.
    pub fn strided(
        bytes: &'a [u8],
        first: usize,
        shape: &[u64],
        strides: &[isize],
        element_bytes: usize,
    ) -> Result<Elements<'a>, Error> {
        let fits = || {
            let (mut low, mut high) = (isize::try_from(first).ok()?, isize::try_from(first).ok()?);
            for (count, stride) in shape.iter().zip(strides) {
                let span = isize::try_from(count.checked_sub(1)?).ok()?.checked_mul(*stride)?;
                low = low.checked_add(span.min(0))?;
                high = high.checked_add(span.max(0))?;
            }
            let end = usize::try_from(high).ok()?.checked_add(element_bytes)?;
            usize::try_from(low).ok().filter(|_| end <= bytes.len())
        };
        if shape.len() != strides.len() || (!shape.contains(&0) && fits().is_none()) {
            return Err(Error::invalid(format!(
                "wanted {shape:?} elements of {element_bytes} bytes within {} bytes, found strides {strides:?} from \
                 byte {first}",
                bytes.len()
            )));
        }
        Ok(Elements { bytes, first, shape: shape.to_vec(), strides: strides.to_vec(), content: None })
    }

    /// Elements along each axis.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The same for each axis of an array, of which a selection keeps some: broadcast to the selection's shape as NumPy
    /// does in an assignment. Axes align at their ends; those of one element stand for any number, and those that are more
    /// than the selection's must have one element.
    pub(super) fn spread(&self, axes: &[ResolvedAxis]) -> Result<Spread<'a>, Error> {
        let strides = self.strides_along(axes)?;
        let content = self.content.unwrap_or_default();
        Ok(Spread { bytes: Cow::Borrowed(self.bytes), first: self.first, strides, content })
    }

    /// The same for elements that are named one by one: broadcast to the shape that they are named in, and then one behind
    /// the other, in C order.
    pub(super) fn spread_flat(&self, shape: &[u64], element_bytes: usize) -> Result<Spread<'a>, Error> {
        let kept = |count: &u64| ResolvedAxis { start: 0, count: *count, step: 1, kind: AxisKind::Kept };
        let strides = self.strides_along(&shape.iter().map(kept).collect::<Vec<_>>())?;
        let too_many = || Error::invalid("elements that this machine's memory cannot address");
        let (mut axes, mut run) = (Vec::with_capacity(shape.len()), element_bytes);
        let (mut is_run, mut is_one) = (true, true);
        let content = self.content.unwrap_or_default();
        for (count, source_stride) in shape.iter().zip(strides).rev() {
            let (count, target_stride) =
                (usize::try_from(*count).map_err(|_| too_many())?, run.cast_signed());
            is_run &= count == 1 || source_stride == target_stride;
            is_one &= count == 1 || source_stride == 0;
            axes.push(CopyAxis::Even { count, source_stride, target_stride });
            run = run.checked_mul(count).ok_or_else(too_many)?;
        }
        if is_run || is_one {
            let strides = vec![if is_run { element_bytes.cast_signed() } else { 0 }];
            return Ok(Spread { bytes: Cow::Borrowed(self.bytes), first: self.first, strides, content });
        }
        axes.reverse();
        let mut bytes = vec![0; run];
        copy_box(axes, element_bytes, (self.bytes, self.first), (&mut bytes, 0)).ok_or_else(too_many)?;
        Ok(Spread { bytes: Cow::Owned(bytes), first: 0, strides: vec![element_bytes.cast_signed()], content })
    }

    /// Bytes from one element to the next along each of these axes.
    fn strides_along(&self, axes: &[ResolvedAxis]) -> Result<Vec<isize>, Error> {
        let mut strides = vec![0; axes.len()];
        let mut left = self.shape.iter().zip(&self.strides).rev();
        let mut is_broadcast = true;
        for (stride, axis) in
            strides.iter_mut().zip(axes).rev().filter(|(_, axis)| axis.kind == AxisKind::Kept)
        {
            match left.next() {
                None | Some((1, _)) => {}
                Some((count, own)) if *count == axis.count => *stride = *own,
                Some(_) => is_broadcast = false,
            }
        }
        if !is_broadcast || left.any(|(count, _)| *count != 1) {
            let wanted = crate::selection::output_shape(axes);
            return Err(Error::invalid(format!(
                "could not broadcast elements of shape {:?} to the selection's shape {wanted:?}",
                self.shape
            )));
        }
        Ok(strides)
    }
}

/// Elements for every axis of an array.
#[derive(Clone, Debug)]
pub(super) struct Spread<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) first: usize,
    /// Bytes from one element of the selection to the next, along each axis of the array; of elements that are named one by
    /// one, from one to the next.
    pub(super) strides: Vec<isize>,
    /// What the elements are places in, where they have lengths of their own.
    pub(super) content: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    fn strides(shape: &[u64], selection: &str, array: &[u64]) -> Option<Vec<isize>> {
        let count: u64 = shape.iter().product();
        let bytes = vec![0; usize::try_from(count).unwrap()];
        let resolved = selection.parse::<Selection>().unwrap().resolve(array).unwrap();
        Elements::new(&bytes, shape, 1).unwrap().spread(&resolved.axes).ok().map(|spread| spread.strides)
    }

    #[test]
    fn shapes_are_broadcast_as_numpy_does() {
        assert_eq!(strides(&[2, 3], ":2, :3", &[9, 9]).unwrap(), [3, 1]);
        assert_eq!(strides(&[3], ":2, :3", &[9, 9]).unwrap(), [0, 1]);
        assert_eq!(strides(&[2, 1], ":2, :3", &[9, 9]).unwrap(), [1, 0]);
        assert_eq!(strides(&[2, 3], ":2, 4, :3", &[9, 9, 9]).unwrap(), [3, 0, 1]);
        assert_eq!(strides(&[1, 1, 3], ":3", &[9]).unwrap(), [1]);
        assert_eq!(strides(&[], ":3", &[9]).unwrap(), [0]);
        for shape in [&[2][..], &[3, 2], &[2, 1, 3], &[0]] {
            assert!(strides(shape, ":2, :3", &[9, 9]).is_none(), "{shape:?}");
        }
    }
}
