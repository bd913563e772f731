//! Blocks of numbers of any type, widened to one of three: what every filter calculates with.

use half::{bf16, f16};

use crate::error::Error;
use crate::float_format::FloatFormat;
use crate::number::{NumberClass, NumberType};

/// Numbers in a block: with their bits, 4 KiB, which stay in the first-level cache.
const BLOCK: usize = 512;

/// How the bits of a block's numbers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wide {
    /// `i64`.
    Signed,
    /// `u64`.
    Unsigned,
    /// `f64`.
    Float,
}

/// Some numbers, each in 64 bits.
pub(super) struct Block {
    bits: [u64; BLOCK],
    count: usize,
    wide: Wide,
}

impl Wide {
    /// What numbers of this type are widened to, without loss.
    pub(super) fn of(number: NumberType) -> Self {
        match number.class() {
            NumberClass::Signed => Self::Signed,
            NumberClass::Bool | NumberClass::Unsigned => Self::Unsigned,
            NumberClass::Float => Self::Float,
        }
    }
}

/// Takes every number of `source` through `step` and stores it in `target` by NumPy's rules of casting.
///
/// Both hold as many numbers as the shorter has room for.
pub(super) fn map_blocks(
    (source, from): (&[u8], NumberType),
    (target, to): (&mut [u8], NumberType),
    mut step: impl FnMut(&mut Block) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut block = Block { bits: [0; BLOCK], count: 0, wide: Wide::of(from) };
    let sources = source.chunks(BLOCK * from.size_bytes());
    for (source, target) in sources.zip(target.chunks_mut(BLOCK * to.size_bytes())) {
        block.load(source, from);
        step(&mut block)?;
        block.store(target, to);
    }
    Ok(())
}

impl Block {
    /// The numbers' bits.
    pub(super) fn bits(&mut self) -> &mut [u64] {
        &mut self.bits[..self.count]
    }

    /// How the bits are meant.
    pub(super) fn wide(&self) -> Wide {
        self.wide
    }

    /// States how the bits are meant from now on.
    pub(super) fn set_wide(&mut self, wide: Wide) {
        self.wide = wide;
    }

    /// Makes floats of whole numbers, rounded to nearest, ties to even.
    pub(super) fn make_float(&mut self) {
        let wide = self.wide;
        for bits in self.bits() {
            *bits = match wide {
                Wide::Signed => (bits.cast_signed() as f64).to_bits(),
                Wide::Unsigned => (*bits as f64).to_bits(),
                Wide::Float => *bits,
            };
        }
        self.wide = Wide::Float;
    }

    /// Replaces floats; the numbers must be floats.
    pub(super) fn map_floats(&mut self, step: impl Fn(f64) -> f64) {
        for bits in self.bits() {
            *bits = step(f64::from_bits(*bits)).to_bits();
        }
    }

    fn load(&mut self, source: &[u8], number: NumberType) {
        self.count = (source.len() / number.size_bytes()).min(BLOCK);
        self.wide = Wide::of(number);
        let bits = &mut self.bits;
        match number {
            NumberType::Bool => load(bits, source, |[byte]: [u8; 1]| u64::from(byte != 0)),
            NumberType::Int8 | NumberType::Int4 | NumberType::Int2 => {
                load(bits, source, |bytes| i64::from(i8::from_ne_bytes(bytes)).cast_unsigned());
            }
            NumberType::Int16 => {
                load(bits, source, |bytes| i64::from(i16::from_ne_bytes(bytes)).cast_unsigned());
            }
            NumberType::Int32 => {
                load(bits, source, |bytes| i64::from(i32::from_ne_bytes(bytes)).cast_unsigned());
            }
            NumberType::UInt8 | NumberType::UInt4 | NumberType::UInt2 => {
                load(bits, source, |[byte]: [u8; 1]| u64::from(byte));
            }
            NumberType::UInt16 => load(bits, source, |bytes| u64::from(u16::from_ne_bytes(bytes))),
            NumberType::UInt32 => load(bits, source, |bytes| u64::from(u32::from_ne_bytes(bytes))),
            NumberType::Int64 | NumberType::UInt64 | NumberType::Float64 => {
                load(bits, source, u64::from_ne_bytes);
            }
            NumberType::Float32 => {
                load(bits, source, |bytes| f64::from(f32::from_ne_bytes(bytes)).to_bits());
            }
            NumberType::Float16 => load(bits, source, |bytes| f16::from_ne_bytes(bytes).to_f64().to_bits()),
            NumberType::BFloat16 => load(bits, source, |bytes| bf16::from_ne_bytes(bytes).to_f64().to_bits()),
            _ => {
                if let Some(format) = FloatFormat::of(number) {
                    load(bits, source, |[byte]: [u8; 1]| format.value(byte.into()).to_bits());
                }
            }
        }
    }

