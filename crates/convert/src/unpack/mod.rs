//! The values of a field from its packed bits.

mod aec;
mod bitmap;
mod bits;
mod complex;
mod ieee;
mod jpeg2000;
mod message;
mod order;
mod place;
mod png;
mod run_length;
mod sample;
mod scale;
mod second_order;
mod simple;
mod vectors;
mod widths;

use crate::{Bitmap, Error, Field, PackingKind};
pub(crate) use message::{is_by_rows, unpack_message, unpack_rows};
pub use place::{FieldBytes, read_field};
pub use sample::Sample;
use scale::Scale;

/// Fills `target` with the values of a field, in the order of the file: as many as the grid has points. Missing ones are NaN.
///
/// Values are what ecCodes makes of the same bits: computed in 64 bits, and rounded once for a target of 32.
///
/// # Errors
///
/// `Corrupt` where the bits are too few or contradict the field's packing, `Unsupported` for a packing that swath does not know,
/// `Invalid` where `target` has not one element for each point. What `target` holds is then undefined.
pub fn unpack<T: Sample>(field: &Field, bytes: &FieldBytes, target: &mut [T]) -> Result<(), Error> {
    unpack_sections(field, bytes.bitmap.as_deref(), &bytes.data, target)
}

/// The same of a bitmap and packed values wherever they are.
pub(crate) fn unpack_sections<T: Sample>(
    field: &Field,
    bitmap: Option<&[u8]>,
    data: &[u8],
    target: &mut [T],
) -> Result<(), Error> {
    let points = swath_ioengine::memory_len(field.grid.points)?;
    if target.len() != points {
        let message = format!("a target of {} elements for a grid of {points} points", target.len());
        return Err(Error::new(crate::ErrorKind::Invalid, message));
    }
    let bits = bitmap::of(field, bitmap)?;
    let present = bits.map_or(Ok(points), |bits| bitmap::count(bits, points))?;
    let values = target.get_mut(..present).unwrap_or_default();
    unpack_all(field, data, values)?;
    if field.packing.kind == PackingKind::SecondOrder && second_order::is_boustrophedonic(data) {
        order::turn_rows(&field.grid, bits, values);
    }
    if let Some(bits) = bits {
        bitmap::spread(bits, present, target);
    }
    Ok(())
}

/// Whether the values of a field can be unpacked, as far as its sections' heads say.
///
/// # Errors
///
/// `Unsupported` for a packing or a bitmap that swath does not know.
pub(crate) fn check_known(field: &Field) -> Result<(), Error> {
    if let Bitmap::Predefined(number) = field.bitmap {
        return Err(bitmap::unknown(number));
    }
    match &field.packing.kind {
        kind @ (PackingKind::Spectral | PackingKind::Matrix | PackingKind::Other(_)) => {
            Err(unknown_packing(kind))
        }
        _ => Ok(()),
    }
}

/// What is said of a packing that swath does not know.
fn unknown_packing(kind: &PackingKind) -> Error {
    Error::unsupported(match kind {
        PackingKind::Spectral => "coefficients of spherical harmonics".to_owned(),
        PackingKind::Matrix => "several values at each point".to_owned(),
        PackingKind::Other(template) => format!("data representation template 5.{template}"),
        other => format!("packing {}", other.name()),
    })
}

/// Fills all of `target` with the stored values.
fn unpack_all<T: Sample>(field: &Field, data: &[u8], target: &mut [T]) -> Result<(), Error> {
    let packing = &field.packing;
    check_count(field, target.len())?;
    let scale = Scale::of(packing);
    let bits = u32::from(packing.bits);
    match &packing.kind {
        // One value at all points: nothing is stored.
        PackingKind::Simple | PackingKind::Ccsds(_) | PackingKind::Jpeg2000 | PackingKind::Png
            if bits == 0 =>
        {
            target.fill(T::from_f64(scale.constant()));
            Ok(())
        }
        PackingKind::Simple => simple::unpack(data, bits, &scale, target),
        PackingKind::Complex(groups) => complex::unpack(data, bits, groups, &scale, target),
        PackingKind::Ieee(octets) => ieee::unpack(data, *octets, target),
        PackingKind::RunLength(levels) => {
            run_length::unpack(data, bits, levels, packing.decimal_scale, target)
        }
        PackingKind::Ccsds(settings) => aec::unpack(data, bits, settings, &scale, target),
        PackingKind::Jpeg2000 => jpeg2000::unpack(data, &scale, target),
        PackingKind::Png => png::unpack(data, &scale, target),
        PackingKind::SecondOrder => second_order::unpack(field, data, &scale, target),
        kind @ (PackingKind::Spectral | PackingKind::Matrix | PackingKind::Other(_)) => {
            Err(unknown_packing(kind))
        }
    }
}

/// What the section that describes the data says must be what there is room for. Edition 1 does not say it: padding makes it
/// seem more.
fn check_count(field: &Field, wanted: usize) -> Result<(), Error> {
    let Some(stored) = field.packing.values else { return Ok(()) };
    let wanted = swath_ioengine::storage_len(wanted);
    let is_right = if field.edition == 1 { wanted <= stored } else { wanted == stored };
    if is_right {
        return Ok(());
    }
    let of = if field.bitmap == Bitmap::None { "the grid has" } else { "the bitmap has" };
    Err(Error::corrupt(format!("{stored} values are stored, and {of} {wanted} points")))
}

/// A group has a number at least: lists of groups without a bit each would go on for ever otherwise.
fn check_groups(groups: u64, numbers: usize) -> Result<(), Error> {
    if groups <= swath_ioengine::storage_len(numbers) {
        return Ok(());
    }
    Err(Error::corrupt(format!("{groups} groups of {numbers} numbers")))
}
