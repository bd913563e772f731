//! Interrupts of whatever waits on a thread, however deep below the one who may want to stop it.
//!
//! A batch is told of its interrupt by [`RunOptions`](crate::RunOptions). What a front-end waits for besides (metadata,
//! listings, what is written) is asked for far below its caller; all of that waits in this crate, which asks here.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often who waits asks, and looks at its deadline.
pub(crate) const WAIT_SLICE: Duration = Duration::from_millis(50);

thread_local! {
    static OF_THREAD: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// The interrupt of the work that a thread does.
#[derive(Clone)]
struct Interrupt {
    /// `None` on threads that help the one who is asked.
    ask: Option<Rc<dyn Fn() -> bool>>,
    raised: InterruptFlag,
}

/// Whether some work was interrupted: for the threads that help with it.
#[derive(Clone, Debug, Default)]
pub struct InterruptFlag(Arc<AtomicBool>);

impl InterruptFlag {
    /// The flag of this thread's work; one that is never raised where nobody would interrupt it.
    pub fn of_thread() -> InterruptFlag {
        current().map(|interrupt| interrupt.raised).unwrap_or_default()
    }

    /// Does a part of the work on another thread, where all waits end once the flag is raised.
    pub fn followed<T>(&self, work: impl FnOnce() -> T) -> T {
        within(Interrupt { ask: None, raised: self.clone() }, work)
    }
}

/// Does work on this thread, whose waits `ask` about every 50 ms whether they shall go on, and end with an error of kind
/// [`Cancelled`](crate::ErrorKind::Cancelled) once it says `true`. It is not asked again then: all that the work waits
/// for later ends at once. Within work that can be interrupted already, only the inner interrupt is asked.
///
/// Batches end as by [`RunOptions::interrupt`](crate::RunOptions::interrupt), which is asked besides. A request of which nobody
/// wants to know the answer any more is given up; whether a server did what it was asked for is not known then.
pub fn interruptible<T>(ask: Rc<dyn Fn() -> bool>, work: impl FnOnce() -> T) -> T {
    within(Interrupt { ask: Some(ask), raised: InterruptFlag::default() }, work)
}

/// Whether this thread's work was interrupted, or is from now on; `false` where nobody would.
pub fn is_interrupted() -> bool {
    // What is asked may itself do work that can be interrupted: nothing is borrowed meanwhile.
    let Some(Interrupt { ask, raised }) = current() else { return false };
    if !raised.0.load(Ordering::Relaxed) && ask.is_some_and(|ask| ask()) {
        raised.0.store(true, Ordering::Relaxed);
    }
    raised.0.load(Ordering::Relaxed)
}

/// Whether this thread's work was interrupted, as far as is known without asking.
pub(crate) fn was_interrupted() -> bool {
    OF_THREAD.with_borrow(|interrupt| {
        interrupt.as_ref().is_some_and(|interrupt| interrupt.raised.0.load(Ordering::Relaxed))
    })
}

/// What a wait for another thread came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited<T> {
    /// It sent this.
    Received(T),
    /// It ended without a word.
    Ended,
    /// This thread's work was interrupted meanwhile.
    Interrupted,
}

