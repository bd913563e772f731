//! The copy loops between a chunk and an output.

use super::stream::{self, STREAM_MIN};

/// One axis of a copy: how many elements, and how far apart they are, in bytes, on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) count: usize,
    pub(super) source_stride: isize,
    pub(super) target_stride: usize,
}

/// Axes beyond this are refused when an output is made.
pub(super) const RANK_MAX: usize = 32;

/// A nest of loops, innermost first, with what runs together merged into one.
pub(super) struct LoopNest<const RANK: usize> {
    loops: [Loop; RANK],
    len: usize,
    /// Bytes that follow each other on both sides.
    pub(super) run_bytes: usize,
}

impl<const RANK: usize> LoopNest<RANK> {
    /// A nest around elements of `element_bytes`, for at most `RANK` axes.
    #[inline]
    pub(super) fn new(element_bytes: usize) -> LoopNest<RANK> {
        let nothing = Loop { count: 1, source_stride: 0, target_stride: 0 };
        LoopNest { loops: [nothing; RANK], len: 0, run_bytes: element_bytes }
    }

    /// Adds the next outer axis.
    #[inline(always)]
    pub(super) fn push(&mut self, axis: Loop) {
        if axis.count == 1 {
            return;
        }
        if self.len == 0 {
            if usize::try_from(axis.source_stride) == Ok(self.run_bytes)
                && axis.target_stride == self.run_bytes
            {
                self.run_bytes *= axis.count;
                return;
            }
        } else {
            let inner = &mut self.loops[self.len - 1];
            // Strides are not checked against the chunk yet: their product may pass what memory holds.
            let count = isize::try_from(inner.count).ok();
            let source_span = count.and_then(|count| count.checked_mul(inner.source_stride));
            if source_span == Some(axis.source_stride)
                && inner.count * inner.target_stride == axis.target_stride
            {
                inner.count *= axis.count;
                return;
            }
        }
        self.loops[self.len] = axis;
        self.len += 1;
    }

    /// Calls `rows` with each innermost loop, and with how far its first run is from the origins of `source` and `target`;
    /// ends with the first error.
    pub(super) fn each_rows<E>(
        &self,
        source: usize,
        target: usize,
        mut rows: impl FnMut(usize, usize, Loop) -> Result<(), E>,
    ) -> Result<(), E> {
        each_rows(self.loops(), source, target, &mut rows)
    }

    /// The loops, innermost first.
    pub(super) fn loops(&self) -> &[Loop] {
        &self.loops[..self.len]
    }
}

fn each_rows<E>(
    loops: &[Loop],
    source: usize,
    target: usize,
    rows: &mut impl FnMut(usize, usize, Loop) -> Result<(), E>,
) -> Result<(), E> {
    match loops {
        [] => rows(source, target, Loop { count: 1, source_stride: 0, target_stride: 0 }),
        [innermost] => rows(source, target, *innermost),
        [inner @ .., outer] => {
            let (mut source, mut target) = (source, target);
            for _ in 0..outer.count {
                each_rows(inner, source, target, rows)?;
                // Past the last position the sums may leave the chunk; nothing is there to read then.
                source = source.wrapping_add_signed(outer.source_stride);
                target = target.wrapping_add(outer.target_stride);
            }
            Ok(())
        }
    }
}

/// Copies a nest of runs.
///
/// # Safety
///
/// For every combination of loop positions, `source` plus the sum of its strides is readable for `run_bytes`, and
/// `target` plus the sum of its strides is writable for as many, by nobody else; the two sides do not overlap.
#[expect(unsafe_code, reason = "writes to an output that threads share")]
pub(super) unsafe fn copy_nest<const RANK: usize>(source: *const u8, target: *mut u8, nest: &LoopNest<RANK>) {
    let (run, loops) = (nest.run_bytes, nest.loops());
    match run {
        // SAFETY: as the caller promises, and the run is of as many bytes.
        1 => unsafe { walk(source, target, loops, Fixed::<1>) },
        // SAFETY: as above.
        2 => unsafe { walk(source, target, loops, Fixed::<2>) },
        // SAFETY: as above.
        4 => unsafe { walk(source, target, loops, Fixed::<4>) },
        // SAFETY: as above.
        8 => unsafe { walk(source, target, loops, Fixed::<8>) },
        // SAFETY: as above.
        16 => unsafe { walk(source, target, loops, Fixed::<16>) },
        // SAFETY: as above; the run is at least as long as one move, and at most as two.
        3 => unsafe { walk(source, target, loops, Overlapped::<2>(run)) },
        // SAFETY: as above.
        5..8 => unsafe { walk(source, target, loops, Overlapped::<4>(run)) },
        // SAFETY: as above.
        9..16 => unsafe { walk(source, target, loops, Overlapped::<8>(run)) },
        // SAFETY: as above.
        17..=32 => unsafe { walk(source, target, loops, Overlapped::<16>(run)) },
        // SAFETY: as above.
        33..=64 => unsafe { walk(source, target, loops, Overlapped::<32>(run)) },
        // SAFETY: as above.
        _ => unsafe { walk(source, target, loops, Any(run)) },
    }
}

