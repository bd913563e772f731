//! What the fuzz targets call.

use std::sync::Once;
use swath_ioengine::{Engine, EngineConfig, Limits};

pub mod chain;
pub mod codec;
pub mod filters;
pub mod folder;
pub mod grib;
pub mod hdf5;
pub mod nat;
pub mod nodes;
pub mod read;
pub mod shard_index;
pub mod stored;

/// Has the engine keep few objects open, which an input's are: those of thousands of inputs would take the memory of a run.
fn keep_few_open() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let limits = Limits { open_handles_max: 8, ..Limits::default() };
        drop(Engine::set_global(EngineConfig { limits, ..EngineConfig::default() }));
    });
}
