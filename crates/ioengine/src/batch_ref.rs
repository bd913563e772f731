//! A batch that lanes may call: owned, or borrowed by a caller that waits.

use crate::Batch;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;

/// How lanes reach a batch.
pub(crate) enum BatchRef {
    /// Shared with the lanes until the batch has finished: asynchronous calls.
    Owned(OwnedBatch),
    /// Lent by a blocking call, which returns only after the last window was released.
    Borrowed(BorrowedBatch),
}

/// The lanes' share of a batch, given up when the batch has finished: lanes may hold its state for longer than that.
pub(crate) struct OwnedBatch(UnsafeCell<Option<Arc<dyn Batch>>>);

// SAFETY: the cell is only read by who holds a window unreleased, and only written when none is (see `let_go`);
// `Batch` is `Sync`.
#[expect(unsafe_code, reason = "lanes share a batch until it has finished")]
unsafe impl Sync for OwnedBatch {}

/// A lent batch, its lifetime erased.
pub(crate) struct BorrowedBatch(NonNull<dyn Batch>);

// SAFETY: `Batch` is `Sync`, so a shared reference to it may be used from any thread.
#[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
unsafe impl Send for BorrowedBatch {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
unsafe impl Sync for BorrowedBatch {}

impl BatchRef {
    /// Shares `batch` with the lanes.
    pub(crate) fn owned(batch: Arc<dyn Batch>) -> BatchRef {
        BatchRef::Owned(OwnedBatch(UnsafeCell::new(Some(batch))))
    }

    /// Lends `batch` to the lanes.
    ///
    /// # Safety
    ///
    /// The caller keeps `batch` borrowed until the state made from this reference has finished (every window was
    /// released), on every way out of its function.
    #[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
    pub(crate) unsafe fn borrowed(batch: &dyn Batch) -> BatchRef {
        let pointer: NonNull<dyn Batch + '_> = NonNull::from(batch);
        // SAFETY: only the lifetime changes; the caller promises that the batch outlives every use.
        let pointer =
            unsafe { std::mem::transmute::<NonNull<dyn Batch + '_>, NonNull<dyn Batch + 'static>>(pointer) };
        BatchRef::Borrowed(BorrowedBatch(pointer))
    }

    /// The batch. Only called by who holds one of its windows unreleased, or who lent it.
    #[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
    pub(crate) fn get(&self) -> &dyn Batch {
        match self {
            BatchRef::Owned(batch) => {
                // SAFETY: the caller holds an unreleased window, so `let_go` has not been called.
                let batch = unsafe { &*batch.0.get() };
                match batch {
                    Some(batch) => batch.as_ref(),
                    None => used_after_its_end(),
                }
            }
            // SAFETY: the caller holds an unreleased window, so the lender still waits (see `borrowed`).
            BatchRef::Borrowed(batch) => unsafe { batch.0.as_ref() },
        }
    }

    /// Gives an owned batch up, so that its memory is free, or its maker's alone, once a waiter is told.
    ///
    /// # Safety
    ///
    /// Every window of the batch was released, nobody calls [`get`](Self::get) any more, and this is called once.
    #[expect(unsafe_code, reason = "lanes share a batch until it has finished")]
    pub(crate) unsafe fn let_go(&self) {
        if let BatchRef::Owned(batch) = self {
            // SAFETY: as the caller promises, nobody reads the cell now or later.
            let batch = unsafe { (*batch.0.get()).take() };
            drop(batch);
        }
    }
}

#[cold]
#[expect(clippy::panic, reason = "a window is released after its last use of the batch")]
fn used_after_its_end() -> ! {
    panic!("a batch was used after its last window was released")
}