/// Copies a nest of elements whose units are stored in foreign byte order.
///
/// # Safety
///
/// As [`copy_nest`]; and `unit_bytes` is 2, 4 or 8 and divides the run.
#[expect(unsafe_code, reason = "writes to an output that threads share")]
pub(super) unsafe fn copy_nest_swapped<const RANK: usize>(
    source: *const u8,
    target: *mut u8,
    nest: &LoopNest<RANK>,
    unit_bytes: usize,
) {
    let (run, loops) = (nest.run_bytes, nest.loops());
    match unit_bytes {
        // SAFETY: as the caller promises, and the unit is of as many bytes.
        2 => unsafe { walk(source, target, loops, Swapped::<2>(run)) },
        // SAFETY: as above.
        4 => unsafe { walk(source, target, loops, Swapped::<4>(run)) },
        // SAFETY: as above; there are no other units.
        _ => unsafe { walk(source, target, loops, Swapped::<8>(run)) },
    }
}

/// How one run is copied.
pub(super) trait Run: Copy {
    /// Copies the run at `source` to `target`.
    ///
    /// # Safety
    ///
    /// The run's bytes are readable from `source` and writable to `target`, and the two do not overlap.
    #[expect(unsafe_code, reason = "copies between addresses")]
    unsafe fn copy(self, source: *const u8, target: *mut u8);

    /// Bytes of the run.
    fn len(self) -> usize;

    /// Copies so many runs that follow each other on both sides.
    ///
    /// # Safety
    ///
    /// As [`copy`](Self::copy), of all of them.
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline]
    unsafe fn copy_times(self, times: usize, source: *const u8, target: *mut u8) {
        // SAFETY: the runs' bytes are as many, one behind the other.
        unsafe { Any(self.len() * times).copy(source, target) };
    }
}

/// Calls `run` for every combination of loop positions.
///
/// # Safety
///
/// Both pointers stay within their allocations for every combination, and `run` may copy at every one of them.
#[expect(unsafe_code, reason = "walks addresses")]
#[inline(always)]
unsafe fn walk<R: Run>(source: *const u8, target: *mut u8, loops: &[Loop], run: R) {
    match loops {
        // SAFETY: the one combination there is.
        [] => unsafe { run.copy(source, target) },
        // SAFETY: as the caller promises.
        [rows] => unsafe { walk_rows(source, target, *rows, run) },
        [inner @ .., outer] => {
            let (mut source, mut target) = (source, target);
            for left in (0..outer.count).rev() {
                // SAFETY: one fewer loop, from an address of this one.
                unsafe { walk_inner(source, target, inner, run) };
                if left != 0 {
                    // SAFETY: the next position of this loop, which there is.
                    source = unsafe { source.offset(outer.source_stride) };
                    // SAFETY: as above.
                    target = unsafe { target.add(outer.target_stride) };
                }
            }
        }
    }
}

/// [`walk`] for one loop, the innermost and the hottest.
///
/// # Safety
///
/// As [`walk`].
#[expect(unsafe_code, reason = "walks addresses")]
#[inline(always)]
pub(super) unsafe fn walk_rows<R: Run>(source: *const u8, target: *mut u8, rows: Loop, run: R) {
    let (mut source, mut target, mut left) = (source, target, rows.count);
    while left != 0 {
        // SAFETY: a position of the loop.
        unsafe { run.copy(source, target) };
        // Past the last row the addresses may leave their allocations, and are not used.
        source = source.wrapping_offset(rows.source_stride);
        target = target.wrapping_add(rows.target_stride);
        left -= 1;
    }
}

/// [`walk`], not inlined into itself.
///
/// # Safety
///
/// As [`walk`].
#[expect(unsafe_code, reason = "walks addresses")]
unsafe fn walk_inner<R: Run>(source: *const u8, target: *mut u8, loops: &[Loop], run: R) {
    // SAFETY: as the caller promises.
    unsafe { walk(source, target, loops, run) }
}

/// A run of `N` bytes. Byte arrays have no alignment.
#[derive(Clone, Copy)]
pub(super) struct Fixed<const N: usize>;

