//! What `swath bench` prints.

use crate::bench_cache::CacheFigures;
use crate::bench_run::Figures;
use crate::quantity::{bytes, count, duration, plural, shape, significant};
use serde_json::{Map, Value, json};
use std::io::{Result, Write};
use std::time::Duration;
use swath::Array;

/// What is measured.
pub(crate) struct Bench<'a> {
    pub(crate) array: &'a Array,
    /// The shape of a crop.
    pub(crate) crop: &'a [u64],
    pub(crate) seed: u64,
    /// Crops a call.
    pub(crate) batch: u32,
}

impl Bench<'_> {
    /// Prints what will be measured.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn heading(&self, out: &mut impl Write) -> Result<()> {
        let array = self.array;
        let shards = array.shard_shape().map(|shard| format!(" in shards {}", shape(shard)));
        let (chunks, shards) = (shape(array.chunk_shape()), shards.unwrap_or_default());
        let (name, data_type) = (array.name(), array.data_type());
        writeln!(out, "{name}  {data_type} {}, chunks {chunks}{shards}", shape(array.shape()))?;
        writeln!(out, "crops of {} in batches of {}, seed {}", shape(self.crop), self.batch, self.seed)
    }

    /// Prints one line a figure.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn figures(&self, figures: &Figures, out: &mut impl Write) -> Result<()> {
        let array = self.array;
        match &figures.remote {
            Some(remote) => writeln!(out, "endpoint {}\n", remote.after.endpoint)?,
            None => writeln!(out, "page cache {}\n", cache_words(figures))?,
        }
        let mut row = |name: &str, value: &str, note: &str| {
            writeln!(out, "{}", format!("{name:<20}{value:>10}  {note}").trim_end())
        };
        let rates = Rates::of(figures);
        let crops = plural(figures.crops, "crop");
        row("crops/s", &significant(rates.crops), &format!("{crops} in {}", duration(figures.elapsed)))?;
        let output = format!("decoded output, {}", bytes(figures.output_bytes));
        row("GB/s", &significant(rates.bytes / 1e9), &output)?;
        let element_bytes = swath::ioengine::storage_len(array.data_type().size_bytes());
        let chunk_bytes = array.chunk_shape().iter().copied().fold(element_bytes, u64::saturating_mul);
        let (touched, a_crop) = (count(figures.chunks), significant(rates.chunks_a_crop));
        let touched = format!("{touched} touched, {a_crop} a crop, {} each", bytes(chunk_bytes));
        row("chunks/s", &significant(rates.chunks), &touched)?;
        let amplification = rates.amplification.map_or_else(|| "none".to_owned(), significant);
        let wanted = format!("bytes fetched for each of {} wanted", bytes(figures.bytes_wanted));
        row("read amplification", &amplification, &wanted)?;
        let (physical, logical) = (plural(figures.physical_reads, "read"), count(figures.logical_reads));
        row("fetched", &bytes(figures.bytes_fetched), &format!("in {physical} for {logical} wanted"))?;
        if let Some(remote) = &figures.remote {
            for (name, value, note) in remote.rows(figures) {
                row(name, &value, &note)?;
            }
        }
        if let Some(cache) = &figures.cache {
            let (value, note) = cache.row();
            row("cache hits", &value, &note)?;
        }
        let mut singles = format!("one crop a call, {}", plural(count_of(&figures.latencies), "crop"));
        for (name, part) in PERCENTILES {
            row(&format!("latency {name}"), &duration(percentile(&figures.latencies, part)), &singles)?;
            singles.clear();
        }
        let cores = figures.cpu.map(|cpu| cpu.as_secs_f64() / figures.elapsed.as_secs_f64().max(1e-9));
        let cores = cores.map(|cores| format!("{} cores busy, {} lanes", significant(cores), figures.lanes));
        row("CPU", &figures.cpu.map_or_else(unknown, duration), &cores.unwrap_or_default())?;
        row("peak memory", &figures.peak_memory_bytes.map_or_else(unknown, bytes), "of the process")?;
        for (position, driver) in figures.drivers.iter().enumerate() {
            let title = if position == 0 { "drivers" } else { "" };
            writeln!(out, "{title:<20}{driver}")?;
        }
        figures.remote.iter().try_for_each(|remote| remote.chart(out))
    }

    /// The same as JSON: times in seconds, sizes in bytes, rates a second.
    pub(crate) fn json(&self, figures: &Figures) -> Value {
        let (array, rates) = (self.array, Rates::of(figures));
        let latency: Map<String, Value> = PERCENTILES
            .iter()
            .map(|(name, part)| (*name, percentile(&figures.latencies, *part).as_secs_f64()))
            .map(|(name, seconds)| (name.to_owned(), json!(seconds)))
            .collect();
        json!({
            "array": array.name(),
            "data_type": array.data_type().name(),
            "shape": array.shape(),
            "chunks": array.chunk_shape(),
            "shards": array.shard_shape(),
            "crop": self.crop,
            "batch": self.batch,
            "seed": self.seed,
            "crops": figures.crops,
            "cold": figures.dropped.map(|dropped| json!({
                "files": dropped.files, "bytes": dropped.bytes, "refused": dropped.refused,
            })),
            "seconds": figures.elapsed.as_secs_f64(),
            "crops_per_second": rates.crops,
            "output_bytes": figures.output_bytes,
            "output_bytes_per_second": rates.bytes,
            "chunks_touched": figures.chunks,
            "chunks_per_second": rates.chunks,
            "bytes_wanted": figures.bytes_wanted,
            "bytes_fetched": figures.bytes_fetched,
            "read_amplification": rates.amplification,
            "logical_reads": figures.logical_reads,
            "physical_reads": figures.physical_reads,
            "remote": figures.remote.as_ref().map(|remote| remote.json(figures)),
            "cache": figures.cache.as_ref().map(CacheFigures::json),
            "latency_seconds": latency,
            "latency_crops": figures.latencies.len(),
            "cpu_seconds": figures.cpu.map(|cpu| cpu.as_secs_f64()),
            "peak_memory_bytes": figures.peak_memory_bytes,
            "lanes": figures.lanes,
            "drivers": figures.drivers,
        })
    }
}

