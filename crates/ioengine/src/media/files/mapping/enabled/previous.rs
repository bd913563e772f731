//! The handlers of SIGBUS that were in front before ours was, newest first.
//!
//! There may be several: a handler that came after ours holds ours for its predecessor, and raises again to reach it.
//! Sending that second signal to the newest of them would loop, so each nested one goes to the next older.

use crate::media::files::mapping::Refusal;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// Different handlers that are kept. A process has one or two; more are refused.
const KEPT_MAX: usize = 8;

/// A handler, as `sigaction(2)` told of it. Its signal mask is not kept: SIGBUS ends most processes, so who runs beside
/// such a handler hardly matters.
pub(super) struct Previous {
    /// An address, `SIG_DFL` or `SIG_IGN`.
    handler: AtomicUsize,
    flags: AtomicI32,
    /// It was to run once, and has.
    spent: AtomicBool,
}

impl Previous {
    pub(super) fn flags(&self) -> i32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// The handler to run now: an address, `SIG_DFL` or `SIG_IGN`.
    pub(super) fn take(&self) -> libc::sighandler_t {
        let handler = self.handler.load(Ordering::Relaxed);
        if self.flags() & libc::SA_RESETHAND != 0 && self.spent.swap(true, Ordering::Relaxed) {
            return libc::SIG_DFL;
        }
        handler
    }
}

/// The first [`COUNT`] are in use, and change no more except for `spent`.
static KEPT: [Previous; KEPT_MAX] = [const {
    Previous { handler: AtomicUsize::new(0), flags: AtomicI32::new(0), spent: AtomicBool::new(false) }
}; KEPT_MAX];

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Indexes into [`KEPT`], one more in each byte than the index, the newest in the lowest byte, zero after the oldest.
static ORDER: AtomicU64 = AtomicU64::new(0);

/// Makes a handler the newest. Only one thread at a time may do so.
pub(super) fn remember(handler: libc::sighandler_t, flags: i32) -> Result<(), Refusal> {
    let count = COUNT.load(Ordering::Relaxed);
    let is_same = |kept: &Previous| kept.handler.load(Ordering::Relaxed) == handler && kept.flags() == flags;
    let index = KEPT[..count].iter().position(is_same).unwrap_or(count);
    let kept = KEPT.get(index).ok_or(Refusal::Handler)?;
    if index == count {
        kept.handler.store(handler, Ordering::Relaxed);
        kept.flags.store(flags, Ordering::Relaxed);
        COUNT.store(count + 1, Ordering::Relaxed);
    }
    kept.spent.store(false, Ordering::Relaxed);
    let mut order = ORDER.load(Ordering::Relaxed).to_le_bytes();
    let newest = u8::try_from(index + 1).unwrap_or(u8::MAX);
    let end = order.iter().position(|byte| *byte == newest || *byte == 0).unwrap_or(KEPT_MAX - 1);
    order[..=end].rotate_right(1);
    order[0] = newest;
    // A handler that sees the order also sees what it points to.
    ORDER.store(u64::from_le_bytes(order), Ordering::Release);
    Ok(())
}

/// The newest but `depth`; `None` beyond the oldest. May be called in a signal handler.
pub(super) fn newest_but(depth: usize) -> Option<&'static Previous> {
    let order = ORDER.load(Ordering::Acquire).to_le_bytes();
    KEPT.get(usize::from(*order.get(depth)?).checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::files::mapping::enabled::tests::in_child;

    fn handlers() -> Vec<usize> {
        (0..).map_while(newest_but).map(|kept| kept.handler.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn the_newest_comes_first_and_each_once() {
        in_child(module_path!(), "the_newest_comes_first_and_each_once", || {
            assert!(newest_but(0).is_none());
            for handler in [100, 101, 100, 102, 101, 101] {
                remember(handler, 0).unwrap();
            }
            assert_eq!(handlers(), [101, 102, 100]);
            assert!(newest_but(usize::MAX).is_none());
            for handler in 103..108 {
                remember(handler, 0).unwrap();
            }
            assert_eq!(handlers(), [107, 106, 105, 104, 103, 101, 102, 100]);
            assert_eq!(remember(108, 0), Err(Refusal::Handler));
            remember(100, 0).unwrap();
            assert_eq!(handlers(), [100, 107, 106, 105, 104, 103, 101, 102]);
        })
        .succeeds();
    }

    #[test]
    fn one_that_runs_once_runs_once() {
        in_child(module_path!(), "one_that_runs_once_runs_once", || {
            remember(100, libc::SA_RESETHAND).unwrap();
            let kept = newest_but(0).unwrap();
            assert_eq!((kept.take(), kept.take()), (100, libc::SIG_DFL));
            remember(100, libc::SA_RESETHAND).unwrap();
            assert_eq!(kept.take(), 100);
        })
        .succeeds();
    }
}