impl<const N: usize> Run for Fixed<N> {
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline(always)]
    unsafe fn copy(self, source: *const u8, target: *mut u8) {
        // SAFETY: as the caller promises.
        let bytes = unsafe { source.cast::<[u8; N]>().read() };
        // SAFETY: as the caller promises.
        unsafe { target.cast::<[u8; N]>().write(bytes) }
    }

    #[inline(always)]
    fn len(self) -> usize {
        N
    }
}

/// A run of `N` to `2 * N` bytes, as two moves of `N` that overlap.
#[derive(Clone, Copy)]
struct Overlapped<const N: usize>(usize);

impl<const N: usize> Run for Overlapped<N> {
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline(always)]
    unsafe fn copy(self, source: *const u8, target: *mut u8) {
        // SAFETY: the run's first `N` bytes, of at least as many.
        unsafe { copy_at(source, target, 0, Fixed::<N>) };
        // SAFETY: the run's last `N` bytes, of at least as many.
        unsafe { copy_at(source, target, self.0 - N, Fixed::<N>) };
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.0
    }
}

/// A run of any length. Short ones by 16 bytes at a time, the last of them overlapping the one before: a call of memcpy
/// costs more than that for the rows of small chunks.
#[derive(Clone, Copy)]
pub(super) struct Any(pub(super) usize);

/// Bytes that are copied at a time.
const BLOCK: usize = 16;

/// From here on memcpy is faster.
const INLINE_MAX: usize = 256;

impl Run for Any {
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline(always)]
    unsafe fn copy(self, source: *const u8, target: *mut u8) {
        let Any(len) = self;
        if STREAM_MIN <= len {
            // SAFETY: as the caller promises.
            return unsafe { stream::copy(source, target, len) };
        }
        if !(BLOCK..=INLINE_MAX).contains(&len) {
            // SAFETY: as the caller promises.
            return unsafe { std::ptr::copy_nonoverlapping(source, target, len) };
        }
        let mut at = 0;
        while at + BLOCK <= len {
            // SAFETY: `at + BLOCK <= len`, within the run.
            unsafe { copy_at(source, target, at, Fixed::<BLOCK>) };
            at += BLOCK;
        }
        // SAFETY: the run's last 16 bytes, of at least 16.
        unsafe { copy_at(source, target, len - BLOCK, Fixed::<BLOCK>) };
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.0
    }
}

/// A run with the bytes of each unit of `N` reversed; `N` divides its length.
#[derive(Clone, Copy)]
pub(super) struct Swapped<const N: usize>(pub(super) usize);

impl<const N: usize> Run for Swapped<N> {
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline(always)]
    unsafe fn copy(self, source: *const u8, target: *mut u8) {
        for at in (0..self.0).step_by(N) {
            // SAFETY: `N` divides the length, so `at + N` is within the run.
            unsafe { copy_at(source, target, at, Unit::<N>) };
        }
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.0
    }

    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline]
    unsafe fn copy_times(self, times: usize, source: *const u8, target: *mut u8) {
        // SAFETY: the runs' bytes are as many, one behind the other, and whole units.
        unsafe { Swapped::<N>(self.0 * times).copy(source, target) };
    }
}

/// `N` bytes, reversed.
#[derive(Clone, Copy)]
struct Unit<const N: usize>;

impl<const N: usize> Run for Unit<N> {
    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline(always)]
    unsafe fn copy(self, source: *const u8, target: *mut u8) {
        // SAFETY: as the caller promises.
        let mut bytes = unsafe { source.cast::<[u8; N]>().read() };
        bytes.reverse();
        // SAFETY: as the caller promises.
        unsafe { target.cast::<[u8; N]>().write(bytes) }
    }

    #[inline(always)]
    fn len(self) -> usize {
        N
    }

    #[expect(unsafe_code, reason = "copies between addresses")]
    #[inline]
    unsafe fn copy_times(self, times: usize, source: *const u8, target: *mut u8) {
        // SAFETY: the runs' bytes are as many, one behind the other, and whole units.
        unsafe { Swapped::<N>(N * times).copy(source, target) };
    }
}

/// Copies a run that starts `at` bytes behind both addresses.
///
/// # Safety
///
/// `run` may copy there.
#[expect(unsafe_code, reason = "copies between addresses")]
#[inline(always)]
unsafe fn copy_at<R: Run>(source: *const u8, target: *mut u8, at: usize, run: R) {
    // SAFETY: within the allocation that the run lies in.
    let source = unsafe { source.add(at) };
    // SAFETY: as above.
    let target = unsafe { target.add(at) };
    // SAFETY: as the caller promises.
    unsafe { run.copy(source, target) }
}
