//! Lanes give way to the threads that bring them bytes.

/// How much nicer lanes are than their process, once they decode what comes over a network.
///
/// A lane decodes for as long as there are bytes. A thread of the network that is woken meanwhile waits for its turn on a core,
/// and the longer, the more it has just worked; then connections idle that others wait for. Three steps halve a lane's weight
/// beside them: with short slices for the network's threads, the 99th percentile of that wait fell to about a third
/// (docs/decisions/0013-cloud-reads.md).
const STEPS: i32 = 3;

/// Makes this thread nicer than its process; once, however often it is called. Where the system refuses, nothing changes.
#[cfg(target_os = "linux")]
pub(super) fn give_way_to_network() {
    use rustix::process::{getpid, getpriority_process, setpriority_process};
    // Of a process the kernel tells and sets its first thread's, of the calling thread its own.
    let (Ok(process), Ok(own)) = (getpriority_process(Some(getpid())), getpriority_process(None)) else {
        return;
    };
    let wanted = (process + STEPS).min(19);
    if own < wanted {
        let _refused = setpriority_process(None, wanted);
    }
}

/// Nothing: elsewhere niceness is the whole process's.
#[cfg(not(target_os = "linux"))]
pub(super) fn give_way_to_network() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::{getpid, getpriority_process};

    #[test]
    fn the_thread_is_nicer_and_its_process_is_not() {
        let process = || getpriority_process(Some(getpid())).unwrap();
        let before = process();
        let thread = std::thread::spawn(|| {
            give_way_to_network();
            give_way_to_network();
            getpriority_process(None).unwrap()
        });
        assert_eq!(thread.join().unwrap(), (before + STEPS).min(19));
        assert_eq!(process(), before);
    }
}
