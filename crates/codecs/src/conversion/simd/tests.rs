//! Loops by the widest vectors equal the same loops without.

use crate::conversion::{Blocks, ChannelRow, Conversion, Steps, StoredRows, Working};
use crate::number::{NumberClass, NumberType};
use proptest::prelude::*;
use std::cell::Cell;

thread_local! {
    static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn is_plain() -> bool {
    IS_PLAIN.get()
}

const SOURCES: [NumberType; 12] = [
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Int64,
    NumberType::UInt8,
    NumberType::UInt16,
    NumberType::UInt32,
    NumberType::UInt64,
    NumberType::BFloat16,
    NumberType::Float16,
    NumberType::Float32,
    NumberType::Float64,
];

/// Rows of elements, and what is done to them.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    count: usize,
    /// Bytes between rows, in the source and in the target: neither is a multiple of an element.
    gaps: (usize, usize),
    conversion: Conversion,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let steps = (prop::collection::vec(0i8..3, 0..3), any::<bool>(), any::<bool>(), 0u8..3, any::<bool>());
    ((1usize..6, 1usize..70), (0usize..9, 0usize..9), steps, any::<u64>()).prop_map(
        |((rows, count), gaps, (masked, is_bounded, is_scaled, normal, is_filled), seed)| {
            let mut conversion = Conversion::default().mask(masked.iter().copied());
            if is_bounded {
                conversion = conversion.valid_range(Some((-100i8).into()), Some(100i8.into()));
            }
            if is_scaled {
                conversion = conversion.scale(0.01).offset(-3.7);
            }
            conversion = match normal {
                0 => conversion,
                1 => conversion.normalise(1.5, 0.3),
                _ => {
                    let numbers: Vec<f64> = (1..=count).map(|number| number as f64 / 7.0).collect();
                    conversion.normalise_along(0, &numbers, &numbers)
                }
            };
            if is_filled || !masked.is_empty() || is_bounded {
                conversion = conversion.fill_nan(9u8);
            }
            Case { rows, count, gaps, conversion, seed }
        },
    )
}

/// Bytes of elements: zeros, ones, NaN, infinities, the largest and the smallest, and any.
fn stored(source: NumberType, len: usize, seed: u64) -> Vec<u8> {
    let extremes: &[u64] = match source {
        NumberType::Float64 => &[0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 1, 0x7fef_ffff_ffff_ffff, 1 << 63],
        NumberType::Float32 => &[0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 1, 0x7f7f_ffff, 1 << 31],
        NumberType::Float16 => &[0x7c00, 0xfc00, 0x7e01, 1, 0x7bff, 0x8000],
        NumberType::BFloat16 => &[0x7f80, 0xff80, 0x7fc1, 1, 0x7f7f, 0x8000],
        _ => &[0, 1, 2, u64::MAX, 1 << (source.bits() - 1), (1 << (source.bits() - 1)) - 1],
    };
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let number = next();
        let extreme = extremes[(number >> 8) as usize % extremes.len()];
        let element = if number & 3 == 0 { extreme } else { next() };
        bytes.extend_from_slice(&element.to_le_bytes()[..source.size_bytes()]);
    }
    bytes
}

/// The rows of the target, with what lies between them.
fn converted(case: &Case, source: NumberType, target: NumberType) -> Vec<u8> {
    let (from, to) = (source.size_bytes(), target.size_bytes());
    let (stride, target_stride) = (case.count * from + case.gaps.0, case.count * to + case.gaps.1);
    let stored = stored(source, case.rows * stride, case.seed);
    let stored = &StoredRows::new(&stored, stride, case.count * from);
    let shape = [case.count as u64];
    let compiled = case.conversion.clone().cast(target).compile(source, &shape, &shape).unwrap();
    let mut bytes = vec![0; case.rows * target_stride];
    let Some(compiled) = compiled else { return bytes };
    let mut targets: Vec<&mut [u8]> =
        bytes.chunks_mut(target_stride).map(|row| &mut row[..case.count * to]).collect();
    let channel = ChannelRow { first: 0, step: i64::from(compiled.channel_axis().is_some()) };
    fn floats<W: Working>(
        floats: &crate::conversion::Floats<W>,
        stored: &StoredRows<'_>,
        channel: ChannelRow,
        targets: &mut [&mut [u8]],
        count: usize,
    ) {
        floats.convert(stored, channel, &mut Blocks::default(), targets, count);
    }
    match &compiled.steps {
        Steps::Integers(integers) => integers.convert(stored, &mut targets),
        Steps::Single(single) => floats(single, stored, channel, &mut targets, case.count),
        Steps::Double(double) => floats(double, stored, channel, &mut targets, case.count),
    }
    bytes
}

proptest! {
    #[test]
    fn vectors_equal_plain_loops(case in case()) {
        for source in SOURCES {
            for target in SOURCES {
                // Masks of integers need a value to fill with.
                let is_whole = target.class() != NumberClass::Float;
                let case = Case {
                    conversion: if is_whole { case.conversion.clone().fill_nan(9u8) } else { case.conversion.clone() },
                    ..case.clone()
                };
                IS_PLAIN.set(false);
                let wide = converted(&case, source, target);
                IS_PLAIN.set(true);
                let plain = converted(&case, source, target);
                IS_PLAIN.set(false);
                prop_assert_eq!(wide, plain, "{:?} to {:?}", source, target);
            }
        }
    }
}
