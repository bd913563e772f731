//! Stitching chunks into outputs, against a gather element by element.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use swath_codecs::{AxisTile, CutAxis, DecodedChunk, ErrorKind, Output};

/// One axis of a result: elements `start`, `start + step`, ... of an axis that is cut into chunks of `extent`.
#[derive(Clone, Debug)]
struct Axis {
    extent: u64,
    positions: Vec<u64>,
    step: i64,
}

/// One result: its axes, and in which order the axes of its chunks are stored.
#[derive(Clone, Debug)]
struct Case {
    axes: Vec<Axis>,
    stored_axes: Vec<usize>,
}

impl Axis {
    fn cut(&self) -> CutAxis {
        let start = self.positions.first().copied().unwrap_or(0);
        CutAxis::new(start, self.positions.len() as u64, self.step, self.extent)
    }

    fn tiles(&self) -> Vec<AxisTile> {
        let mut tiles: Vec<AxisTile> = Vec::new();
        for position in &self.positions {
            let chunk = position / self.extent;
            match tiles.last_mut() {
                Some(tile) if tile.chunk == chunk => tile.count += 1,
                _ => {
                    tiles.push(AxisTile {
                        chunk,
                        source_start: position % self.extent,
                        count: 1,
                        target_start: 99,
                    });
                }
            }
        }
        tiles
    }
}

fn axis() -> impl Strategy<Value = Axis> {
    (1u64..5, 0u64..7, prop_oneof![Just(1i64), -4i64..0, 1i64..5], 0usize..7).prop_map(
        |(extent, start, step, count)| {
            let at = |number: usize| i64::try_from(start).unwrap() + step * i64::try_from(number).unwrap();
            let positions = (0..count).map(at).filter(|at| 0 <= *at).map(|at| at as u64).collect();
            Axis { extent, positions, step }
        },
    )
}

fn case(rank: usize) -> impl Strategy<Value = Case> {
    let order: Vec<usize> = (0..rank).collect();
    (prop::collection::vec(axis(), rank), Just(order).prop_shuffle())
        .prop_map(|(axes, stored_axes)| Case { axes, stored_axes })
}

fn cases() -> impl Strategy<Value = (usize, Option<usize>, Vec<Case>, u64)> {
    let elements = prop_oneof![
        Just((1, vec![None])),
        Just((2, vec![None, Some(2)])),
        Just((3, vec![None])),
        Just((4, vec![None, Some(2), Some(4)])),
        Just((8, vec![None, Some(4), Some(8)])),
        Just((16, vec![None, Some(2), Some(8)])),
    ];
    let element = elements.prop_flat_map(|(size, units)| (Just(size), prop::sample::select(units)));
    (0usize..6, element, any::<u64>()).prop_flat_map(|(rank, (size, unit), seed)| {
        (Just(size), Just(unit), prop::collection::vec(case(rank), 0..4), Just(seed))
    })
}

