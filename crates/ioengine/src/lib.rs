//! Batched ranged reads over any storage: plan, coalesce, schedule, deliver.
//!
//! A [`Batch`] says what to read (a *plan*, called window by window) and where it goes (a *sink*). The [`Engine`]
//! claims windows on its lanes, merges and splits their ranges by what a request and a byte cost on that medium
//! ([`CostModel`]), keeps each lane's queue full, and hands every range to the sink on the core that read it, while the
//! bytes are hot. Errors belong to single reads; a batch as a whole fails only when it is cancelled, runs out of time or
//! panics.
//!
//! ```
//! use swath_ioengine::{ByteRange, Engine, EngineConfig, MemoryMedium, RangeRead, RunOptions};
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! let engine = Engine::new(EngineConfig::default());
//! let memory = MemoryMedium::new();
//! memory.put("a", vec![7u8; 1000]);
//! let reads: Vec<RangeRead> =
//!     (0..10).map(|i| RangeRead { object: 0, range: ByteRange::Bounded { offset: i * 100, len: 50 } }).collect();
//! let bytes = AtomicUsize::new(0);
//! engine.read_ranges(
//!     &[memory.object("a")],
//!     &reads,
//!     |_index, result| {
//!         bytes.fetch_add(result.map_or(0, <[u8]>::len), Ordering::Relaxed);
//!     },
//!     &RunOptions::default(),
//! )?;
//! assert_eq!(bytes.load(Ordering::Relaxed), 500);
//! # Ok::<(), swath_ioengine::Error>(())
//! ```
//!
//! What this crate does *not* know: any format, any codec, any array, Python. It depends on no other crate of the
//! workspace.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::duplicate_mod, reason = "other platforms' files are tested on Linux too"))]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "what only the ways of Linux use"))]

mod at_hand;
mod batch;
mod batch_ref;
mod batch_state;
mod blocks;
mod buffer;
mod byte_range;
mod calibration;
mod coalesce;
mod control;
mod cost;
mod counters;
mod deadlines;
mod driver;
mod drivers;
mod engine;
mod error;
mod fork;
mod freshness;
mod global;
mod handle_cache;
mod identity;
mod interrupt;
mod lane;
mod limits;
mod media;
mod medium;
mod oversize;
mod parking;
mod per_process;
mod random;
mod ranges;
mod ranges_into;
mod remote;
mod remote_stats;
mod resident;
mod scratch;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod target;
mod wake;
mod window;
mod writing;

pub use at_hand::AtHand;
pub use batch::{Arrival, Batch, Estimate, LaneContext, Note, PlanContext, Resume};
pub use blocks::Blocks;
pub use buffer::AlignedBuffer;
pub use byte_range::{ByteRange, memory_len, storage_len};
pub use calibration::{
    CALIBRATION_DEPTHS, Calibration, CalibrationOptions, CalibrationUse, DeviceKey, Fact, calibrate,
};
pub use control::{Control, Progress};
pub use cost::CostModel;
pub use counters::{LATENCY_BUCKETS, Stats};
pub use driver::{
    Caching, Completion, DriverSite, LocalDriver, Outcome, ReadOp, ReadTarget, TargetUse, WaitsFor,
};
pub use engine::{Engine, EngineConfig, RunOptions, Running};
pub use error::{Error, ErrorKind};
pub use fork::generation as fork_generation;
pub use freshness::Freshness;
pub use identity::{FileIdentity, Identity};
pub use interrupt::{InterruptFlag, Waited, interruptible, is_interrupted, wait_for, with_helpers};
pub use limits::Limits;
#[cfg(feature = "cache")]
pub use media::cache::{CacheConfig, CacheStats, CacheTier, cache_bytes};
#[cfg(feature = "cloud")]
pub use media::cloud::{
    CloudCredentials, CloudKeys, CloudLocation, CloudMedium, CloudOptions, CloudSettings, CredentialSource,
    Hedging,
};
pub use media::faulty::{FaultPlan, FaultyMedium};
pub use media::file_access::FileAccess;
pub use media::files::LocalFiles;
pub use media::memory::MemoryMedium;
pub use media::simulated::{Answers, SimulatedConfig, SimulatedRemote};
pub use medium::{Entry, LocalMedium, Medium, MediumId, ObjectRef, OpenObject, RemoteSource, TryLock};
pub use per_process::PerProcess;
pub use ranges::RangeRead;
pub use remote::{CancelFlag, FetchRequest, Fetched, Reply};
pub use remote_stats::RemoteStats;
pub use resident::{Piece, Resident};
pub use scratch::Scratch;
pub use target::BatchTarget;
pub use wake::Wake;
pub use window::{Cursor, Merging, ObjectPart, Planned, Token, Window};
pub use writing::{PutCondition, writes};
