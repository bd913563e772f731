//! Stitching elements that are picked one by one, against a gather element by element.

use proptest::prelude::*;
use swath_codecs::{Cut, CutAxis, DecodedChunk, ErrorKind, Output, Picks};

/// One axis of a result: which elements are taken, of chunks of `extent`.
#[derive(Clone, Debug)]
struct Axis {
    extent: u64,
    taken: Taken,
}

#[derive(Clone, Debug)]
enum Taken {
    Step(u64, i64, u64),
    List(Vec<u64>),
}

/// A result, in which order the axes of its chunks are stored, and how.
#[derive(Clone, Debug)]
struct Case {
    axes: Vec<Axis>,
    stored_axes: Vec<usize>,
    element_bytes: usize,
    unit: Option<usize>,
    seed: u64,
}

impl Axis {
    fn positions(&self) -> Vec<u64> {
        match &self.taken {
            Taken::List(positions) => positions.clone(),
            Taken::Step(start, step, count) => {
                let at = |number| start.checked_add_signed(step * i64::try_from(number).unwrap());
                (0..*count).map_while(at).collect()
            }
        }
    }

    fn cut(&self) -> Cut {
        let positions = self.positions();
        match &self.taken {
            Taken::Step(start, step, _) => {
                Cut::Stepped(CutAxis::new(*start, positions.len() as u64, *step, self.extent))
            }
            Taken::List(_) => {
                let chunks: Vec<u64> = positions.iter().map(|at| at / self.extent).collect();
                let sources: Vec<u32> = positions.iter().map(|at| (at % self.extent) as u32).collect();
                let mut picks = Picks::default();
                picks.push(&chunks, &sources).unwrap();
                Cut::Picked(picks.sorted())
            }
        }
    }
}

fn axis() -> impl Strategy<Value = Axis> {
    let list = prop_oneof![
        prop::collection::vec(0u64..12, 0..9),
        // Runs of neighbours.
        (0u64..6, 1u64..6, 0u64..6)
            .prop_map(|(start, count, other)| (start..start + count).chain([other]).collect()),
    ];
    let step = (0u64..12, prop_oneof![Just(1i64), -3i64..0, 2i64..4], 0u64..8);
    let taken = prop_oneof![
        3 => list.prop_map(Taken::List),
        2 => step.prop_map(|(start, step, count)| Taken::Step(start, step, count)),
    ];
    (1u64..6, taken).prop_map(|(extent, taken)| Axis { extent, taken })
}

fn element_and_unit() -> impl Strategy<Value = (usize, Option<usize>)> {
    prop::sample::select(vec![
        (1, None),
        (2, None),
        (2, Some(2)),
        (3, None),
        (4, None),
        (4, Some(4)),
        (8, None),
        (8, Some(8)),
        (12, Some(4)),
        (16, None),
        (16, Some(8)),
        (40, None),
    ])
}

fn case() -> impl Strategy<Value = Case> {
    (0usize..5).prop_flat_map(|rank| {
        let order: Vec<usize> = (0..rank).collect();
        let axes = prop::collection::vec(axis(), rank);
        (axes, Just(order).prop_shuffle(), element_and_unit(), any::<u64>()).prop_map(
            |(axes, stored_axes, (element_bytes, unit), seed)| Case {
                axes,
                stored_axes,
                element_bytes,
                unit,
                seed,
            },
        )
    })
}

