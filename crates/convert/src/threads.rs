//! Work on several threads at once, which what interrupts one of them interrupts.

use std::sync::mpsc;
use swath_ioengine::{InterruptFlag, Waited, wait_for};

/// Works on so many threads, this one among them, and waits for all. What interrupts this thread's work interrupts all of them,
/// also once its own share is done. They are fewer where the system has no more.
pub(crate) fn on_threads(count: usize, work: impl Fn() + Sync) {
    let (flag, work) = (&InterruptFlag::of_thread(), &work);
    std::thread::scope(|scope| {
        let (ending, ended) = mpsc::channel::<()>();
        for _ in 1..count {
            let ending = ending.clone();
            let help = move || {
                flag.followed(work);
                drop(ending);
            };
            // With fewer threads it only takes longer.
            let _ = std::thread::Builder::new().name("swath-convert".to_owned()).spawn_scoped(scope, help);
        }
        drop(ending);
        work();
        // Nothing is sent: this waits for the last one's end, and has all end sooner where this thread is interrupted.
        let _: Waited<()> = wait_for(&ended);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use swath_ioengine::{interruptible, is_interrupted};

    #[test]
    fn all_work_and_are_waited_for() {
        for count in [0, 1, 4] {
            let done = AtomicUsize::new(0);
            on_threads(count, || {
                std::thread::sleep(Duration::from_millis(5));
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), count.max(1));
        }
    }

    /// This thread's share is done at once; the other one's waits until it is told to end.
    #[test]
    fn others_are_interrupted_once_this_thread_has_done_its_share() {
        let own = std::thread::current().id();
        interruptible(Rc::new(|| true), || {
            on_threads(2, || {
                while std::thread::current().id() != own && !is_interrupted() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        });
    }
}
