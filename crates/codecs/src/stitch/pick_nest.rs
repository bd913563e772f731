//! The copy loops between a chunk and an output where elements are picked along some axis.

use super::copy::{Any, Fixed, Loop, RANK_MAX, Run as Bytes, Swapped, walk_rows};
use super::picks::Run;

/// One axis of a copy, innermost first.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Strided(Loop),
    Picked(PickedLoop<'a>),
}

/// An axis along which elements are picked.
#[derive(Clone, Copy)]
pub(super) struct PickedLoop<'a> {
    pub(super) runs: &'a [Run],
    /// The first of the chunk's elements that a run takes: places in the chunk are counted from it.
    pub(super) lowest: u32,
    pub(super) source_stride: usize,
    pub(super) target_stride: usize,
}

impl PickedLoop<'_> {
    /// How far a run is from the origins of both sides, and its loop.
    #[inline(always)]
    fn place(&self, run: &Run) -> (usize, usize, Loop) {
        // Nothing lies outside memory: bounds were checked when the nest was made.
        let source = ((run.source - self.lowest) as usize).wrapping_mul(self.source_stride);
        let target = (run.target as usize).wrapping_mul(self.target_stride);
        let rows = Loop {
            count: run.count as usize,
            source_stride: self.source_stride.cast_signed(),
            target_stride: self.target_stride,
        };
        (source, target, rows)
    }

    /// Elements that follow each other are one run of bytes on both sides.
    #[inline]
    fn is_dense(&self, run_bytes: usize) -> bool {
        self.source_stride == run_bytes && self.target_stride == run_bytes
    }
}

/// A nest of loops, innermost first, some of them over picks; neighbours that run together are merged.
pub(super) struct PickNest<'a> {
    steps: [Step<'a>; RANK_MAX],
    len: usize,
    /// Bytes that follow each other on both sides.
    pub(super) run_bytes: usize,
}

impl<'a> PickNest<'a> {
    pub(super) fn new(element_bytes: usize) -> PickNest<'a> {
        let nothing = Step::Strided(Loop { count: 1, source_stride: 0, target_stride: 0 });
        PickNest { steps: [nothing; RANK_MAX], len: 0, run_bytes: element_bytes }
    }

    /// Adds the next outer axis; there are at most [`RANK_MAX`].
    pub(super) fn push(&mut self, step: Step<'a>) {
        if let Step::Strided(axis) = step {
            let is_dense = self.len == 0
                && usize::try_from(axis.source_stride) == Ok(self.run_bytes)
                && axis.target_stride == self.run_bytes;
            if is_dense {
                self.run_bytes *= axis.count;
            }
            if is_dense || axis.count == 1 {
                return;
            }
        }
        self.steps[self.len] = step;
        self.len += 1;
    }

    /// Calls `rows` with rows of so many bytes each, and with how far the first of them is from the origins of both sides;
    /// ends with the first error.
    pub(super) fn each_rows<E>(
        &self,
        source: usize,
        target: usize,
        mut rows: impl FnMut(usize, usize, Loop, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        each_rows(&self.steps[..self.len], (source, target), self.run_bytes, &mut rows)
    }
}

