//! What the engine counted.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use swath::ioengine::Engine;

/// Count what this process has read so far.
///
/// Returns
/// -------
/// dict
///     The engine's counters since its first read, all int but: `latency`, a list of how many
///     physical reads took less than 1, 2, 4, ... microseconds; `drivers`, a list of what reads files
///     and why; `read_amplification`, a float, bytes fetched for each byte wanted.
///
/// Examples
/// --------
/// >>> before = swath.stats()["physical_reads"]
/// >>> crop = array[0, :, :128, :128]
/// >>> swath.stats()["physical_reads"] - before
/// 3
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = py.detach(|| Engine::global().stats());
    let dict = PyDict::new(py);
    let counters = [
        ("windows", stats.windows),
        ("logical_reads", stats.logical_reads),
        ("physical_reads", stats.physical_reads),
        ("bytes_wanted", stats.bytes_wanted),
        ("bytes_fetched", stats.bytes_fetched),
        ("merged_reads", stats.merged_reads),
        ("split_reads", stats.split_reads),
        ("retries", stats.retries),
        ("unmerged", stats.unmerged),
        ("failed_reads", stats.failed_reads),
        ("opens", stats.opens),
        ("handle_hits", stats.handle_hits),
        ("follow_ups", stats.follow_ups),
        ("replans", stats.replans),
        ("deferred_windows", stats.deferred_windows),
        ("inline_batches", stats.inline_batches),
        ("lane_batches", stats.lane_batches),
        ("parks", stats.parks),
        ("in_flight_high_water", stats.in_flight_high_water),
    ];
    for (name, count) in counters {
        dict.set_item(name, count)?;
    }
    dict.set_item("read_amplification", stats.read_amplification())?;
    dict.set_item("latency", stats.latency.to_vec())?;
    dict.set_item("drivers", &stats.drivers)?;
    Ok(dict)
}