    /// Stores by NumPy's rules of casting: whole numbers wrap, floats are cut towards zero to whole ones, and what does
    /// not fit those becomes what an x86-64 processor makes of it.
    fn store(&mut self, target: &mut [u8], number: NumberType) {
        let wide = self.wide;
        if number.class() == NumberClass::Float {
            return self.store_floats(target, number);
        }
        if wide == Wide::Float {
            for bits in self.bits() {
                *bits = whole(f64::from_bits(*bits), number);
            }
        }
        let bits = &self.bits;
        match number.size_bytes() {
            _ if number == NumberType::Bool => store(target, bits, |bits| [u8::from(bits != 0)]),
            1 => store(target, bits, low::<1>),
            2 => store(target, bits, low::<2>),
            4 => store(target, bits, low::<4>),
            _ => store(target, bits, u64::to_ne_bytes),
        }
    }

    fn store_floats(&mut self, target: &mut [u8], number: NumberType) {
        let bits = &self.bits;
        match (number, self.wide) {
            // Straight to `f32`: by way of `f64`, a large whole number would be rounded twice.
            (NumberType::Float32, Wide::Signed) => {
                store(target, bits, |bits| (bits.cast_signed() as f32).to_ne_bytes());
            }
            (NumberType::Float32, Wide::Unsigned) => store(target, bits, |bits| (bits as f32).to_ne_bytes()),
            (NumberType::Float16, Wide::Signed) => {
                store(target, bits, |bits| f16::from_f32(bits.cast_signed() as f32).to_ne_bytes());
            }
            (NumberType::Float16, Wide::Unsigned) => {
                store(target, bits, |bits| f16::from_f32(bits as f32).to_ne_bytes());
            }
            _ => {
                self.make_float();
                let bits = &self.bits;
                match number {
                    NumberType::Float32 => {
                        store(target, bits, |bits| narrow(f64::from_bits(bits)).to_ne_bytes())
                    }
                    NumberType::Float16 => {
                        store(target, bits, |bits| f16::from_f64(f64::from_bits(bits)).to_ne_bytes());
                    }
                    NumberType::BFloat16 => {
                        store(target, bits, |bits| bf16::from_f64(f64::from_bits(bits)).to_ne_bytes());
                    }
                    NumberType::Float64 => store(target, bits, u64::to_ne_bytes),
                    small => {
                        if let Some(format) = FloatFormat::of(small) {
                            store(target, bits, |bits| [format.nearest_bits(f64::from_bits(bits))]);
                        }
                    }
                }
            }
        }
    }
}

/// Rounds a float to the precision of its type, as arithmetic in that type does.
pub(super) fn rounded(number: NumberType) -> fn(f64) -> f64 {
    match number {
        NumberType::Float32 => |value| f64::from(narrow(value)),
        NumberType::Float16 => |value| f16::from_f64(value).to_f64(),
        NumberType::BFloat16 => |value| bf16::from_f64(value).to_f64(),
        _ => |value| value,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "to the nearest is what is wanted")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// The whole number that x86-64's conversions make of a float on the way to `number`, in its low bits.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit is told first")]
fn whole(value: f64, number: NumberType) -> u64 {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    let signed = |value: f64| if (-TWO_63..TWO_63).contains(&value) { value as i64 } else { i64::MIN };
    match number {
        NumberType::Bool => u64::from(value != 0.0),
        NumberType::Int64 | NumberType::UInt32 => signed(value).cast_unsigned(),
        NumberType::UInt64 if TWO_63 <= value => signed(value - TWO_63).cast_unsigned() ^ (1 << 63),
        NumberType::UInt64 => signed(value).cast_unsigned(),
        _ => match signed(value) {
            fits if i32::try_from(fits).is_ok() => fits.cast_unsigned(),
            _ => i64::from(i32::MIN).cast_unsigned(),
        },
    }
}

/// The low bytes of a number, in native order.
fn low<const N: usize>(bits: u64) -> [u8; N] {
    let mut bytes = [0; N];
    if cfg!(target_endian = "big") {
        bytes.copy_from_slice(&bits.to_be_bytes()[8 - N..]);
    } else {
        bytes.copy_from_slice(&bits.to_le_bytes()[..N]);
    }
    bytes
}

fn load<const N: usize>(bits: &mut [u64], source: &[u8], read: impl Fn([u8; N]) -> u64) {
    for (bits, bytes) in bits.iter_mut().zip(source.as_chunks::<N>().0) {
        *bits = read(*bytes);
    }
}

fn store<const N: usize>(target: &mut [u8], bits: &[u64], write: impl Fn(u64) -> [u8; N]) {
    for (bytes, bits) in target.as_chunks_mut::<N>().0.iter_mut().zip(bits) {
        *bytes = write(*bits);
    }
}