impl Case {
    /// The native bytes of the element at these coordinates.
    fn element(&self, coordinates: &[u64]) -> Vec<u8> {
        let number =
            coordinates.iter().fold(17u64, |number, at| number.wrapping_mul(31).wrapping_add(*at + 1));
        let bytes = 0..self.element_bytes as u64;
        bytes
            .map(|byte| (number.wrapping_add(byte).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
            .collect()
    }

    fn extents(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.extent).collect()
    }

    /// A chunk as it is stored: its bytes and strides.
    fn chunk(&self, chunk: &[u64]) -> (Vec<u8>, Vec<usize>) {
        let (extents, mut strides, mut len) = (self.extents(), vec![0; self.axes.len()], self.element_bytes);
        for axis in self.stored_axes.iter().rev() {
            strides[*axis] = len;
            len *= extents[*axis] as usize;
        }
        let mut bytes = vec![0; len];
        for within in coordinates(&extents) {
            let global: Vec<u64> = within
                .iter()
                .zip(chunk)
                .zip(&extents)
                .map(|((at, chunk), extent)| chunk * extent + at)
                .collect();
            let mut native = self.element(&global);
            native.chunks_mut(self.unit.unwrap_or(1)).for_each(<[u8]>::reverse);
            let at: usize = within.iter().zip(&strides).map(|(at, stride)| *at as usize * stride).sum();
            bytes[at..at + self.element_bytes].copy_from_slice(&native);
        }
        (bytes, strides)
    }

    /// Fills a tile from the part of a chunk from `low` to `high`, both bytes, in one of the ways that there are.
    fn fill(&self, output: &Output<'_>, tile: u64, chunk: &[u64]) {
        let (bytes, strides) = self.chunk(chunk);
        let claimed = output.claim(0, tile).unwrap();
        if self.unit.is_none() && (self.seed >> (tile % 64)) & 1 == 0 {
            let copy = |at: usize, stride: usize, rows: &mut [&mut [u8]]| {
                for (number, row) in rows.iter_mut().enumerate() {
                    row.copy_from_slice(&bytes[at + number * stride..][..row.len()]);
                }
                Ok::<(), swath_codecs::Error>(())
            };
            claimed.fill_rows(&strides, (0, bytes.len()), copy).unwrap();
        } else {
            let chunk =
                DecodedChunk { bytes: &bytes, start: 0, strides: &strides, swap_unit_bytes: self.unit };
            claimed.write(&chunk).unwrap();
        }
        assert!(output.claim(0, tile).is_none());
    }
}

/// All coordinates within a box, in C order.
fn coordinates(extents: &[u64]) -> Vec<Vec<u64>> {
    extents.iter().fold(vec![Vec::new()], |outer, extent| {
        let with = |at: Vec<u64>| (0..*extent).map(move |last| at.iter().copied().chain([last]).collect());
        outer.into_iter().flat_map(with).collect()
    })
}

/// The distinct chunks along an axis, in the order of its tiles.
fn chunks_of(axis: &Axis) -> Vec<u64> {
    let mut chunks: Vec<u64> = axis.positions().iter().map(|at| at / axis.extent).collect();
    if let Taken::List(_) = axis.taken {
        chunks.sort_unstable();
    }
    chunks.dedup();
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn picked_axes_gather(case in case()) {
        let positions: Vec<Vec<u64>> = case.axes.iter().map(Axis::positions).collect();
        let counts: Vec<u64> = positions.iter().map(|positions| positions.len() as u64).collect();
        let expected: Vec<u8> = coordinates(&counts)
            .iter()
            .flat_map(|at| {
                let global = at.iter().zip(&positions).map(|(at, positions)| positions[*at as usize]);
                case.element(&global.collect::<Vec<_>>())
            })
            .collect();
        let mut memory = vec![0xA5; expected.len() + 16];
        let mut output = Output::new(&mut memory, case.element_bytes, case.axes.len()).unwrap();
        output.push_cuts(case.axes.iter().map(Axis::cut).collect()).unwrap();
        let chunks: Vec<Vec<u64>> = case.axes.iter().map(chunks_of).collect();
        for (axis, chunks) in chunks.iter().enumerate() {
            let cut = output.cut(0, axis).unwrap();
            prop_assert_eq!(cut.count(), counts[axis]);
            prop_assert_eq!(&(0..cut.tile_count()).map(|tile| cut.chunk(tile)).collect::<Vec<_>>(), chunks);
        }
        let tiles = coordinates(&chunks.iter().map(|chunks| chunks.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(output.unclaimed(), tiles.len() as u64);
        for (number, tile) in tiles.iter().enumerate() {
            let chunk: Vec<u64> = tile.iter().zip(&chunks).map(|(at, chunks)| chunks[*at as usize]).collect();
            case.fill(&output, number as u64, &chunk);
        }
        prop_assert_eq!(output.unclaimed(), 0);
        drop(output);
        prop_assert_eq!(&memory[..expected.len()], &expected[..]);
        prop_assert_eq!(&memory[expected.len()..], &[0xA5; 16]);
    }

    #[test]
    fn points_gather(case in case(), points in prop::collection::vec(any::<[u16; 4]>(), 0..40), runs: bool) {
        prop_assume!(!case.axes.is_empty() || points.len() == 1);
        let extents = case.extents();
        // Points within four chunks along each axis, and where runs are wanted, the neighbours of each.
        let nexts = if runs && !extents.is_empty() { 4 } else { 1 };
        let place = |point: &[u16; 4], next: u64| -> Vec<u64> {
            let mut at: Vec<u64> =
                point.iter().zip(&extents).map(|(at, extent)| u64::from(*at) % (4 * extent)).collect();
            if let (Some(at), Some(extent)) = (at.last_mut(), extents.last()) {
                *at = (*at + next) % (4 * extent);
            }
            at
        };
        let mut all = Vec::new();
        for point in &points {
            all.extend((0..nexts).map(|next| place(point, next)));
        }
        let points = all;
        let number = |point: &[u64]| -> u64 {
            point.iter().zip(&extents).fold(0, |number, (at, extent)| number * 4 + at / extent)
        };
        let source = |point: &[u64]| -> u64 {
            point.iter().zip(&extents).fold(0, |number, (at, extent)| number * extent + at % extent)
        };
        let mut picks = Picks::default();
        let chunks: Vec<u64> = points.iter().map(|point| number(point)).collect();
        let sources: Vec<u32> = points.iter().map(|point| source(point) as u32).collect();
        picks.push(&chunks, &sources).unwrap();
        let picks = picks.sorted();
        let expected: Vec<u8> = points.iter().flat_map(|point| case.element(point)).collect();
        let mut output = Output::owned(expected.len(), case.element_bytes, extents.len()).unwrap();
        output.push_points(picks.clone(), &extents).unwrap();
        prop_assert_eq!(output.points(0), Some(&picks));
        for tile in 0..picks.tile_count() {
            let mut rest = picks.chunk(tile);
            let mut chunk = vec![0; extents.len()];
            for at in chunk.iter_mut().rev() {
                (*at, rest) = (rest % 4, rest / 4);
            }
            case.fill(&output, tile, &chunk);
        }
        prop_assert_eq!(output.unclaimed(), 0);
        prop_assert_eq!(output.into_owned().unwrap(), expected);
    }

    #[test]
    fn picks_are_filled_with_one_value(case in case()) {
        let value: Vec<u8> = (1..=case.element_bytes as u8).map(|byte| if case.seed % 2 == 0 { 7 } else { byte }).collect();
        let count: usize = case.axes.iter().map(|axis| axis.positions().len()).product();
        let mut output = Output::owned(2 * count * value.len(), value.len(), case.axes.len()).unwrap();
        output.push_cuts(case.axes.iter().map(Axis::cut).collect()).unwrap();
        let mut points = Picks::default();
        points.push(&vec![9; count], &vec![0; count]).unwrap();
        prop_assume!(!case.axes.is_empty());
        output.push_points(points.sorted(), &case.extents()).unwrap();
        for result in 0..2 {
            for tile in 0..output.tile_count(result) {
                output.claim(result, tile).unwrap().fill(&value).unwrap();
            }
        }
        prop_assert_eq!(output.unclaimed(), 0);
        prop_assert_eq!(output.into_owned().unwrap(), value.repeat(2 * count));
    }

    #[test]
    fn parts_of_chunks_are_written_within_or_refused(
        sources in prop::collection::vec(0u32..40, 1..6), start in 0usize..40, len in 0usize..80,
        strides in prop::sample::select(vec![[6, 2], [2, 8], [usize::MAX, 2], [6, usize::MAX / 2]]), as_points: bool,
    ) {
        // Strides beyond any chunk are refused even where the first element is wanted.
        prop_assume!(as_points || strides[0] != usize::MAX);
        let mut picks = Picks::default();
        picks.push(&vec![5; sources.len()], &sources).unwrap();
        let picks = picks.sorted();
        let mut memory = vec![0xA5; sources.len() * 2];
        let mut output = Output::new(&mut memory, 2, 2).unwrap();
        if as_points {
            output.push_points(picks, &[4, 3]).unwrap();
        } else {
            output.push_cuts(vec![Cut::Stepped(CutAxis::new(0, 1, 1, 1)), Cut::Picked(picks)]).unwrap();
        }
        let bytes = vec![1; len];
        let chunk = DecodedChunk { bytes: &bytes, start, strides: &strides, swap_unit_bytes: None };
        let written = output.claim(0, 0).unwrap().write(&chunk);
        drop(output);
        if let Err(error) = &written {
            prop_assert_eq!(error.kind(), ErrorKind::Internal);
        }
        let mut places = sources.iter().map(|source| {
            let source = *source as usize;
            match as_points {
                true if 12 <= source && strides != [6, 2] => None,
                true => (source / 3).checked_mul(strides[0])?.checked_add((source % 3).checked_mul(strides[1])?),
                false => source.checked_mul(strides[1]),
            }
        });
        let is_within = |place: Option<usize>| place.is_some_and(|at| start <= at && at.saturating_add(2) <= start + len);
        prop_assert_eq!(written.is_ok(), places.all(is_within));
        if written.is_ok() {
            prop_assert!(memory.iter().all(|byte| *byte == 1));
        }
    }
}

#[test]
fn results_without_room_change_nothing() {
    let picks = |count: usize| {
        let mut picks = Picks::default();
        picks.push(&vec![0; count], &vec![0; count]).unwrap();
        picks.sorted()
    };
    let mut output = Output::owned(8, 2, 1).unwrap();
    assert_eq!(output.push_points(picks(5), &[3]).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(output.push_cuts(vec![Cut::Picked(picks(5))]).unwrap_err().kind(), ErrorKind::Internal);
    for axes in [&[][..], &[3, 3]] {
        assert_eq!(output.push_points(picks(0), axes).unwrap_err().kind(), ErrorKind::Internal);
    }
    assert_eq!(output.push_cuts(Vec::new()).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!((output.result_count(), output.total_tile_count(), output.has_picks()), (0, 0, false));
    output.push_points(picks(4), &[3]).unwrap();
    output.push_cuts(vec![Cut::Picked(picks(0))]).unwrap();
    assert_eq!((output.unclaimed(), output.picks_bytes() != 0), (1, true));
    let mut scalar = Output::owned(8, 2, 0).unwrap();
    assert_eq!(scalar.push_points(picks(2), &[]).unwrap_err().kind(), ErrorKind::Unsupported);
    scalar.push_points(picks(0), &[]).unwrap();
    scalar.push_points(picks(1), &[]).unwrap();
    scalar.claim(1, 0).unwrap().fill(&[1, 2]).unwrap();
    assert_eq!(scalar.into_owned().unwrap(), [1, 2, 0, 0, 0, 0, 0, 0]);
}
