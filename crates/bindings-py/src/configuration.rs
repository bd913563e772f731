//! What `swath.config` says: handed to the engine, and looked up where something is opened.

use crate::cache::{CacheFreshness, CacheSize};
use crate::errors::{Class, error};
use crate::logs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::collections::HashMap;
use std::path::PathBuf;
use swath::ioengine::{Engine, EngineConfig, Limits, cache_bytes, memory_len};

/// Have the engine work within other bounds; others than those named are the defaults.
#[pyfunction]
#[pyo3(name = "_set_limits", signature = (lanes, bounds))]
pub(crate) fn set_limits(py: Python<'_>, lanes: Option<usize>, bounds: HashMap<String, u64>) -> PyResult<()> {
    let mut limits = lanes.map_or_else(Limits::default, Limits::for_lanes);
    if let Some(memory) = bounds.get("memory_bytes").and_then(|bytes| memory_len(*bytes).ok()) {
        // What lanes keep for their next reads counts as well.
        limits.pooled_bytes_max =
            limits.pooled_bytes_max.min((memory / limits.lanes.max(1)).max(POOLED_BYTES_MIN));
    }
    for (name, bound) in bounds {
        let place = match name.as_str() {
            "memory_bytes" => &mut limits.in_flight_bytes_max,
            "queue_depth" => &mut limits.local_depth,
            "remote_queue_depth" => &mut limits.remote_depth,
            "merged_bytes" => &mut limits.merged_bytes_max,
            "remote_merged_bytes" => &mut limits.remote_merged_bytes_max,
            "remote_waste_percent" => {
                limits.remote_bridged_percent = bound;
                continue;
            }
            "open_files" => &mut limits.open_handles_max,
            _ => return Err(error(py, Class::Internal, &format!("no bound is called {name}"), "")),
        };
        *place = memory_len(bound).unwrap_or(usize::MAX);
    }
    let config = EngineConfig { limits, ..EngineConfig::default() };
    drop(py.detach(|| Engine::set_global(config)));
    Ok(())
}

/// A lane that keeps less makes its buffers anew for every read of a large chunk.
const POOLED_BYTES_MIN: usize = 1 << 20;

/// Read a number of bytes such as "2GB".
#[pyfunction]
#[pyo3(name = "_bytes", signature = (text))]
pub(crate) fn bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    cache_bytes(text).map_err(|found| error(py, Class::Invalid, found.message(), ""))
}

/// What `swath.open` does where its arguments do not say.
#[derive(FromPyObject)]
pub(crate) struct Defaults {
    pub(crate) decoded_cache_bytes: u64,
    pub(crate) cache: Option<CacheSize>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) cache_freshness: Option<CacheFreshness>,
    pub(crate) checksums: String,
}

/// Looks up what `swath.config` says where something is opened, and has the engine and the events of this process follow
/// what changed outside of it: the workers of dask, the levels of logging.
///
/// # Errors
///
/// `InvalidError` for an environment variable that says nothing that can be.
pub(crate) fn opening(py: Python<'_>) -> PyResult<Defaults> {
    let (level, defaults) = config(py)?.call_method0(intern!(py, "_opening"))?.extract::<(u8, Defaults)>()?;
    logs::set_level(level);
    Ok(defaults)
}

/// What a pickle takes along of `swath.config`.
pub(crate) fn carried(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    config(py)?.call_method0(intern!(py, "_carried"))
}

/// Takes over what a pickle brought along, in a worker process.
pub(crate) fn adopt(py: Python<'_>, carried: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let level = config(py)?.call_method1(intern!(py, "_adopt"), (carried,))?.extract()?;
    logs::set_level(level);
    Ok(())
}

fn config(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CONFIG: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CONFIG.import(py, "swath.configuration", "config")
}
