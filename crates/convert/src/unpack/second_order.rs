//! Second-order packing of edition 1: groups of numbers with a first-order number and a width each.

use super::bits::Bits;
use super::order;
use super::sample::Sample;
use super::scale::Scale;
use crate::grib::Octets;
use crate::{Error, Field};

/// Secondary bitmaps say where groups begin.
const SECONDARY_BITMAP: u8 = 0x20;

/// Groups have widths of their own.
const WIDTHS: u8 = 0x10;

/// The general extended form.
const EXTENDED: u8 = 0x08;

/// Every other row runs the other way.
const BOUSTROPHEDONIC: u8 = 0x04;

/// The order of the differences that are stored.
const ORDER: u8 = 0x03;

/// Numbers of a group that are unpacked at once.
const STEP: usize = 32;

/// What is stored begins with octet 12 of the data section.
const BEFORE: usize = 11;

/// Octet 14 of the data section.
fn flags(data: &[u8]) -> Result<u8, Error> {
    Octets::new(data, "data").u8(14 - BEFORE)
}

/// Whether every other row runs the other way.
pub(super) fn is_boustrophedonic(data: &[u8]) -> bool {
    flags(data).is_ok_and(|flags| flags & EXTENDED != 0 && flags & BOUSTROPHEDONIC != 0)
}

pub(super) fn unpack<T: Sample>(
    field: &Field,
    data: &[u8],
    scale: &Scale,
    target: &mut [T],
) -> Result<(), Error> {
    let flags = flags(data)?;
    let bits = u32::from(field.packing.bits);
    if 32 < bits {
        return Err(Error::unsupported(format!("first-order numbers of {bits} bits: at most 32 are known")));
    }
    let mut numbers = vec![0i64; target.len()];
    if flags & EXTENDED != 0 {
        extended(data, bits, flags & ORDER, &mut numbers)?;
    } else {
        plain(field, data, bits, flags, &mut numbers)?;
    }
    for (value, number) in target.iter_mut().zip(&numbers) {
        *value = T::from_f64(scale.value(*number as f64));
    }
    Ok(())
}

/// How many groups: 16 bits, and an octet of more.
fn group_count(octets: Octets<'_>) -> Result<u64, Error> {
    Ok(u64::from(octets.u16(17 - BEFORE)?) + 65_536 * u64::from(octets.u8(21 - BEFORE)?))
}

/// A list of numbers that begins with an octet, and what is behind it.
fn list<'a>(rest: &mut Bits<'a>, count: u64, width: u32, what: &str) -> Result<Bits<'a>, Error> {
    rest.align();
    if 32 < width {
        return Err(Error::corrupt(format!("{what} of {width} bits: at most 32 are known")));
    }
    rest.check(count, width, what)?;
    let begun = rest.clone();
    rest.skip(count * u64::from(width));
    rest.align();
    Ok(begun)
}

/// Lists of widths, lengths and first-order numbers, and differences up to order 3.
fn extended(data: &[u8], bits: u32, order: u8, numbers: &mut [i64]) -> Result<(), Error> {
    let octets = Octets::new(data, "data");
    let groups = group_count(octets)?;
    super::check_groups(groups, numbers.len())?;
    let (width_bits, length_bits) = (u32::from(octets.u8(22 - BEFORE)?), u32::from(octets.u8(23 - BEFORE)?));
    let order = usize::from(order);
    let mut rest = Bits::new(octets.from(26 - BEFORE));
    let (mut first, mut bias) = ([0i64; 3], 0);
    if order != 0 {
        let width = u32::from(octets.u8(26 - BEFORE)?);
        rest.skip(8);
        let mut stored = list(&mut rest, order as u64 + 1, width, "first values")?;
        first.iter_mut().take(order).for_each(|first| *first = i64::from(stored.take(width)));
        bias = if width == 0 { 0 } else { i64::from(crate::grib::signed(stored.take(width), width)) };
    }
    let mut widths = list(&mut rest, groups, width_bits, "groups' widths")?;
    let mut lengths = list(&mut rest, groups, length_bits, "groups' lengths")?;
    let mut references = list(&mut rest, groups, bits, "first-order numbers")?;
    let mut filled = order.min(numbers.len());
    for _ in 0..groups {
        let len = usize::try_from(lengths.take(length_bits)).unwrap_or(usize::MAX);
        let (width, reference) = (widths.take(width_bits), references.take(bits));
        let left = numbers.len() - filled;
        if left < len {
            return Err(Error::corrupt(format!("a group of {len} numbers, where {left} are left")));
        }
        group(&mut rest, width, reference, &mut numbers[filled..filled + len])?;
        filled += len;
    }
    if filled != numbers.len() {
        let wanted = numbers.len();
        return Err(Error::corrupt(format!("the groups have {filled} numbers, where {wanted} are wanted")));
    }
    sum_up(numbers, &first[..order], bias);
    Ok(())
}

