//! One block of zfp: four values along each axis.
//!
//! Lindstrom, "Fixed-Rate Compressed Floating-Point Arrays" (2014), and zfp's documentation, chapter "Algorithm". Numbers are
//! worked on in 64 bits, and cut to as many as theirs in the end.

use super::bits::Bits;
use super::order::order;

/// Values of the largest block.
pub(super) const VALUES_MAX: usize = 256;

/// How the blocks of a stream are coded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameters {
    /// Bits of a block at least: those that it does not need are passed over.
    pub(super) bits_min: u32,
    /// Bits of a block at most.
    pub(super) bits_max: u32,
    /// Bit planes of a block at most.
    pub(super) planes_max: u32,
    /// The lowest bit plane of floats, as an exponent of 2; below [`EXPONENT_MIN`] where nothing is lost.
    pub(super) exponent_min: i32,
}

/// The exponent of the smallest double.
pub(super) const EXPONENT_MIN: i32 = -1074;

impl Parameters {
    pub(super) fn is_reversible(self) -> bool {
        self.exponent_min < EXPONENT_MIN
    }
}

/// What a stream's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Int32,
    Int64,
    Float,
    Double,
}

impl Scalar {
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Int32 | Self::Float => 32,
            Self::Int64 | Self::Double => 64,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    /// Bits of a float's exponent.
    pub(super) fn exponent_bits(self) -> u32 {
        if self.bits() == 32 { 8 } else { 11 }
    }

    /// Bits that tell how many bit planes a block has that loses nothing.
    pub(super) fn plane_count_bits(self) -> u32 {
        if self.bits() == 32 { 5 } else { 6 }
    }
}

/// Decodes the blocks of one stream.
pub(super) struct Blocks<'a> {
    pub(super) bits: Bits<'a>,
    pub(super) parameters: Parameters,
    pub(super) scalar: Scalar,
    /// 1 to 4.
    pub(super) axes: usize,
}

