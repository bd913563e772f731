//! Bitmaps: which points have values.

use super::sample::Sample;
use crate::{Bitmap, Error, Field};

/// The bits of the field's bitmap, where it has one.
pub(super) fn of<'a>(field: &Field, stored: Option<&'a [u8]>) -> Result<Option<&'a [u8]>, Error> {
    match (field.bitmap, stored) {
        (Bitmap::None, _) => Ok(None),
        (Bitmap::Stored, Some(bits)) => Ok(Some(bits)),
        (Bitmap::Stored, None) => {
            Err(Error::new(crate::ErrorKind::Invalid, "the field's bitmap was not given"))
        }
        (Bitmap::Predefined(number), _) => Err(unknown(number)),
    }
}

/// What is said of a bitmap that is not in the file.
pub(super) fn unknown(number: u16) -> Error {
    Error::unsupported(format!("bitmap {number}, which the centre keeps and the file does not have"))
}

/// How many of the first `points` bits are set.
pub(super) fn count(bits: &[u8], points: usize) -> Result<usize, Error> {
    let whole = points / 8;
    let rest = u32::try_from(points % 8).unwrap_or(0);
    if bits.len() < points.div_ceil(8) {
        let found = bits.len();
        return Err(Error::corrupt(format!("a bitmap of {found} octets for {points} points")));
    }
    let ones: usize = bits.iter().take(whole).map(|byte| byte.count_ones() as usize).sum();
    let last = bits.get(whole).map_or(0, |byte| (u32::from(*byte) << rest >> 8).count_ones());
    Ok(ones + last as usize)
}

/// Moves the first `present` values to the points whose bits are set, from the last one on, and marks the others missing.
///
/// A value never moves forward past one that has not moved yet: before each point there are at least as many points as values.
pub(super) fn spread<T: Sample>(bits: &[u8], present: usize, target: &mut [T]) {
    let mut value = present;
    for point in (0..target.len()).rev() {
        if value == point + 1 {
            // All points from here down have values, which are where they belong.
            return;
        }
        let is_present = bits.get(point / 8).is_some_and(|byte| byte >> (7 - point % 8) & 1 == 1);
        target[point] = if is_present {
            value = value.saturating_sub(1);
            target[value]
        } else {
            T::MISSING
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_go_where_bits_are_set(present in proptest::collection::vec(any::<bool>(), 0..100)) {
            let mut bits = vec![0xffu8; present.len().div_ceil(8)];
            for (point, present) in present.iter().enumerate() {
                bits[point / 8] ^= u8::from(!present) << (7 - point % 8);
            }
            let count = count(&bits, present.len()).unwrap();
            prop_assert_eq!(count, present.iter().filter(|present| **present).count());
            let mut target: Vec<f64> = (0..present.len()).map(|value| value as f64).collect();
            spread(&bits, count, &mut target);
            let mut next = 0.0;
            for (value, present) in target.iter().zip(&present) {
                let is_right = if *present { *value == next } else { value.is_nan() };
                prop_assert!(is_right);
                next += f64::from(u8::from(*present));
            }
        }
    }

    #[test]
    fn short_bitmaps_are_errors() {
        assert_eq!(count(&[0xff], 8).ok(), Some(8));
        assert!(count(&[0xff], 9).unwrap_err().message().contains("1 octets for 9 points"));
        assert_eq!(count(&[], 0).ok(), Some(0));
    }
}
