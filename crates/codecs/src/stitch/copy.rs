//! The copy loops between a chunk and an output.

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
pub(super) struct LoopNest {
    loops: [Loop; RANK_MAX],
    len: usize,
    /// Bytes that follow each other on both sides.
    pub(super) run_bytes: usize,
}

impl LoopNest {
    /// A nest around elements of `element_bytes`.
    pub(super) fn new(element_bytes: usize) -> LoopNest {
        let nothing = Loop { count: 1, source_stride: 0, target_stride: 0 };
        LoopNest { loops: [nothing; RANK_MAX], len: 0, run_bytes: element_bytes }
    }

    /// Adds the next outer axis.
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
            if source_span == Some(axis.source_stride) && inner.count * inner.target_stride == axis.target_stride {
                inner.count *= axis.count;
                return;
            }
        }
        self.loops[self.len] = axis;
        self.len += 1;
    }

    /// The loops, innermost first.
    pub(super) fn loops(&self) -> &[Loop] {
        &self.loops[..self.len]
    }
}

/// Copies a nest of runs.
///
/// # Safety
///
/// For every combination of loop positions, `source` plus the sum of its strides is readable for `run_bytes`, and
/// `target` plus the sum of its strides is writable for as many, by nobody else; the two sides do not overlap.
#[expect(unsafe_code, reason = "writes to an output that threads share")]
pub(super) unsafe fn copy_nest(source: *const u8, target: *mut u8, nest: &LoopNest) {
    let run = nest.run_bytes;
    match nest.loops() {
        // SAFETY: the one combination there is.
        [] => unsafe { copy_run(source, target, run) },
        loops => {
            // SAFETY: as the caller promises.
            unsafe {
                match run {
                    1 => walk(source, target, loops, &|s, t| copy_fixed::<1>(s, t)),
                    2 => walk(source, target, loops, &|s, t| copy_fixed::<2>(s, t)),
                    4 => walk(source, target, loops, &|s, t| copy_fixed::<4>(s, t)),
                    8 => walk(source, target, loops, &|s, t| copy_fixed::<8>(s, t)),
                    16 => walk(source, target, loops, &|s, t| copy_fixed::<16>(s, t)),
                    _ => walk(source, target, loops, &|s, t| copy_run(s, t, run)),
                }
            }
        }
    }
}

/// Copies a nest of elements whose units are stored in foreign byte order.
///
/// # Safety
///
/// As [`copy_nest`]; and `unit_bytes` is 2, 4 or 8 and divides the run.
#[expect(unsafe_code, reason = "writes to an output that threads share")]
pub(super) unsafe fn copy_nest_swapped(
    source: *const u8,
    target: *mut u8,
    nest: &LoopNest,
    unit_bytes: usize,
) {
    let run = nest.run_bytes;
    // SAFETY: as the caller promises.
    unsafe {
        match unit_bytes {
            2 => walk(source, target, nest.loops(), &|s, t| swap_run::<2>(s, t, run)),
            4 => walk(source, target, nest.loops(), &|s, t| swap_run::<4>(s, t, run)),
            _ => walk(source, target, nest.loops(), &|s, t| swap_run::<8>(s, t, run)),
        }
    }
}

/// Calls `each` for every combination of loop positions.
///
/// # Safety
///
/// Both pointers stay within their allocations for every combination, and `each` may be called with every one of them.
#[expect(unsafe_code, reason = "walks addresses")]
#[inline(always)]
unsafe fn walk(source: *const u8, target: *mut u8, loops: &[Loop], each: &impl Fn(*const u8, *mut u8)) {
    let Some((outer, inner)) = loops.split_last() else { return each(source, target) };
    let (mut source, mut target) = (source, target);
    for position in 0..outer.count {
        if inner.is_empty() {
            each(source, target);
        } else {
            // SAFETY: one fewer loop, from an address of this one.
            unsafe { walk_inner(source, target, inner, each) };
        }
        if position + 1 < outer.count {
            // SAFETY: the next position of this loop, which there is.
            (source, target) =
                unsafe { (source.offset(outer.source_stride), target.add(outer.target_stride)) };
        }
    }
}

/// [`walk`], not inlined into itself.
///
/// # Safety
///
/// As [`walk`].
#[expect(unsafe_code, reason = "walks addresses")]
unsafe fn walk_inner(source: *const u8, target: *mut u8, loops: &[Loop], each: &impl Fn(*const u8, *mut u8)) {
    // SAFETY: as the caller promises.
    unsafe { walk(source, target, loops, each) }
}

/// Copies one run. Short ones by 16 bytes at a time, the last of them overlapping the one before: a call of memcpy costs
/// more than that for the rows of small chunks.
///
/// # Safety
///
/// `len` bytes are readable from `source` and writable to `target`, and the two do not overlap.
#[expect(unsafe_code, reason = "copies between addresses")]
#[inline(always)]
unsafe fn copy_run(source: *const u8, target: *mut u8, len: usize) {
    const BLOCK: usize = 16;
    const INLINE_MAX: usize = 256;
    if len < BLOCK || INLINE_MAX < len {
        // SAFETY: as the caller promises.
        return unsafe { std::ptr::copy_nonoverlapping(source, target, len) };
    }
    let mut at = 0;
    while at + BLOCK <= len {
        // SAFETY: `at + BLOCK <= len`, within the run.
        unsafe { copy_block::<BLOCK>(source, target, at) };
        at += BLOCK;
    }
    // SAFETY: the run's last 16 bytes, of at least 16.
    unsafe { copy_block::<BLOCK>(source, target, len - BLOCK) };
}

/// Copies `N` bytes at offset `at`.
///
/// # Safety
///
/// `at + N` bytes are readable from `source` and writable to `target`.
#[expect(unsafe_code, reason = "copies between addresses")]
#[inline(always)]
unsafe fn copy_block<const N: usize>(source: *const u8, target: *mut u8, at: usize) {
    // SAFETY: within both allocations, as the caller promises.
    unsafe { copy_fixed::<N>(source.add(at), target.add(at)) }
}

/// Copies `N` bytes; byte arrays have no alignment.
///
/// # Safety
///
/// `N` bytes are readable from `source` and writable to `target`.
#[expect(unsafe_code, reason = "copies between addresses")]
#[inline(always)]
unsafe fn copy_fixed<const N: usize>(source: *const u8, target: *mut u8) {
    // SAFETY: as the caller promises.
    let bytes = unsafe { source.cast::<[u8; N]>().read() };
    // SAFETY: as the caller promises.
    unsafe { target.cast::<[u8; N]>().write(bytes) }
}

/// Copies one run with the bytes of each unit of `N` reversed.
///
/// # Safety
///
/// As [`copy_run`]; and `N` divides `len`.
#[expect(unsafe_code, reason = "copies between addresses")]
#[inline(always)]
unsafe fn swap_run<const N: usize>(source: *const u8, target: *mut u8, len: usize) {
    for at in (0..len).step_by(N) {
        // SAFETY: `N` divides `len`, so `at + N <= len`.
        let mut bytes = unsafe { source.add(at).cast::<[u8; N]>().read() };
        bytes.reverse();
        // SAFETY: as above.
        unsafe { target.add(at).cast::<[u8; N]>().write(bytes) }
    }
}