/// Waits for what another thread sends, or for its end.
pub fn wait_for<T>(receiver: &Receiver<T>) -> Waited<T> {
    loop {
        // Who sends at once is not asked about.
        match receiver.recv_timeout(WAIT_SLICE) {
            Ok(received) => return Waited::Received(received),
            Err(RecvTimeoutError::Disconnected) => return Waited::Ended,
            Err(RecvTimeoutError::Timeout) if is_interrupted() => return Waited::Interrupted,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Works on so many threads at once: this one does its `own` share, the others, of this name, `help` by their number, from 1 on.
/// They are fewer where the system has no more. What interrupts this thread interrupts all of them, also once its own share is
/// done; it returns when all have ended.
pub fn with_helpers(name: &str, count: usize, help: impl Fn(usize) + Sync, own: impl FnOnce()) {
    let (flag, help) = (&InterruptFlag::of_thread(), &help);
    std::thread::scope(|scope| {
        let (ending, ended) = channel::<()>();
        for number in 1..count {
            let ending = ending.clone();
            let work = move || {
                flag.followed(|| help(number));
                drop(ending);
            };
            // With fewer threads it only takes longer.
            let _ = std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
        }
        drop(ending);
        own();
        // Nothing is sent: this waits for the last one's end, and says so once if it shall be sooner.
        let _: Waited<()> = wait_for(&ended);
    });
}

fn current() -> Option<Interrupt> {
    OF_THREAD.with_borrow(Clone::clone)
}

fn within<T>(interrupt: Interrupt, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there before, after a panic too.
    struct Before(Option<Interrupt>);
    impl Drop for Before {
        fn drop(&mut self) {
            OF_THREAD.replace(self.0.take());
        }
    }
    let _before = Before(OF_THREAD.replace(Some(interrupt)));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn one_that_was_raised_stays_so_and_is_not_asked_again() {
        let asked = Rc::new(Cell::new(0));
        let counted = Rc::clone(&asked);
        let ask = Rc::new(move || {
            counted.set(counted.get() + 1);
            counted.get() == 2
        });
        let answers = interruptible(ask, || [(); 4].map(|()| is_interrupted()));
        assert_eq!((answers, asked.get()), ([false, true, true, true], 2));
        assert!(!is_interrupted());
    }

    #[test]
    fn the_inner_one_counts_and_the_outer_one_comes_back() {
        interruptible(Rc::new(|| true), || {
            interruptible(Rc::new(|| false), || assert!(!is_interrupted()));
            let panicked =
                std::panic::catch_unwind(|| interruptible(Rc::new(|| false), || panic!("as wanted")));
            assert!(panicked.is_err() && is_interrupted());
        });
    }

    #[test]
    fn helping_threads_follow() {
        let (to_helper, helper) = channel::<()>();
        let (to_caller, caller) = channel();
        let asked = Rc::new(Cell::new(0));
        let ask = move || {
            asked.set(asked.get() + 1);
            asked.get() == 2
        };
        interruptible(Rc::new(ask), || {
            let flag = InterruptFlag::of_thread();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let waited = flag.followed(|| wait_for(&helper));
                    to_caller.send(waited)
                });
                // The caller asks, and raises the flag that ends the helper's wait.
                assert_eq!(wait_for(&caller), Waited::Interrupted);
                assert_eq!(caller.recv(), Ok(Waited::Interrupted));
            });
        });
        drop(to_helper);
    }

    #[test]
    fn a_wait_ends_with_what_is_sent_and_with_its_sender() {
        let (sender, receiver) = channel();
        sender.send(7).unwrap();
        drop(sender);
        interruptible(Rc::new(|| true), || {
            assert_eq!(wait_for(&receiver), Waited::Received(7));
            assert_eq!(wait_for(&receiver), Waited::Ended);
        });
    }

    #[test]
    fn helpers_and_who_has_them_work_and_are_waited_for() {
        for count in [0, 1, 4] {
            let (done, numbers) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let help = |number| {
                std::thread::sleep(Duration::from_millis(5));
                numbers.fetch_add(number, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Relaxed);
            };
            with_helpers("helper", count, help, || help(0));
            assert_eq!(
                (done.into_inner(), numbers.into_inner()),
                (count.max(1), count * count.saturating_sub(1) / 2)
            );
        }
    }

    /// This thread's share is done at once; the helper's waits until it is told to end.
    #[test]
    fn helpers_are_interrupted_once_who_has_them_has_done_its_share() {
        let wait = |_| {
            while !is_interrupted() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        interruptible(Rc::new(|| true), || with_helpers("helper", 2, wait, || {}));
    }
}
