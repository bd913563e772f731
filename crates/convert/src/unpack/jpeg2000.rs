//! JPEG 2000 code streams of one component.

use super::sample::Sample;
use super::scale::Scale;
use crate::Error;
use hayro_jpeg2000::{DecodeSettings, DecoderContext, Image};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Packed numbers come as `f32`, which has room for so many bits.
const BITS_MAX: u8 = 24;

pub(super) fn unpack<T: Sample>(data: &[u8], scale: &Scale, target: &mut [T]) -> Result<(), Error> {
    // The library forbids unsafe code, and says that broken bytes are errors; an index out of its bounds would still be a panic.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(data, scale, target)));
    decoded.unwrap_or_else(|_| Err(Error::corrupt("a JPEG 2000 code stream that its decoder panics on")))
}

fn decode<T: Sample>(data: &[u8], scale: &Scale, target: &mut [T]) -> Result<(), Error> {
    let broken = |error: &dyn std::fmt::Display| Error::corrupt(format!("a JPEG 2000 code stream: {error}"));
    let settings = DecodeSettings { resolve_palette_indices: false, strict: true, target_resolution: None };
    let image = Image::new(data, &settings).map_err(|error| broken(&error))?;
    let (width, height) = (image.width(), image.height());
    // Before anything is allocated for it.
    if u64::from(width) * u64::from(height) != swath_ioengine::storage_len(target.len()) {
        let points = target.len();
        return Err(Error::corrupt(format!("a JPEG 2000 image of {width} x {height} for {points} values")));
    }
    if image.color_space().num_channels() != 1 || image.has_alpha() {
        return Err(Error::unsupported("a JPEG 2000 image of several components"));
    }
    let depth = image.original_bit_depth();
    if BITS_MAX < depth {
        return Err(Error::unsupported(format!(
            "JPEG 2000 numbers of {depth} bits: at most {BITS_MAX} are known"
        )));
    }
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context).map_err(|error| broken(&error))?;
    let samples = decoded.components().first().map_or(&[][..], |component| component.samples());
    if samples.len() != target.len() {
        let (found, wanted) = (samples.len(), target.len());
        return Err(Error::corrupt(format!(
            "a JPEG 2000 image of {found} numbers, where {wanted} are wanted"
        )));
    }
    for (value, sample) in target.iter_mut().zip(samples) {
        *value = T::from_f64(scale.value(f64::from(*sample)));
    }
    Ok(())
}
