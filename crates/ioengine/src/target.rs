//! Pieces of a batch's output that reads fill directly.

use std::marker::PhantomData;
use std::ptr::NonNull;

/// A piece of memory that a batch lent to the engine for one read: see
/// [`Window::read_into`](crate::Window::read_into).
///
/// The batch lends it for as long as the batch itself is borrowed, and the engine keeps the batch borrowed until every
/// read of it has completed; so the memory outlives the target.
pub struct BatchTarget {
    start: NonNull<u8>,
    len: usize,
    owner: PhantomData<*mut u8>,
}

// SAFETY: made from an exclusive borrow of plain bytes, which may be used from any one thread at a time.
#[expect(unsafe_code, reason = "carries an exclusive borrow whose lifetime the engine upholds")]
unsafe impl Send for BatchTarget {}

impl BatchTarget {
    /// Takes over an exclusive borrow. The caller (the lane) drops the target before it releases the batch's window.
    pub(crate) fn new(memory: &mut [u8]) -> BatchTarget {
        BatchTarget { start: NonNull::from(&mut *memory).cast(), len: memory.len(), owner: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The memory. Initialised, but to be treated as write-only until it is filled.
    #[expect(unsafe_code, reason = "carries an exclusive borrow whose lifetime the engine upholds")]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: made from an exclusive borrow of `len` initialised bytes that outlives this target (see the type).
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
