//! A process that forks while its engines read: the child reads on with a fresh engine, the parent with its own.
//!
//! A program of its own, without the test harness: the child of a fork has only the thread that forked.
#![expect(unsafe_code, reason = "fork, alarm, waitpid and _exit have no safe wrapper")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "all of it is a test")]

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, ErrorKind, Estimate, FileAccess,
    LaneContext, Limits, LocalFiles, ObjectRef, PlanContext, Planned, RunOptions, Running, Token, Window,
};

const FORKS: u32 = 30;
const FILE_BYTES: usize = 1 << 20;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Arc<[u8]> =
        (0..FILE_BYTES).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect::<Vec<_>>().into();
    std::fs::write(folder.path().join("a"), &bytes).unwrap();
    for access in [FileAccess::Probe, FileAccess::PreadThreads] {
        let files = LocalFiles::open(folder.path(), access).unwrap();
        check(&files.object("a"), &bytes);
        println!("forked {FORKS} times with reads in flight by {}", files.mechanism());
    }
    #[cfg(feature = "cache")]
    {
        cache::check(&bytes);
        println!("forked {FORKS} times with a cache in use");
    }
}

fn check(object: &ObjectRef, bytes: &Arc<[u8]>) {
    let limits = Limits { lanes: 2, inline_reads_max: 0, ..Limits::default() };
    let config = EngineConfig { limits, ..EngineConfig::default() };
    let global = Engine::set_global(config.clone());
    let other = Engine::new(config);
    // Every lane has its ring before the first fork: one that is being made while the process forks is not known yet.
    for engine in [&global, &other] {
        let delivered = Arc::new(AtomicU64::new(0));
        engine.run(pages(object, bytes, 20_000, &delivered).as_ref(), &RunOptions::default()).unwrap();
    }
    for _ in 0..FORKS {
        let delivered = Arc::new(AtomicU64::new(0));
        let running = [&global, &other]
            .map(|engine| engine.spawn(pages(object, bytes, 20_000, &delivered), &RunOptions::default()));
        while delivered.load(Ordering::SeqCst) < 100 {
            std::thread::yield_now();
        }
        // SAFETY: the child calls only this program's own code and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => leave(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                child(object, bytes, &other, running);
            }))),
            pid => {
                running.into_iter().for_each(|running| running.wait().unwrap());
                assert_eq!(delivered.load(Ordering::SeqCst), 40_000);
                assert_eq!(status_of(pid), 0, "the child's exit status");
            }
        }
    }
    let delivered = Arc::new(AtomicU64::new(0));
    Engine::global().run(pages(object, bytes, 1000, &delivered).as_ref(), &RunOptions::default()).unwrap();
    other.run(pages(object, bytes, 1000, &delivered).as_ref(), &RunOptions::default()).unwrap();
    assert_eq!(delivered.load(Ordering::SeqCst), 2000);
}

fn child(object: &ObjectRef, bytes: &Arc<[u8]>, other: &Engine, running: [Running; 2]) {
    child_ends_within(30);
    assert_eq!(open_rings(), 0, "the parent's rings are closed");
    let fresh = Engine::global();
    let delivered = Arc::new(AtomicU64::new(0));
    let options = RunOptions::default();
    fresh.run(pages(object, bytes, 3000, &delivered).as_ref(), &options).unwrap();
    fresh.run(pages(object, bytes, 3, &delivered).as_ref(), &options).unwrap();
    fresh.spawn(pages(object, bytes, 1000, &delivered), &options).wait().unwrap();
    assert_eq!(delivered.load(Ordering::SeqCst), 4003);
    // Engines of the parent answer, and do not wait for threads that are not here.
    let unsupported = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("fork"), "{error}");
    };
    unsupported(other.run(pages(object, bytes, 3, &delivered).as_ref(), &options));
    unsupported(other.spawn(pages(object, bytes, 3, &delivered), &options).wait());
    assert_eq!(other.stats().windows, 0);
    let _: Arc<AtomicU64> = other.extension();
    let [mut polled, waited] = running;
    match std::pin::Pin::new(&mut polled).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => unsupported(result),
        Poll::Pending => panic!("a batch of the parent would never end here"),
    }
    unsupported(waited.wait());
    drop((polled, other.clone()));
    drop(fresh);
}

fn child_ends_within(seconds: u32) {
    // SAFETY: takes no pointer; the signal ends a child that hangs.
    unsafe { libc::alarm(seconds) };
}

fn leave(result: std::thread::Result<()>) -> ! {
    // SAFETY: ends the process without running what the parent registered for its own end.
    unsafe { libc::_exit(i32::from(result.is_err())) }
}

