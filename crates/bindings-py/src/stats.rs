//! What the engine counted.

use crate::logs::reported;
use crate::python_codec;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swath::Store;
use swath::ioengine::Engine;

/// Count what this process has read so far.
///
/// Returns
/// -------
/// dict
///     The engine's counters since its first read, each an int:
///
///     - `windows`, pieces that reads were planned in, and `logical_reads`, ranges of bytes wanted of them;
///       `served_reads` are those whose bytes were there already, in memory or in a mapping.
///     - `physical_reads`, requests to the storage or the system; `merged_reads` are logical reads that
///       shared one, `split_reads` pieces of a logical read that took several; `retries` were sent again,
///       `unmerged` are merged reads that failed and were sent one by one, `failed_reads` logical reads
///       that failed.
///     - `bytes_wanted` and `bytes_fetched`; `read_amplification`, a float, is the second by the first.
///     - `opens`, objects opened, and `handle_hits`, those found open.
///     - `follow_ups`, plans that followed an index; `replans`, plans made anew as an object was replaced.
///     - `inline_batches`, reads done on the thread that asked, and `lane_batches`, those on swath's own;
///       `deferred_windows` began on the one and had to wait on the others.
///     - `lanes`, most threads of swath's own that read and decode, which start once a read needs them;
///       `parks`, how often they slept, and `in_flight_high_water`, most physical reads that one had in
///       flight.
///     - `latency`, a list of how many physical reads took less than 1, 2, 4, ... microseconds.
///     - `drivers`, a list of what reads files and why.
///     - `python_codec_calls`, chunks that were decoded or encoded by codecs of numcodecs or zarr-python.
///
/// Examples
/// --------
/// >>> before = swath.stats()["physical_reads"]
/// >>> crop = array[0, :, :128, :128]
/// >>> swath.stats()["physical_reads"] - before
/// 3
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (stats, lanes) = reported(py, || {
        let engine = Engine::global();
        (engine.stats(), engine.config().limits.lanes)
    })?;
    let dict = PyDict::new(py);
    let counters = [
        ("windows", stats.windows),
        ("logical_reads", stats.logical_reads),
        ("served_reads", stats.served_reads),
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
    dict.set_item("lanes", lanes)?;
    dict.set_item("python_codec_calls", python_codec::calls())?;
    dict.set_item("read_amplification", stats.read_amplification())?;
    dict.set_item("latency", stats.latency.to_vec())?;
    dict.set_item("drivers", &stats.drivers)?;
    Ok(dict)
}

/// What requests to a store's endpoint came to; `None` for local stores.
pub(crate) fn remote_stats<'py>(py: Python<'py>, store: &Store) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(stats) = py.detach(|| store.remote_stats()) else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    dict.set_item("endpoint", &*stats.endpoint)?;
    let counters = [
        ("requests", stats.requests),
        ("bytes_received", stats.bytes_received),
        ("retries", stats.retries),
        ("resumed", stats.resumed),
        ("hedges", stats.hedges),
        ("throttled", stats.throttled),
        ("connections_opened", stats.connections_opened),
        ("connections_open", stats.connections_open),
        ("http2_open", stats.http2_open),
        ("in_flight", stats.in_flight),
        ("in_flight_max", stats.in_flight_max),
        ("concurrency", stats.concurrency),
    ];
    for (name, count) in counters {
        dict.set_item(name, count)?;
    }
    let history = stats.concurrency_history.iter().map(|(at, limit)| (at.as_secs_f64(), *limit));
    dict.set_item("concurrency_history", history.collect::<Vec<_>>())?;
    let first_byte = PyDict::new(py);
    for (name, time) in ["median", "p99", "max"].into_iter().zip(stats.first_byte) {
        first_byte.set_item(name, time.as_secs_f64())?;
    }
    dict.set_item("first_byte_seconds", first_byte)?;
    dict.set_item("request_cost_ns", stats.request_cost_ns)?;
    dict.set_item("byte_cost_ns", stats.byte_cost_ns)?;
    dict.set_item("cache", cache_stats(py, store)?)?;
    Ok(Some(dict))
}

fn cache_stats<'py>(py: Python<'py>, store: &Store) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(stats) = py.detach(|| store.cache_stats()) else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    let counters = [
        ("hits", stats.hits),
        ("misses", stats.misses),
        ("partial", stats.partial),
        ("shared", stats.shared),
        ("checks", stats.checks),
        ("changes", stats.changes),
        ("bytes_from_memory", stats.bytes_from_memory),
        ("bytes_from_files", stats.bytes_from_disk),
        ("bytes_from_storage", stats.bytes_from_source),
        ("memory_bytes", stats.memory_bytes),
        ("file_bytes", stats.disk_bytes),
        ("dropped", stats.drops),
        ("corrupt", stats.corrupt),
    ];
    for (name, count) in counters {
        dict.set_item(name, count)?;
    }
    Ok(Some(dict))
}
