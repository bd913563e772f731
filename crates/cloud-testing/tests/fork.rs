//! Forks with requests in flight: the child reads on connections of its own, the parent goes on with its own.
//!
//! A program of its own, without the test harness: the child of a fork has only the thread that forked.
#![expect(unsafe_code, reason = "fork, alarm, waitpid and _exit have no safe wrapper")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "all of it is a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use swath_cloud_testing::{FaultProxy, Link, Objects, WebServer};
use swath_ioengine::{ByteRange, CloudMedium, CloudOptions, Engine, ObjectRef, RangeRead, RunOptions};

const FORKS: u32 = 10;
const LEN: u64 = 1 << 20;
const READ_BYTES: u64 = 4096;

fn main() {
    let bytes: Arc<[u8]> = (0..LEN).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect::<Vec<_>>().into();
    let objects = Objects::new();
    objects.put("a", bytes.to_vec());
    let server = WebServer::plain(objects).unwrap();
    let link = Link { latency: Duration::from_millis(2), ..Link::default() };
    let proxy = FaultProxy::start(server.address(), link).unwrap();
    let medium = CloudMedium::open(&proxy.url(), &CloudOptions::new()).unwrap().medium;
    let object = ObjectRef { medium, key: "a".into() };
    for _ in 0..FORKS {
        let delivered = Arc::new(AtomicU64::new(0));
        let reading = {
            let (object, bytes, delivered) = (object.clone(), Arc::clone(&bytes), Arc::clone(&delivered));
            std::thread::spawn(move || read(&object, &bytes, 2000, &delivered))
        };
        while delivered.load(Ordering::SeqCst) < 50 {
            std::thread::yield_now();
        }
        // SAFETY: the child calls only this program's own code and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: takes no pointer; the signal ends a child that hangs.
                unsafe { libc::alarm(60) };
                let work = || read(&object, &bytes, 300, &AtomicU64::new(0));
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                // SAFETY: ends the process without running what the parent registered for its own end.
                unsafe { libc::_exit(i32::from(result.is_err())) }
            }
            pid => {
                let mut status = 0;
                // SAFETY: `status` is a valid place for the status.
                let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
                assert_eq!((waited, status), (pid, 0), "the child's exit status");
                reading.join().unwrap();
                assert_eq!(delivered.load(Ordering::SeqCst), 2000);
            }
        }
    }
    println!("forked {FORKS} times with requests in flight, {} connections", proxy.counts().connections);
}

fn read(object: &ObjectRef, bytes: &[u8], count: u64, delivered: &AtomicU64) {
    let range = |index: u64| index * 4099 % (LEN - READ_BYTES);
    let reads: Vec<RangeRead> = (0..count)
        .map(|index| RangeRead {
            object: 0,
            range: ByteRange::Bounded { offset: range(index), len: READ_BYTES },
        })
        .collect();
    let check = |index: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let from = usize::try_from(range(index as u64)).unwrap();
        assert!(result.unwrap() == &bytes[from..from + 4096]);
        delivered.fetch_add(1, Ordering::SeqCst);
    };
    let engine = Engine::global();
    engine.read_ranges(std::slice::from_ref(object), &reads, check, &RunOptions::default()).unwrap();
}
