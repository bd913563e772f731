//! The look at the handler that precedes a window of copies.

use super::threads::Slot;
use super::{handler, threads};
use crate::media::files::mapping::Refusal;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Proof that this thread's faults reach the handler, to be had once for each window of copies.
///
/// What it proves can be undone by other code in the process, so it is not kept from window to window: a handler that
/// is put in front during a window is run on the copy's fault, and a SIGBUS that is blocked during a window ends the
/// process at a fault.
pub(crate) struct CopyGuard {
    slot: &'static Slot,
    /// It is of the thread that looked.
    not_send: PhantomData<*const ()>,
}

impl CopyGuard {
    /// Looks whether the handler is in front, and puts it there where another one is. Costs two system calls, about
    /// 0.3 us: whether a thread blocks SIGBUS cannot be remembered, because any code of the thread may change it.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: no copies in this window.
    pub(crate) fn look() -> Result<CopyGuard, Refusal> {
        let slot = threads::slot_to_copy().ok_or(Refusal::Threads)?;
        if is_blocked() {
            return Err(Refusal::Blocked);
        }
        handler::look()?;
        Ok(CopyGuard { slot, not_send: PhantomData })
    }

    #[inline]
    pub(super) fn slot(&self) -> &'static Slot {
        self.slot
    }
}

#[expect(unsafe_code, reason = "pthread_sigmask")]
fn is_blocked() -> bool {
    let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: without a new set it only writes the old one, to a place of its size.
    let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), blocked.as_mut_ptr()) };
    // SAFETY: an initialised set (by zeroes, if not by the call), and a signal's number.
    let member = unsafe { libc::sigismember(blocked.as_ptr(), libc::SIGBUS) };
    status != 0 || member != 0
}