/// The percentiles shown, in thousandths.
const PERCENTILES: [(&str, u64); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("max", 1000)];

/// Per second, or a piece.
struct Rates {
    crops: f64,
    bytes: f64,
    chunks: f64,
    chunks_a_crop: f64,
    /// `None` where nothing that was wanted is stored.
    amplification: Option<f64>,
}

impl Rates {
    fn of(figures: &Figures) -> Rates {
        let seconds = figures.elapsed.as_secs_f64().max(1e-9);
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Rates {
            crops: figures.crops as f64 / seconds,
            bytes: figures.output_bytes as f64 / seconds,
            chunks: figures.chunks as f64 / seconds,
            chunks_a_crop: ratio(figures.chunks, figures.crops),
            amplification: (figures.bytes_wanted != 0)
                .then(|| ratio(figures.bytes_fetched, figures.bytes_wanted)),
        }
    }
}

/// The nearest rank: the least latency that at least `thousandths` of all do not exceed. Zero where there are none.
fn percentile(latencies: &[Duration], thousandths: u64) -> Duration {
    let rank = (count_of(latencies) * thousandths).div_ceil(1000).max(1);
    let index = usize::try_from(rank - 1).unwrap_or(usize::MAX);
    latencies.get(index).copied().unwrap_or_default()
}

fn count_of(latencies: &[Duration]) -> u64 {
    swath::ioengine::storage_len(latencies.len())
}

fn cache_words(figures: &Figures) -> String {
    let Some(dropped) = figures.dropped else {
        return "as it was found".to_owned();
    };
    let (files, size) = (plural(dropped.files, "file"), bytes(dropped.bytes));
    let mut words = format!("dropped for {files} ({size}), before the batches and again before single crops");
    if dropped.refused != 0 {
        words.push_str(&format!("; refused for {}", count(dropped.refused)));
    }
    words
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let latencies: Vec<Duration> = (1..=200).map(Duration::from_micros).collect();
        let micros = |thousandths| percentile(&latencies, thousandths).as_micros();
        assert_eq!([micros(500), micros(900), micros(990), micros(1000)], [100, 180, 198, 200]);
        assert_eq!(percentile(&latencies[..1], 990), Duration::from_micros(1));
        assert_eq!(percentile(&[], 500), Duration::ZERO);
    }
}
