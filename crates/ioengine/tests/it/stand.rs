//! Test stands: a medium of each kind, holding given objects, and an engine to read them with.

use crate::slow_fs::{self, Cache, SlowFs, Slowness};
use std::any::Any;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use swath_ioengine::{
    Engine, EngineConfig, FaultPlan, FaultyMedium, FileAccess, Freshness, Limits, LocalFiles, Medium,
    MemoryMedium, ObjectRef, SimulatedConfig, SimulatedRemote,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    IoUring,
    PreadThreads,
    InlineMemory,
    Mapped,
    InlineFiles,
    InlineMapped,
    /// Files over FUSE, by the probe's choice and by the mechanisms themselves.
    Fuse,
    FuseThreads,
    FuseIoUring,
    /// Over FUSE, with short reads that no page cache hides.
    ShortFuse(u64),
    /// In a directory that some other file system is mounted on.
    Mounted(&'static Path),
    Simulated,
    FaultyMemory(u64),
    FaultyFiles(u64),
    FaultyThreads(u64),
    FaultyInline(u64),
    Direct,
    InlineDirect,
    FaultyDirect(u64),
    RefusedDirect(u64),
}

type Put = dyn Fn(&str, &[u8]) + Send + Sync;

pub(crate) struct Stand {
    pub(crate) engine: Engine,
    pub(crate) medium: Medium,
    put: Box<Put>,
    _keeps: Box<dyn Any + Send + Sync>,
}

impl Stand {
    pub(crate) fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium.clone(), key: key.into() }
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        (self.put)(key, bytes);
    }
}

impl Kind {
    pub(crate) fn is_inline(self) -> bool {
        matches!(
            self,
            Kind::InlineMemory
                | Kind::InlineFiles
                | Kind::InlineMapped
                | Kind::InlineDirect
                | Kind::FaultyInline(_)
        )
    }

    pub(crate) fn is_remote(self) -> bool {
        self == Kind::Simulated
    }

    /// Whether there is such a medium here. Says why not.
    pub(crate) fn is_here(self) -> bool {
        let is_fuse = matches!(self, Kind::Fuse | Kind::FuseThreads | Kind::FuseIoUring | Kind::ShortFuse(_));
        !is_fuse || slow_fs::is_here()
    }

    /// A stand with two lanes, or one that reads on the calling thread as far as it can.
    pub(crate) fn stand(self) -> Stand {
        self.stand_with(Limits { lanes: 2, ..Limits::default() })
    }

    pub(crate) fn stand_with(self, limits: Limits) -> Stand {
        let inline_max = if self.is_inline() { u64::MAX } else { 0 };
        // A lost wake-up must not be healed by the end of a sleep.
        let park_max = limits.park_max.max(Duration::from_secs(3600));
        let limits =
            Limits { inline_reads_max: inline_max, inline_bytes_max: inline_max, park_max, ..limits };
        let engine = Engine::new(EngineConfig { limits, freshness: Freshness::Checked });
        match self {
            Kind::Memory | Kind::InlineMemory => memory(engine, None),
            Kind::FaultyMemory(seed) => {
                memory(engine, Some(FaultPlan { short_per_mille: 0, ..recoverable(seed) }))
            }
            Kind::IoUring => files(engine, FileAccess::IoUring, None),
            Kind::InlineFiles => files(engine, FileAccess::Probe, None),
            Kind::Mapped | Kind::InlineMapped => files(engine, FileAccess::Mapped, None),
            Kind::PreadThreads => files(engine, FileAccess::PreadThreads, None),
            Kind::FaultyFiles(seed) | Kind::FaultyInline(seed) => {
                files(engine, FileAccess::Probe, Some(recoverable(seed)))
            }
            Kind::FaultyThreads(seed) => files(engine, FileAccess::PreadThreads, Some(recoverable(seed))),
            Kind::Fuse => over_fuse(engine, FileAccess::Probe, Slowness::default()),
            Kind::FuseThreads => over_fuse(engine, FileAccess::PreadThreads, uncached()),
            Kind::FuseIoUring => over_fuse(engine, FileAccess::IoUring, Slowness::default()),
            Kind::ShortFuse(seed) => {
                let slowness = Slowness { seed, short_per_mille: 300, ..uncached() };
                over_fuse(engine, FileAccess::Probe, slowness)
            }
            Kind::Mounted(path) => {
                let folder = tempfile::tempdir_in(path).unwrap();
                let path = folder.path().to_owned();
                files_in(engine, FileAccess::Probe, None, (&path, &path), Box::new(folder))
            }
            Kind::Direct | Kind::InlineDirect => files(engine, FileAccess::Direct, None),
            Kind::FaultyDirect(seed) => files(engine, FileAccess::Direct, Some(recoverable(seed))),
            Kind::RefusedDirect(seed) => {
                let plan = FaultPlan { refused_per_mille: 300, ..recoverable(seed) };
                files(engine, FileAccess::Direct, Some(plan))
            }
            Kind::Simulated => simulated(engine),
        }
    }
}

