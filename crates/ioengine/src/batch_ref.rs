//! A batch that lanes may call: owned, or borrowed by a caller that waits.

use crate::Batch;
use std::ptr::NonNull;
use std::sync::Arc;

/// How lanes reach a batch.
pub(crate) enum BatchRef {
    /// Shared with the lanes: asynchronous calls.
    Owned(Arc<dyn Batch>),
    /// Lent by a blocking call, which returns only after the last window was released.
    Borrowed(BorrowedBatch),
}

/// A lent batch, its lifetime erased.
pub(crate) struct BorrowedBatch(NonNull<dyn Batch>);

// SAFETY: `Batch` is `Sync`, so a shared reference to it may be used from any thread.
#[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
unsafe impl Send for BorrowedBatch {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a lent batch crosses to the lanes")]
unsafe impl Sync for BorrowedBatch {}

impl BatchRef {
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
            BatchRef::Owned(batch) => batch.as_ref(),
            // SAFETY: the caller holds an unreleased window, so the lender still waits (see `borrowed`).
            BatchRef::Borrowed(batch) => unsafe { batch.0.as_ref() },
        }
    }
}