fn each_rows<E>(
    steps: &[Step<'_>],
    (source, target): (usize, usize),
    run_bytes: usize,
    rows: &mut impl FnMut(usize, usize, Loop, usize) -> Result<(), E>,
) -> Result<(), E> {
    let once = Loop { count: 1, source_stride: 0, target_stride: 0 };
    match steps {
        [] => rows(source, target, once, run_bytes),
        [Step::Strided(innermost)] => rows(source, target, *innermost, run_bytes),
        [Step::Picked(picked)] => picked.runs.iter().try_for_each(|run| {
            let (from, to, run) = picked.place(run);
            let (from, to) = (source.wrapping_add(from), target.wrapping_add(to));
            match picked.is_dense(run_bytes) {
                true => rows(from, to, once, run_bytes * run.count),
                false => rows(from, to, run, run_bytes),
            }
        }),
        [inner @ .., outer] => each_position(outer, |from, to| {
            each_rows(inner, (source.wrapping_add(from), target.wrapping_add(to)), run_bytes, rows)
        }),
    }
}

/// Calls `each` with every position of a loop: how far it is from the origins of both sides.
#[inline]
fn each_position<E>(step: &Step<'_>, mut each: impl FnMut(usize, usize) -> Result<(), E>) -> Result<(), E> {
    let mut rows = |from: usize, to: usize, rows: Loop| {
        // Past the last position the sums may leave the chunk; nothing is there to read then.
        let (mut from, mut to) = (from, to);
        for _ in 0..rows.count {
            each(from, to)?;
            from = from.wrapping_add_signed(rows.source_stride);
            to = to.wrapping_add(rows.target_stride);
        }
        Ok(())
    };
    match step {
        Step::Strided(axis) => rows(0, 0, *axis),
        Step::Picked(picked) => picked.runs.iter().try_for_each(|run| {
            let (from, to, run) = picked.place(run);
            rows(from, to, run)
        }),
    }
}

/// Copies a nest of runs, each unit of `swap_unit_bytes` reversed where that is some.
///
/// # Safety
///
/// For every combination of loop positions, `source` plus how far the positions are is readable for `run_bytes`, and
/// `target` plus how far they are is writable for as many, by nobody else; the two sides do not overlap. A unit is of 2, 4
/// or 8 bytes and divides the run.
#[expect(unsafe_code, reason = "writes to an output that threads share")]
pub(super) unsafe fn copy_picks(
    source: *const u8,
    target: *mut u8,
    nest: &PickNest<'_>,
    swap_unit_bytes: Option<usize>,
) {
    let (run, steps) = (nest.run_bytes, &nest.steps[..nest.len]);
    match (swap_unit_bytes, run) {
        // SAFETY: as the caller promises, and the unit is of as many bytes.
        (Some(2), _) => unsafe { walk(source, target, steps, Swapped::<2>(run)) },
        // SAFETY: as above.
        (Some(4), _) => unsafe { walk(source, target, steps, Swapped::<4>(run)) },
        // SAFETY: as above; there are no other units.
        (Some(_), _) => unsafe { walk(source, target, steps, Swapped::<8>(run)) },
        // SAFETY: as the caller promises, and the run is of as many bytes.
        (None, 1) => unsafe { walk(source, target, steps, Fixed::<1>) },
        // SAFETY: as above.
        (None, 2) => unsafe { walk(source, target, steps, Fixed::<2>) },
        // SAFETY: as above.
        (None, 4) => unsafe { walk(source, target, steps, Fixed::<4>) },
        // SAFETY: as above.
        (None, 8) => unsafe { walk(source, target, steps, Fixed::<8>) },
        // SAFETY: as above.
        (None, 16) => unsafe { walk(source, target, steps, Fixed::<16>) },
        // SAFETY: as above.
        (None, _) => unsafe { walk(source, target, steps, Any(run)) },
    }
}

/// Copies a run for every combination of loop positions.
///
/// # Safety
///
/// As [`copy_picks`].
#[expect(unsafe_code, reason = "walks addresses")]
unsafe fn walk<R: Bytes>(source: *const u8, target: *mut u8, steps: &[Step<'_>], run: R) {
    match steps {
        // SAFETY: the one combination there is.
        [] => unsafe { run.copy(source, target) },
        // SAFETY: as the caller promises.
        [Step::Strided(rows)] => unsafe { walk_rows(source, target, *rows, run) },
        // SAFETY: as the caller promises.
        [Step::Picked(picked)] => unsafe { walk_picks(source, target, picked, run) },
        [inner @ .., outer] => {
            let Ok(()) = each_position(outer, |from, to| {
                // SAFETY: one fewer loop, from an address of this one.
                unsafe { walk(source.wrapping_add(from), target.wrapping_add(to), inner, run) };
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }
}

/// [`walk`] for one loop over picks, the innermost and the hottest.
///
/// # Safety
///
/// As [`walk`].
#[expect(unsafe_code, reason = "walks addresses")]
#[inline(always)]
unsafe fn walk_picks<R: Bytes>(source: *const u8, target: *mut u8, picked: &PickedLoop<'_>, run: R) {
    let is_dense = picked.is_dense(run.len());
    for picks in picked.runs {
        let (from, to, rows) = picked.place(picks);
        let (source, target) = (source.wrapping_add(from), target.wrapping_add(to));
        match rows.count {
            // SAFETY: a position of the loop.
            1 => unsafe { run.copy(source, target) },
            // SAFETY: the positions of the run follow each other on both sides.
            count if is_dense => unsafe { run.copy_times(count, source, target) },
            // SAFETY: positions of the loop.
            _ => unsafe { walk_rows(source, target, rows, run) },
        }
    }
}