impl Blocks<'_> {
    /// Decodes the next block to the bits of its values, the first axis fastest: as many as the block has.
    pub(super) fn next(&mut self, values: &mut [u64]) {
        let Parameters { bits_min, bits_max, planes_max, .. } = self.parameters;
        match (self.scalar.is_float(), self.parameters.is_reversible()) {
            (false, false) => self.integers((bits_min, bits_max), planes_max, values),
            (false, true) => self.exact_integers((bits_min, bits_max), values),
            (true, false) => self.floats(values),
            (true, true) => self.exact_floats(values),
        }
    }

    /// What is left of the bounds of a block's bits, once so many were taken.
    fn rest(&self, taken: u32) -> (u32, u32) {
        let Parameters { bits_min, bits_max, .. } = self.parameters;
        (bits_min.saturating_sub(taken), bits_max.saturating_sub(taken))
    }

    fn zeros(&mut self, values: &mut [u64]) {
        values.fill(0);
        self.bits.skip(self.rest(1).0);
    }

    fn floats(&mut self, values: &mut [u64]) {
        if !self.bits.flag() {
            return self.zeros(values);
        }
        let exponent = self.exponent();
        let lowest = i64::from(exponent) - i64::from(self.parameters.exponent_min);
        let planes = u32::try_from(lowest + 2 * self.axes as i64 + 2).unwrap_or(0);
        let rest = self.rest(1 + self.scalar.exponent_bits());
        self.integers(rest, planes.min(self.parameters.planes_max), values);
        self.scale(exponent, values);
    }

    fn exact_floats(&mut self, values: &mut [u64]) {
        if !self.bits.flag() {
            return self.zeros(values);
        }
        if self.bits.flag() {
            self.exact_integers(self.rest(2), values);
            // Two's complement to sign and magnitude.
            let sign = 1u64 << (self.scalar.bits() - 1);
            values.iter_mut().filter(|value| **value & sign != 0).for_each(|value| *value ^= sign - 1);
            return;
        }
        let exponent = self.exponent();
        self.exact_integers(self.rest(2 + self.scalar.exponent_bits()), values);
        if exponent == -self.bias() {
            values.fill(0);
        } else {
            self.scale(exponent, values);
        }
    }

    fn bias(&self) -> i32 {
        (1 << (self.scalar.exponent_bits() - 1)) - 1
    }

    /// The exponent that all values of a block share.
    fn exponent(&mut self) -> i32 {
        let found = self.bits.take(self.scalar.exponent_bits());
        // 11 bits at most.
        i32::try_from(found).unwrap_or(0) - self.bias()
    }

    /// Makes floats of integers that count units of a power of two.
    fn scale(&self, exponent: i32, values: &mut [u64]) {
        match self.scalar {
            Scalar::Float => {
                #[expect(clippy::cast_possible_truncation, reason = "a power of two, rounded as floats are")]
                let unit = power_of_two(exponent - 30) as f32;
                for value in values {
                    *value = (unit * signed_32(*value) as f32).to_bits().into();
                }
            }
            _ => {
                let unit = power_of_two(exponent - 62);
                for value in values {
                    *value = (unit * value.cast_signed() as f64).to_bits();
                }
            }
        }
    }

    fn integers(&mut self, bits: (u32, u32), planes: u32, values: &mut [u64]) {
        let mut coefficients = [0i64; VALUES_MAX];
        let coefficients = &mut coefficients[..values.len()];
        self.coefficients(bits, planes, coefficients);
        each_line(self.axes, coefficients, lift);
        self.store(coefficients, values);
    }

    fn exact_integers(&mut self, (bits_min, bits_max): (u32, u32), values: &mut [u64]) {
        let taken = self.scalar.plane_count_bits();
        // 6 bits at most.
        let planes = u32::try_from(self.bits.take(taken)).unwrap_or(0) + 1;
        let mut coefficients = [0i64; VALUES_MAX];
        let coefficients = &mut coefficients[..values.len()];
        let rest = (bits_min.saturating_sub(taken), bits_max.saturating_sub(taken));
        self.coefficients(rest, planes, coefficients);
        each_line(self.axes, coefficients, lift_exactly);
        self.store(coefficients, values);
    }

    /// The low bits of numbers, as many as a value has.
    fn store(&self, coefficients: &[i64], values: &mut [u64]) {
        let mask = u64::MAX >> (64 - self.scalar.bits());
        for (value, coefficient) in values.iter_mut().zip(coefficients) {
            *value = coefficient.cast_unsigned() & mask;
        }
    }

    /// Decodes bit planes, the highest first, and puts the numbers where they belong.
    fn coefficients(&mut self, (bits_min, bits_max): (u32, u32), planes: u32, coefficients: &mut [i64]) {
        let (width, size) = (self.scalar.bits(), coefficients.len());
        let mut numbers = [0u64; VALUES_MAX];
        let (mut bits, mut known) = (bits_max, 0);
        let lowest = width.saturating_sub(planes);
        for plane in (lowest..width).rev() {
            if bits == 0 {
                break;
            }
            bits -= self.known_bits(known, bits, plane, &mut numbers);
            // Then runs of zeros, each behind a bit that says whether another one follows.
            while bits != 0 && known < size {
                bits -= 1;
                if !self.bits.flag() {
                    break;
                }
                while bits != 0 && known + 1 < size {
                    bits -= 1;
                    if self.bits.flag() {
                        break;
                    }
                    known += 1;
                }
                numbers[known] |= 1 << plane;
                known += 1;
            }
        }
        self.bits.skip(bits_min.saturating_sub(bits_max - bits));
        for (place, number) in order(self.axes).iter().zip(&numbers) {
            coefficients[usize::from(*place)] = from_negabinary(*number, width);
        }
    }

    /// Takes the bits of a plane of those numbers that have had one already; returns how many they were.
    fn known_bits(&mut self, known: usize, bits: u32, plane: u32, numbers: &mut [u64; VALUES_MAX]) -> u32 {
        let known = known.min(usize::try_from(bits).unwrap_or(usize::MAX));
        let mut taken = 0;
        for numbers in numbers[..known].chunks_mut(64) {
            // 64 at most.
            let count = u32::try_from(numbers.len()).unwrap_or(64);
            let mut found = self.bits.take(count);
            while found != 0 {
                numbers[found.trailing_zeros() as usize] |= 1 << plane;
                found &= found - 1;
            }
            taken += count;
        }
        taken
    }
}