/// The numbers of a group.
fn group(rest: &mut Bits<'_>, width: u32, reference: u32, numbers: &mut [i64]) -> Result<(), Error> {
    if 32 < width {
        return Err(Error::corrupt(format!("a group of numbers of {width} bits: at most 32 are known")));
    }
    rest.check(swath_ioengine::storage_len(numbers.len()), width, "numbers of a group")?;
    let mut stored = [0; STEP];
    for numbers in numbers.chunks_mut(STEP) {
        let stored = &mut stored[..numbers.len()];
        rest.take_many(width, stored);
        for (number, stored) in numbers.iter_mut().zip(stored.iter()) {
            *number = i64::from(reference) + i64::from(*stored);
        }
    }
    Ok(())
}

/// Replaces differences by the numbers that they are of: as many sums as there are first numbers, each begun with the differences
/// of these.
fn sum_up(numbers: &mut [i64], first: &[i64], bias: i64) {
    let order = first.len().min(numbers.len());
    // The last number, the last difference, the last difference of those.
    let mut last = [0i64; 3];
    for (place, number) in numbers.iter_mut().enumerate() {
        if place < order {
            *number = first[place];
            let mut next = *number;
            for last in last.iter_mut().take(place + 1) {
                (*last, next) = (next, next.wrapping_sub(*last));
            }
        } else if order != 0 {
            let mut next = number.wrapping_add(bias);
            for last in last.iter_mut().take(order).rev() {
                next = last.wrapping_add(next);
                *last = next;
            }
            *number = next;
        }
    }
}

/// The forms that are not extended: a group for each row, or where a secondary bitmap says that one begins; one width, or one for
/// each group.
fn plain(field: &Field, data: &[u8], bits: u32, flags: u8, numbers: &mut [i64]) -> Result<(), Error> {
    let octets = Octets::new(data, "data");
    let groups = group_count(octets)?;
    super::check_groups(groups, numbers.len())?;
    let has_bitmap = flags & SECONDARY_BITMAP != 0;
    let width_count = if flags & WIDTHS != 0 { groups } else { 1 };
    let mut rest = Bits::new(octets.from(22 - BEFORE));
    let mut widths = list(&mut rest, width_count, 8, "groups' widths")?;
    let count = swath_ioengine::storage_len(numbers.len());
    let mut starts = list(&mut rest, if has_bitmap { count } else { 0 }, 1, "bits of the secondary bitmap")?;
    let mut references = list(&mut rest, groups, bits, "first-order numbers")?;
    let mut rows = order::row_lengths(&field.grid);
    let (mut left, mut row_left) = (groups, 0);
    let (mut width, mut reference) = (widths.take(8), 0);
    for (place, number) in numbers.iter_mut().enumerate() {
        let begins = if has_bitmap { starts.take(1) == 1 } else { row_left == 0 };
        if begins || place == 0 {
            left = left.checked_sub(1).ok_or_else(|| Error::corrupt("more groups begin than are stored"))?;
            reference = references.take(bits);
            row_left = rows.next().unwrap_or(u32::MAX);
            if place != 0 && flags & WIDTHS != 0 {
                width = widths.take(8);
            }
        }
        row_left = row_left.saturating_sub(1);
        group(&mut rest, width, reference, std::slice::from_mut(number))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_undo_differences_of_every_order() {
        let wanted = [7i64, 3, 20, 21, -5, 0, 0, 100];
        for order in 0..=3 {
            let mut numbers = wanted.to_vec();
            for _ in 0..order {
                for place in (1..numbers.len()).rev() {
                    numbers[place] -= numbers[place - 1];
                }
            }
            let bias = if order == 0 { 0 } else { -4 };
            numbers.iter_mut().for_each(|number| *number -= bias);
            sum_up(&mut numbers, &wanted[..order], bias);
            assert_eq!(numbers, wanted, "order {order}");
        }
    }
}
