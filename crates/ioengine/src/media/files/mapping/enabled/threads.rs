//! What the handler must know about a thread.
//!
//! A table, not thread-local variables: those of a library that was loaded at run time are allocated at a thread's first
//! use of them, which a signal handler must not do, and a SIGBUS may come in any thread. A thread's entry is found by
//! `pthread_self`, which reads a register.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Threads that copy, and threads in the middle of a SIGBUS that is not ours. 64 KiB in all, untouched where unused.
const THREADS_MAX: usize = 1024;

/// What is known about a thread. Only that thread, and handlers that run on it, use one that has an owner.
#[repr(align(64))]
pub(super) struct Slot {
    /// The owner's `pthread_self`, or zero.
    owner: AtomicUsize,
    /// One within the copy routine, else zero; written by the routine itself.
    copying: AtomicU8,
    /// How many handlers that were there before are running, each inside the one before it.
    depth: AtomicUsize,
    /// The last fault that was passed on, by instruction and address, and how often in a row.
    fault: [AtomicUsize; 2],
    faults: AtomicUsize,
    /// How often in a row a handler returned with another signal waiting.
    raises: AtomicUsize,
}

/// After how many returns from a handler that leave a fault as it was it is taken to have been disabled. CPython's then
/// returns at once and for ever.
const FAULTS_MAX: usize = 4;

/// After how many returns from a handler with another signal waiting it is taken to have raised it itself, in order to
/// reach the one before it. More than by chance, when many are sent; few enough to read.
const RAISES_MAX: usize = 16;

impl Slot {
    const fn free() -> Slot {
        Slot {
            owner: AtomicUsize::new(0),
            copying: AtomicU8::new(0),
            depth: AtomicUsize::new(0),
            fault: [const { AtomicUsize::new(0) }; 2],
            faults: AtomicUsize::new(0),
            raises: AtomicUsize::new(0),
        }
    }
}

static SLOTS: [Slot; THREADS_MAX] = [const { Slot::free() }; THREADS_MAX];

impl Slot {
    /// Where the routine notes that it copies.
    #[inline]
    pub(super) fn copying(&self) -> *mut u8 {
        self.copying.as_ptr()
    }

    /// Whether a copy was interrupted.
    pub(super) fn is_copying(&self) -> bool {
        self.copying.load(Ordering::Relaxed) != 0
    }

    pub(super) fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    pub(super) fn set_depth(&self, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// Notes a fault that is to be passed on. Returns how many handlers have been given the same one in vain.
    pub(super) fn given_in_vain(&self, instruction: usize, address: usize) -> usize {
        let last = self.fault.each_ref().map(|part| part.load(Ordering::Relaxed));
        let is_same = last == [instruction, address];
        let faults = if is_same { self.faults.load(Ordering::Relaxed) + 1 } else { 0 };
        self.fault[0].store(instruction, Ordering::Relaxed);
        self.fault[1].store(address, Ordering::Relaxed);
        self.faults.store(faults, Ordering::Relaxed);
        faults / FAULTS_MAX
    }

    /// Notes that a handler did something about a fault: it continues elsewhere.
    pub(super) fn forget_fault(&self) {
        self.faults.store(0, Ordering::Relaxed);
        self.fault[0].store(0, Ordering::Relaxed);
    }

    /// Notes whether a handler returned with another signal waiting.
    pub(super) fn note_raise(&self, is_waiting: bool) {
        let raises = if is_waiting { self.raises.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.raises.store(raises, Ordering::Relaxed);
    }

    /// How many handlers have raised the signal again, time after time.
    pub(super) fn raised_in_vain(&self) -> usize {
        self.raises.load(Ordering::Relaxed) / RAISES_MAX
    }

    pub(super) fn release(&self) {
        self.owner.store(0, Ordering::Release);
    }
}

/// This thread's slot, where it has one. May be called in a signal handler.
pub(super) fn slot_of_this_thread() -> Option<&'static Slot> {
    let thread = this_thread();
    SLOTS.iter().find(|slot| slot.owner.load(Ordering::Relaxed) == thread)
}

/// A slot for this thread, which has none; `None` where all are taken. May be called in a signal handler.
pub(super) fn claim_slot() -> Option<&'static Slot> {
    let thread = this_thread();
    let is_claimed = |slot: &&Slot| {
        slot.owner.load(Ordering::Relaxed) == 0
            && slot.owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    let slot = SLOTS.iter().find(is_claimed)?;
    slot.copying.store(0, Ordering::Relaxed);
    slot.set_depth(0);
    Some(slot)
}

/// This thread's slot, kept until the thread ends; `None` where all are taken or the thread is ending. Not for signal
/// handlers.
pub(super) fn slot_to_copy() -> Option<&'static Slot> {
    thread_local! {
        static KEPT: Kept = const { Kept(Cell::new(None)) };
    }
    let slot = KEPT.try_with(|kept| {
        if kept.0.get().is_none() {
            // One that has this thread's name was left: by a handler that never returned, or by a thread that this
            // process lost when it was forked. It is this thread's now.
            kept.0.set(slot_of_this_thread().or_else(claim_slot));
        }
        kept.0.get()
    });
    let slot = slot.ok().flatten()?;
    // No handler is running here, whatever one that left by `longjmp` did not put back.
    slot.copying.store(0, Ordering::Relaxed);
    slot.set_depth(0);
    Some(slot)
}

struct Kept(Cell<Option<&'static Slot>>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(slot) = self.0.get() {
            slot.release();
        }
    }
}

#[expect(unsafe_code, reason = "pthread_self")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a number in one libc, a pointer in another, of 64 bits in both"
)]
fn this_thread() -> usize {
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::pthread_self() };
    thread as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::files::mapping::enabled::tests::in_child;

    #[test]
    fn a_thread_keeps_its_slot() {
        let own = slot_to_copy().unwrap();
        own.set_depth(3);
        assert!(std::ptr::eq(own, slot_to_copy().unwrap()));
        assert!(std::ptr::eq(own, slot_of_this_thread().unwrap()));
        assert_eq!(own.depth(), 0);
    }

    #[test]
    fn a_thread_gives_its_slot_back() {
        in_child(module_path!(), "a_thread_gives_its_slot_back", || {
            // All at once, so that each has a slot of its own.
            let all = std::sync::Arc::new(std::sync::Barrier::new(50));
            let threads = [(); 50].map(|()| {
                let all = std::sync::Arc::clone(&all);
                std::thread::spawn(move || {
                    let slot = slot_to_copy().unwrap();
                    all.wait();
                    slot
                })
            });
            let slots = threads.map(|thread| thread.join().unwrap());
            assert!(slots.iter().all(|slot| slot.owner.load(Ordering::SeqCst) == 0));
        })
        .succeeds();
    }

    #[test]
    fn a_slot_that_a_handler_left_is_taken_over() {
        let spawned = std::thread::spawn(|| {
            assert!(slot_of_this_thread().is_none());
            let left = claim_slot().unwrap();
            left.set_depth(1);
            assert!(std::ptr::eq(left, slot_to_copy().unwrap()));
            assert_eq!(left.depth(), 0);
        });
        spawned.join().unwrap();
    }
}