/// Faults that a lane gets over by itself.
fn recoverable(seed: u64) -> FaultPlan {
    FaultPlan {
        seed,
        short_per_mille: 300,
        again_per_mille: 200,
        held_per_mille: 300,
        held_reaps_max: 5,
        ..FaultPlan::default()
    }
}

fn faulty(medium: Medium, plan: Option<FaultPlan>) -> Medium {
    match plan {
        Some(plan) => FaultyMedium::wrap(medium, plan).medium(),
        None => medium,
    }
}

fn memory(engine: Engine, plan: Option<FaultPlan>) -> Stand {
    let memory = MemoryMedium::new();
    let medium = faulty(memory.medium(), plan);
    let put = Box::new(move |key: &str, bytes: &[u8]| memory.put(key, bytes.to_vec()));
    Stand { engine, medium, put, _keeps: Box::new(()) }
}

fn files(engine: Engine, access: FileAccess, plan: Option<FaultPlan>) -> Stand {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    files_in(engine, access, plan, (&path, &path), Box::new(folder))
}

fn over_fuse(engine: Engine, access: FileAccess, slowness: Slowness) -> Stand {
    let mounted = SlowFs::mount(slowness).unwrap();
    let (read, written) = (mounted.path(), mounted.files());
    files_in(engine, access, None, (&read, &written), Box::new(mounted))
}

fn uncached() -> Slowness {
    Slowness { cache: Cache::None, ..Slowness::default() }
}

/// Files that are read at one path, and written at another.
fn files_in(
    engine: Engine,
    access: FileAccess,
    plan: Option<FaultPlan>,
    (read, written): (&Path, &Path),
    keeps: Box<dyn Any + Send + Sync>,
) -> Stand {
    let medium = faulty(LocalFiles::open(read, access).unwrap().medium(), plan);
    let path = written.to_owned();
    let put = Box::new(move |key: &str, bytes: &[u8]| {
        let target = path.join(key);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        let next = target.with_extension("next");
        std::fs::write(&next, bytes).unwrap();
        std::fs::rename(&next, &target).unwrap();
    });
    Stand { engine, medium, put, _keeps: keeps }
}

fn simulated(engine: Engine) -> Stand {
    let config = SimulatedConfig {
        latency: Duration::from_micros(300),
        jitter: Duration::from_micros(300),
        ..SimulatedConfig::default()
    };
    let remote = SimulatedRemote::new(config).unwrap();
    let medium = remote.medium();
    let put = Box::new(move |key: &str, bytes: &[u8]| remote.put(key, bytes.to_vec()));
    Stand { engine, medium, put, _keeps: Box::new(()) }
}

/// Bytes that differ at every place and for every seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Runs a test on a thread of its own and fails where it does not end.
pub(crate) fn within_a_minute<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = test();
        let _ = done.send(());
        result
    });
    if ended.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("hangs");
    }
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Waits, a minute at most, until something is so.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("not within a minute: {what}");
}