/// A number of so many bits, to base -2.
fn from_negabinary(number: u64, width: u32) -> i64 {
    if width == 32 {
        const MASK: u32 = 0xaaaa_aaaa;
        let low = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
        return (low ^ MASK).wrapping_sub(MASK).cast_signed().into();
    }
    const MASK: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    (number ^ MASK).wrapping_sub(MASK).cast_signed()
}

fn signed_32(bits: u64) -> i32 {
    u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0).cast_signed()
}

/// 2 to this power, or 0 where that is too small for a double.
fn power_of_two(exponent: i32) -> f64 {
    match u64::try_from(i64::from(exponent) - i64::from(EXPONENT_MIN)) {
        Err(_) => 0.0,
        Ok(above) if above < 52 => f64::from_bits(1 << above),
        // A double's exponents end at 1023, and those of blocks long before.
        Ok(above) => f64::from_bits((above - 51).min(2046) << 52),
    }
}

/// Applies a transform to every line of four values, along the last axis first.
fn each_line(axes: usize, values: &mut [i64], lift: impl Fn([i64; 4]) -> [i64; 4]) {
    for axis in (0..axes).rev() {
        let stride = 1 << (2 * axis);
        for start in (0..values.len()).filter(|start| start / stride % 4 == 0) {
            let place = |at: usize| start + at * stride;
            let line = lift([0, 1, 2, 3].map(|at| values[place(at)]));
            for (at, value) in line.into_iter().enumerate() {
                values[place(at)] = value;
            }
        }
    }
}

/// Undoes zfp's decorrelating transform of four values.
fn lift([mut x, mut y, mut z, mut w]: [i64; 4]) -> [i64; 4] {
    y = y.wrapping_add(w >> 1);
    w = w.wrapping_sub(y >> 1);
    y = y.wrapping_add(w);
    w = w.wrapping_mul(2).wrapping_sub(y);
    z = z.wrapping_add(x);
    x = x.wrapping_mul(2).wrapping_sub(z);
    y = y.wrapping_add(z);
    z = z.wrapping_mul(2).wrapping_sub(y);
    w = w.wrapping_add(x);
    x = x.wrapping_mul(2).wrapping_sub(w);
    [x, y, z, w]
}

/// Undoes the transform of four values that loses nothing.
fn lift_exactly([x, mut y, mut z, mut w]: [i64; 4]) -> [i64; 4] {
    w = w.wrapping_add(z);
    z = z.wrapping_add(y);
    w = w.wrapping_add(z);
    y = y.wrapping_add(x);
    z = z.wrapping_add(y);
    w = w.wrapping_add(z);
    [x, y, z, w]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_reach_from_the_smallest_double_on() {
        assert_eq!((power_of_two(-1075), power_of_two(-1074)), (0.0, f64::from_bits(1)));
        for exponent in [-1073, -1023, -1022, -1021, -62, -1, 0, 1, 66, 900] {
            assert_eq!(power_of_two(exponent), 2f64.powi(exponent), "{exponent}");
        }
    }

    #[test]
    fn negabinary_numbers_are_signed() {
        let cases = [(0, 0), (1, 1), (2, -2), (3, -1), (0b110, 2), (0b111, 3)];
        for (number, value) in cases {
            assert_eq!((from_negabinary(number, 32), from_negabinary(number, 64)), (value, value));
        }
    }
}