fn status_of(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the status.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    status
}

fn open_rings() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|one| std::fs::read_link(one.ok()?.path()).ok());
    targets.filter(|target| target.as_os_str().as_bytes().ends_with(b"[io_uring]")).count()
}

/// Pages of one file, one a window, each compared with the bytes that it should hold.
struct Pages {
    object: ObjectRef,
    bytes: Arc<[u8]>,
    count: u64,
    delivered: Arc<AtomicU64>,
}

fn pages(object: &ObjectRef, bytes: &Arc<[u8]>, count: u64, delivered: &Arc<AtomicU64>) -> Arc<dyn Batch> {
    let (object, bytes, delivered) = (object.clone(), Arc::clone(bytes), Arc::clone(delivered));
    Arc::new(Pages { object, bytes, count, delivered })
}

impl Pages {
    fn offset(index: u64) -> u64 {
        index * 4099 % (FILE_BYTES as u64 - 4096)
    }
}

impl Batch for Pages {
    fn window_count(&self) -> u64 {
        self.count
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.count, bytes: self.count * 4096 }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        let range = ByteRange::Bounded { offset: Pages::offset(cursor.window), len: 4096 };
        window.read(range, Token(cursor.window));
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        let at = usize::try_from(Pages::offset(token.0)).unwrap();
        match result {
            Ok(Arrival::Bytes(found)) => assert!(found == &self.bytes[at..at + 4096]),
            other => panic!("{other:?}"),
        }
        self.delivered.fetch_add(1, Ordering::SeqCst);
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: Error, _: &mut LaneContext<'_>) {
        panic!("{error}");
    }
}

/// A cache whose locks other threads hold while the process forks: the child has one of its own, with the same files.
#[cfg(feature = "cache")]
mod cache {
    use super::{FILE_BYTES, FORKS, child_ends_within, leave, status_of};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;
    use swath_ioengine::{
        ByteRange, CacheConfig, CacheTier, CancelFlag, FetchRequest, Freshness, Medium, Reply,
        SimulatedConfig, SimulatedRemote,
    };

    pub(super) fn check(bytes: &Arc<[u8]>) {
        let folder = tempfile::tempdir().unwrap();
        let latency = Duration::ZERO;
        let remote =
            SimulatedRemote::new(SimulatedConfig { latency, jitter: latency, ..SimulatedConfig::default() });
        let remote = remote.unwrap();
        remote.put("a", bytes.to_vec());
        let freshness = Freshness::Immutable;
        let folder = Some(folder.path().to_owned());
        let config = CacheConfig { folder, disk_bytes: 64 << 20, freshness, ..CacheConfig::default() };
        let tier = CacheTier::new(config.clone()).unwrap();
        read(&tier.wrap(&remote.medium(), "a medium"), bytes);
        tier.flush();
        drop(tier);
        let tier = CacheTier::new(config).unwrap();
        let medium = tier.wrap(&remote.medium(), "a medium");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        read(&medium, bytes);
                    }
                });
            }
            for _ in 0..FORKS {
                // SAFETY: the child calls only this program's own code and leaves by `_exit`.
                match unsafe { libc::fork() } {
                    0 => leave(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        child_ends_within(30);
                        // The source's thread is not here: all of it must come from the files.
                        read(&medium, bytes);
                        read(&medium, bytes);
                        let stats = tier.stats();
                        assert_eq!((stats.hits, stats.misses), (512, 0));
                        assert_eq!(stats.bytes_from_source, 0, "{stats:?}");
                        let held = stats.bytes_from_disk + stats.bytes_from_memory;
                        assert!(held == 2 * FILE_BYTES as u64, "{stats:?}");
                        drop((medium.clone(), tier.clone()));
                    }))),
                    pid => assert_eq!(status_of(pid), 0, "the child's exit status"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    fn read(medium: &Medium, bytes: &[u8]) {
        let Medium::Remote(source) = medium else { panic!("a remote medium") };
        for offset in (0..FILE_BYTES).step_by(4096) {
            let (told, answer) = std::sync::mpsc::channel();
            let range = ByteRange::Bounded { offset: offset as u64, len: 4096 };
            let request =
                FetchRequest { key: "a".into(), range, if_match: None, cancelled: CancelFlag::default() };
            source.fetch(request, Reply::calling(move |result| told.send(result).unwrap()));
            let found = answer.recv().unwrap().unwrap();
            assert!(found.bytes == bytes[offset..offset + 4096]);
        }
    }
}