/// The native bytes of the element at these coordinates.
fn element(coordinates: &[u64], element_bytes: usize) -> Vec<u8> {
    let number = coordinates.iter().fold(17u64, |number, at| number.wrapping_mul(31).wrapping_add(*at + 1));
    (0..element_bytes as u64)
        .map(|byte| (number.wrapping_add(byte).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

fn odometer(extents: &[u64], mut each: impl FnMut(&[u64])) {
    let total: u64 = extents.iter().product();
    let mut coordinates = vec![0; extents.len()];
    for number in 0..total {
        let mut rest = number;
        for (coordinate, extent) in coordinates.iter_mut().zip(extents).rev() {
            *coordinate = rest % extent;
            rest /= extent;
        }
        each(&coordinates);
    }
}

/// A chunk as it is stored: its bytes and strides.
fn chunk(case: &Case, chunk: &[u64], element_bytes: usize, unit: Option<usize>) -> (Vec<u8>, Vec<usize>) {
    let mut strides = vec![0; case.axes.len()];
    let mut bytes_len = element_bytes;
    for axis in case.stored_axes.iter().rev() {
        strides[*axis] = bytes_len;
        bytes_len *= case.axes[*axis].extent as usize;
    }
    let mut bytes = vec![0; bytes_len];
    let extents: Vec<u64> = case.axes.iter().map(|axis| axis.extent).collect();
    odometer(&extents, |within| {
        let global: Vec<u64> =
            within.iter().zip(chunk).zip(&extents).map(|((at, chunk), extent)| chunk * extent + at).collect();
        let mut native = element(&global, element_bytes);
        for unit in native.chunks_mut(unit.unwrap_or(1)) {
            unit.reverse();
        }
        let at: usize = within.iter().zip(&strides).map(|(at, stride)| *at as usize * stride).sum();
        bytes[at..at + element_bytes].copy_from_slice(&native);
    });
    (bytes, strides)
}

fn expected(cases: &[Case], element_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for case in cases {
        let counts: Vec<u64> = case.axes.iter().map(|axis| axis.positions.len() as u64).collect();
        odometer(&counts, |at| {
            let global: Vec<u64> =
                at.iter().zip(&case.axes).map(|(at, axis)| axis.positions[*at as usize]).collect();
            bytes.extend(element(&global, element_bytes));
        });
    }
    bytes
}

/// Every tile of every result, by result, row-major number and chunk coordinates.
fn tiles(cases: &[Case]) -> Vec<(usize, u64, Vec<u64>)> {
    let mut found = Vec::new();
    for (result, case) in cases.iter().enumerate() {
        let axes: Vec<Vec<AxisTile>> = case.axes.iter().map(Axis::tiles).collect();
        let counts: Vec<u64> = axes.iter().map(|tiles| tiles.len() as u64).collect();
        let mut number = 0;
        odometer(&counts, |at| {
            let chunk = at.iter().zip(&axes).map(|(at, tiles)| tiles[*at as usize].chunk).collect();
            found.push((result, number, chunk));
            number += 1;
        });
    }
    found
}

fn push_all(output: &mut Output<'_>, cases: &[Case]) {
    for case in cases {
        let axes: Vec<CutAxis> = case.axes.iter().map(Axis::cut).collect();
        output.push(&axes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_tiles_in_any_order_gather((element_bytes, unit, cases, seed) in cases()) {
        let Some(first) = cases.first() else { return Ok(()) };
        let expected = expected(&cases, element_bytes);
        // What no tile fills stays as it is: the bytes before, between and behind are the caller's.
        let mut memory = vec![0xA5; expected.len() + 16];
        let mut output = Output::new(&mut memory, element_bytes, first.axes.len()).unwrap();
        push_all(&mut output, &cases);
        let mut order = tiles(&cases);
        let orders = order.len();
        order.sort_by_key(|(result, tile, _)| (*result as u64 * 1000 + tile).wrapping_mul(seed | 1));
        prop_assert_eq!(output.unclaimed(), orders as u64);
        for (result, number, at) in &order {
            let (bytes, strides) = chunk(&cases[*result], at, element_bytes, unit);
            let decoded = DecodedChunk { bytes: &bytes, start: 0, strides: &strides, swap_unit_bytes: unit };
            let tile = output.claim(*result, *number).unwrap();
            let shape: Vec<u64> = cases[*result].axes.iter().map(|axis| axis.extent).collect();
            let in_c_order = cases[*result].stored_axes.is_sorted();
            if tile.covers(&shape) && unit.is_none() && in_c_order {
                match tile.into_contiguous() {
                    Ok(target) => target.copy_from_slice(&bytes),
                    Err(tile) => tile.write(&decoded).unwrap(),
                }
            } else if unit.is_none() && number % 2 == 0 {
                let copy = |at: usize, stride: usize, rows: &mut [&mut [u8]]| {
                    for (number, row) in rows.iter_mut().enumerate() {
                        row.copy_from_slice(&bytes[at + number * stride..][..row.len()]);
                    }
                    Ok::<(), swath_codecs::Error>(())
                };
                tile.fill_rows(&strides, (0, bytes.len()), copy).unwrap();
            } else {
                tile.write(&decoded).unwrap();
            }
            prop_assert!(output.claim(*result, *number).is_none());
        }
        prop_assert_eq!(output.unclaimed(), 0);
        drop(output);
        prop_assert_eq!(&memory[..expected.len()], &expected[..]);
        prop_assert_eq!(&memory[expected.len()..], &[0xA5; 16]);
    }

    #[test]
    fn fills_every_byte((element_bytes, _, cases, seed) in cases()) {
        let Some(first) = cases.first() else { return Ok(()) };
        let value: Vec<u8> = match seed % 2 {
            0 => vec![7; element_bytes],
            _ => (1..=element_bytes as u8).collect(),
        };
        let len = expected(&cases, element_bytes).len();
        let mut output = Output::owned(len, element_bytes, first.axes.len()).unwrap();
        push_all(&mut output, &cases);
        for (result, number, _) in tiles(&cases) {
            output.claim(result, number).unwrap().fill(&value).unwrap();
        }
        prop_assert_eq!(output.into_owned().unwrap(), value.repeat(len / element_bytes));
    }

    #[test]
    fn chunks_of_any_size_are_written_within_or_refused(
        (strides, bytes) in (prop::collection::vec(prop_oneof![0usize..40, any::<usize>()], 0..4), 0usize..64),
        (start, count, step) in (prop_oneof![0u64..9, any::<u64>()], 1u64..5, prop_oneof![-3i64..4, any::<i64>()]),
    ) {
        let mut memory = [0xA5; 5 * 5 * 4 + 4];
        // One chunk for all, as far as steps go.
        let axis = CutAxis::new(start, count, step, u64::MAX);
        let mut output = Output::new(&mut memory, 4, 2).unwrap();
        output.push(&[axis, axis]).unwrap();
        let bytes = vec![1; bytes];
        let chunk = DecodedChunk { bytes: &bytes, start: 0, strides: &strides, swap_unit_bytes: None };
        let written = output.claim(0, 0).unwrap().write(&chunk);
        let is_one_tile = output.unclaimed() == 0;
        drop(output);
        let filled = usize::try_from(count * count * 4).unwrap();
        prop_assume!(is_one_tile);
        let expected = if written.is_ok() { 1 } else { 0xA5 };
        prop_assert!(memory[..filled].iter().all(|byte| *byte == expected));
        prop_assert!(memory[filled..].iter().all(|byte| *byte == 0xA5));
    }
}

/// `count` elements from `start` on, all of one chunk.
fn whole(start: u64, count: u64) -> CutAxis {
    CutAxis::new(start, count, 1, u64::MAX)
}

#[test]
fn a_tile_is_claimed_once_whoever_asks() {
    const TILES: u64 = 3000;
    let mut memory = vec![0; TILES as usize * 8];
    let mut output = Output::new(&mut memory, 2, 1).unwrap();
    output.push(&[CutAxis::new(0, TILES * 4, 1, 4)]).unwrap();
    let claimed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (output, claimed) = (&output, &claimed);
            scope.spawn(move || {
                for tile in 0..TILES {
                    let number = if thread % 2 == 0 { tile } else { TILES - 1 - tile };
                    let Some(tile) = output.claim(0, number) else { continue };
                    claimed.fetch_add(1, Ordering::Relaxed);
                    let bytes = (number as u16).to_ne_bytes().repeat(4);
                    let chunk =
                        DecodedChunk { bytes: &bytes, start: 0, strides: &[2], swap_unit_bytes: None };
                    tile.write(&chunk).unwrap();
                }
            });
        }
    });
    assert_eq!((claimed.into_inner(), output.unclaimed()), (TILES, 0));
    drop(output);
    for (number, tile) in memory.chunks(8).enumerate() {
        assert_eq!(tile, (number as u16).to_ne_bytes().repeat(4));
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut memory = [0; 24];
    let mut output = Output::new(&mut memory, 4, 2).unwrap();
    let (two, three, huge, nothing) = (whole(0, 2), whole(0, 3), whole(0, u64::MAX), whole(0, 0));
    for axes in [[three, three], [huge, two], [two, huge], [huge, huge]] {
        let error = output.push(&axes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!((output.result_count(), output.unclaimed()), (0, 0));
        assert!(output.claim(0, 0).is_none() && output.axis(0, 0).is_none());
    }
    assert!(output.push(&[two]).is_err());
    // Results without elements take no room, however long their other axes are.
    output.push(&[huge, nothing]).unwrap();
    output.push(&[two, three]).unwrap();
    output.push(&[nothing, huge]).unwrap();
    assert!(output.push(&[two, two]).is_err());
    assert_eq!((output.result_count(), output.unclaimed()), (3, 1));
    assert!(output.claim(0, 0).is_none() && output.claim(1, 1).is_none() && output.claim(3, 0).is_none());
    assert!(output.claim(1, u64::MAX).is_none() && output.claim(usize::MAX / 2, 0).is_none());
    output.claim(1, 0).unwrap().fill(&[1, 2, 3, 4]).unwrap();
    drop(output);
    assert_eq!(memory, *[1, 2, 3, 4].repeat(6));
}

#[test]
fn a_scalar_is_one_element() {
    let mut memory = [0; 6];
    let mut output = Output::new(&mut memory, 2, 0).unwrap();
    for _ in 0..3 {
        output.push(&[]).unwrap();
    }
    assert_eq!(output.push(&[]).unwrap_err().kind(), ErrorKind::Internal);
    let scalar = DecodedChunk { bytes: &[1, 2], start: 0, strides: &[], swap_unit_bytes: Some(2) };
    output.claim(0, 0).unwrap().write(&scalar).unwrap();
    output.claim(1, 0).unwrap().fill(&[3, 4]).unwrap();
    assert!(output.claim(2, 1).is_none());
    output.claim(2, 0).unwrap().into_contiguous().ok().unwrap().copy_from_slice(&[5, 6]);
    drop(output);
    assert_eq!(memory, [2, 1, 3, 4, 5, 6]);
}

#[test]
fn chunks_and_values_that_do_not_belong_are_refused() {
    let write = |bytes: &[u8], strides: &[usize], unit: Option<usize>| {
        let mut output = Output::owned(24, 4, 1).unwrap();
        output.push(&[CutAxis::new(5, 3, -2, 6)]).unwrap();
        let chunk = DecodedChunk { bytes, start: 0, strides, swap_unit_bytes: unit };
        let written = output.claim(0, 0).unwrap().write(&chunk);
        written.map_err(|error| error.kind())
    };
    assert_eq!(write(&[0; 24], &[4], None), Ok(()));
    assert_eq!(write(&[0; 24], &[4], Some(2)), Ok(()));
    // The element after the chunk's last, elements before its first, strides that no chunk has, or none.
    assert_eq!(write(&[0; 23], &[4], None), Err(ErrorKind::Internal));
    assert_eq!(write(&[0; 24], &[5], None), Err(ErrorKind::Internal));
    assert_eq!(write(&[0; 24], &[usize::MAX], None), Err(ErrorKind::Internal));
    assert_eq!(write(&[0; 24], &[usize::MAX / 8], None), Err(ErrorKind::Internal));
    assert_eq!(write(&[0; 24], &[], None), Err(ErrorKind::Internal));
    // Units that would reach past an element.
    for unit in [0, 1, 3, 8, usize::MAX] {
        assert_eq!(write(&[0; 24], &[4], Some(unit)), Err(ErrorKind::Internal), "{unit}");
    }
    let mut output = Output::owned(12, 4, 1).unwrap();
    output.push(&[whole(0, 3)]).unwrap();
    assert_eq!(output.claim(0, 0).unwrap().fill(&[0; 3]).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    assert_eq!(Output::owned(8, 1, 33).err().unwrap().kind(), ErrorKind::Unsupported);
    assert_eq!(Output::owned(8, 0, 1).err().unwrap().kind(), ErrorKind::Internal);
    for len in [usize::MAX, isize::MAX as usize] {
        assert_eq!(Output::owned(len, 1, 1).err().unwrap().kind(), ErrorKind::Unsupported);
    }
    assert_eq!(Output::owned(0, 1, 1).unwrap().into_owned(), Some(Vec::new()));
    assert_eq!(Output::new(&mut [], 1, 1).unwrap().into_owned(), None);
}
