//! Runs of levels: a level, then digits of how often it is repeated.

use super::bits::Bits;
use super::sample::Sample;
use crate::{Error, Levels};

/// Template 7.200: numbers up to the largest level begin a run; larger ones are digits of its length less one, the lowest first, to
/// the base of how many such numbers there are.
pub(super) fn unpack<T: Sample>(
    data: &[u8],
    bits: u32,
    levels: &Levels,
    decimal_scale: i32,
    target: &mut [T],
) -> Result<(), Error> {
    if !(1..=16).contains(&bits) {
        return Err(Error::corrupt(format!("levels of {bits} bits: 1 to 16 are known")));
    }
    let largest = u32::from(levels.largest);
    let base = u64::from((1u32 << bits) - 1).saturating_sub(u64::from(largest));
    let mut stored = Bits::new(data);
    let mut filled = 0;
    let mut next = None;
    while filled < target.len() {
        if next.is_none() && stored.left() < u64::from(bits) {
            let wanted = target.len();
            return Err(Error::corrupt(format!("the runs end after {filled} of {wanted} values")));
        }
        let level = next.take().unwrap_or_else(|| stored.take(bits));
        if largest < level {
            return Err(Error::corrupt(format!("a run of level {level}, and the largest is {largest}")));
        }
        let (mut repeats, mut factor) = (0u64, 1u64);
        while u64::from(bits) <= stored.left() {
            let digit = stored.take(bits);
            if digit <= largest {
                next = Some(digit);
                break;
            }
            repeats = repeats.saturating_add(factor.saturating_mul(u64::from(digit - largest - 1)));
            factor = factor.saturating_mul(base);
        }
        let left = target.len() - filled;
        let len = usize::try_from(repeats).unwrap_or(usize::MAX).saturating_add(1);
        if left < len {
            return Err(Error::corrupt(format!("a run of {len} values, and {left} are wanted")));
        }
        let value = value(level, levels, decimal_scale)?;
        target[filled..filled + len].fill(T::from_f64(value));
        filled += len;
    }
    Ok(())
}

/// The value of a level; 0 is a missing value.
fn value(level: u32, levels: &Levels, decimal_scale: i32) -> Result<f64, Error> {
    let Some(number) = usize::try_from(level).ok().and_then(|level| level.checked_sub(1)) else {
        return Ok(f64::NAN);
    };
    let stored = levels.values.get(number).ok_or_else(|| {
        Error::corrupt(format!("level {level}, and {} levels have values", levels.values.len()))
    })?;
    Ok(f64::from(*stored) / 10f64.powi(decimal_scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(data: &[u8], count: usize) -> Result<Vec<f64>, Error> {
        let levels = Levels { largest: 3, values: [10, 20, 35].into() };
        let mut target = vec![0.0; count];
        unpack(data, 4, &levels, 1, &mut target)?;
        Ok(target)
    }

    /// Four bits, levels 0 to 3, so that digits are 4 to 15 and count to the base of 12.
    #[test]
    fn runs_are_repeated() {
        // Level 1 once; level 2 1 + 2 times; level 3 1 + 0 + 12 * 1 times.
        let values = unpacked(&[0x12, 0x63, 0x45], 17).unwrap();
        assert_eq!(values[..4], [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(values[4..], [3.5; 13]);
        assert!(unpacked(&[0x06], 3).unwrap().iter().all(|value| value.is_nan()));
    }

    #[test]
    fn broken_runs_are_errors() {
        for (data, count, wanted) in [
            (&[0x12][..], 3, "end after 2 of 3"),
            (&[0x4f], 3, "a run of level 4"),
            (&[0x1f, 0xff], 5, "and 5 are wanted"),
        ] {
            let error = unpacked(data, count).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }
}
