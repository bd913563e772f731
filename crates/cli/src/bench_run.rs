//! The passes of a bench: batches into one reused output, then single crops.

use crate::bench_cache::CacheFigures;
use crate::bench_remote::RemoteFigures;
use crate::crops::{Crop, Crops, distinct_chunks, selection};
use crate::interrupt::Interrupt;
use crate::page_cache::{Dropped, drop_pages};
use crate::process;
use crate::progress::{Progress, Unit};
use anyhow::{Context, anyhow, bail};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use swath::ioengine::{Stats, memory_len, storage_len};
use swath::{Array, ReadOptions, Selection};

/// Single crops are read for their latency: at most this many, enough for ten beyond the 99th percentile.
const SINGLES_MAX: u64 = 1000;

/// How long a pass is.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    /// This many crops.
    Crops(u64),
    /// As many as fit this time.
    Time(Duration),
}

/// What is measured.
pub(crate) struct Plan<'a> {
    pub(crate) array: &'a Array,
    pub(crate) amount: Amount,
    /// Crops a call.
    pub(crate) batch: usize,
    /// Where the array's files are, if their pages are to be dropped before each pass.
    pub(crate) cold: Option<PathBuf>,
    /// When the array began to be opened.
    pub(crate) started: Instant,
    /// Ends the passes.
    pub(crate) interrupt: Interrupt,
}

/// What was measured.
pub(crate) struct Figures {
    /// What was dropped before the first pass.
    pub(crate) dropped: Option<Dropped>,
    /// Crops that the batches read.
    pub(crate) crops: u64,
    /// Time within the calls that read them.
    pub(crate) elapsed: Duration,
    /// CPU time of all threads meanwhile.
    pub(crate) cpu: Option<Duration>,
    /// Bytes of output.
    pub(crate) output_bytes: u64,
    /// Chunks that the batches touched, those that crops of one batch share counted once.
    pub(crate) chunks: u64,
    /// What the engine counted meanwhile.
    pub(crate) logical_reads: u64,
    pub(crate) physical_reads: u64,
    pub(crate) bytes_wanted: u64,
    pub(crate) bytes_fetched: u64,
    /// What requests came to, of storage behind a network.
    pub(crate) remote: Option<RemoteFigures>,
    /// What a cache of remote bytes answered, where there is one.
    pub(crate) cache: Option<CacheFigures>,
    /// Of reads of one crop a call, in rising order.
    pub(crate) latencies: Vec<Duration>,
    /// The engine's drivers with their reasons, and its lanes.
    pub(crate) drivers: Vec<String>,
    pub(crate) lanes: usize,
    /// The process's most resident memory, in bytes.
    pub(crate) peak_memory_bytes: Option<u64>,
}

/// Runs both passes, and checks that a crop reads the same alone and in its batch.
///
/// # Errors
///
/// Those of reading; an output too large for this machine; an interrupt.
pub(crate) fn run_plan(plan: &Plan<'_>, mut crops: Crops) -> anyhow::Result<Figures> {
    let engine = plan.array.engine();
    let dropped = plan.drop_pages()?;
    let store = plan.array.store();
    let (before, remote_before, cache_before) = (engine.stats(), store.remote_stats(), store.cache_stats());
    let batches = plan.read_batches(&mut crops)?;
    let (after, remote_after, cache_after) = (engine.stats(), store.remote_stats(), store.cache_stats());
    let cache = cache_before.zip(cache_after).map(|(before, after)| CacheFigures { before, after });
    let remote = remote_before.zip(remote_after);
    let remote = remote.map(|(before, after)| RemoteFigures { before, after, end: plan.started.elapsed() });
    plan.drop_pages()?;
    let latencies = plan.read_singles(&mut crops, batches.crop_bytes)?;
    plan.check(&batches)?;
    let since = |count: fn(&Stats) -> u64| count(&after).saturating_sub(count(&before));
    Ok(Figures {
        dropped,
        crops: batches.crops,
        elapsed: batches.elapsed,
        cpu: batches.cpu,
        output_bytes: batches.crops.saturating_mul(storage_len(batches.crop_bytes)),
        chunks: batches.chunks,
        logical_reads: since(|stats| stats.logical_reads),
        physical_reads: since(|stats| stats.physical_reads),
        bytes_wanted: since(|stats| stats.bytes_wanted),
        bytes_fetched: since(|stats| stats.bytes_fetched),
        remote,
        cache,
        latencies,
        drivers: engine.stats().drivers,
        lanes: engine.config().limits.lanes,
        peak_memory_bytes: process::peak_memory_bytes(),
    })
}

/// What the batches came to.
struct Batches {
    crops: u64,
    chunks: u64,
    elapsed: Duration,
    cpu: Option<Duration>,
    crop_bytes: usize,
    /// The first crop of the last batch, and what was read of it.
    sample: Option<(Crop, Vec<u8>)>,
}

impl Plan<'_> {
    fn drop_pages(&self) -> anyhow::Result<Option<Dropped>> {
        let Some(directory) = &self.cold else {
            return Ok(None);
        };
        let dropped = drop_pages(directory).map_err(|error| anyhow!("{}: {error}", directory.display()))?;
        Ok(Some(dropped))
    }

    fn crop_bytes(&self, crop: &[u64]) -> anyhow::Result<usize> {
        let element = storage_len(self.array.data_type().size_bytes());
        let bytes = crop.iter().try_fold(element, |bytes, extent| bytes.checked_mul(*extent));
        Ok(memory_len(bytes.context("a crop is larger than 2^64 bytes")?)?)
    }

    /// Memory for `crops` results, every page of it touched, so that no call pays for that.
    fn output(&self, crop_bytes: usize, crops: usize) -> anyhow::Result<Vec<u8>> {
        let mut output = Vec::new();
        let bytes = crop_bytes.checked_mul(crops);
        match bytes.map(|bytes| output.try_reserve_exact(bytes).map(|()| bytes)) {
            Some(Ok(bytes)) => output.resize(bytes, 0xff),
            _ => bail!("no memory for the output of {crops} crops of {crop_bytes} bytes; lower --batch"),
        }
        Ok(output)
    }

    fn read_batches(&self, crops: &mut Crops) -> anyhow::Result<Batches> {
        let crop_bytes = self.crop_bytes(crops.crop_shape())?;
        let total = match self.amount {
            Amount::Crops(count) => Some(count),
            Amount::Time(_) => None,
        };
        let batch = total
            .and_then(|total| usize::try_from(total).ok())
            .map_or(self.batch, |total| total.min(self.batch));
        let mut output = self.output(crop_bytes, batch)?;
        let progress = Progress::new(total, Unit::Items("crops"));
        let poll = || {
            progress.tick();
            self.interrupt.is_raised()
        };
        let options = ReadOptions { interrupt: Some(&poll), ..ReadOptions::default() };
        let (mut elapsed, mut cpu) = (Duration::ZERO, Some(Duration::ZERO));
        let (mut done, mut chunks) = (0_u64, 0_u64);
        let mut drawn: Vec<Crop> = Vec::new();
        while self.has_more(done, elapsed) {
            self.interrupt.check()?;
            let left = total.map_or(batch, |total| usize::try_from(total - done).unwrap_or(batch).min(batch));
            drawn = (0..left).map(|_| crops.draw()).collect();
            let selections = selections(&drawn)?;
            let target = &mut output[..left * crop_bytes];
            let (started, cpu_before) = (Instant::now(), process::cpu_time());
            self.array.read_many_into(&selections, target, &options)?;
            elapsed += started.elapsed();
            cpu = cpu
                .zip(process::cpu_time().zip(cpu_before))
                .map(|(sum, (after, before))| sum + after.saturating_sub(before));
            chunks += distinct_chunks(&drawn, self.array.shape(), self.array.chunk_shape());
            done += storage_len(left);
            progress.advance(storage_len(left));
        }
        output.truncate(crop_bytes);
        let sample = drawn.into_iter().next().map(|crop| (crop, output));
        Ok(Batches { crops: done, chunks, elapsed, cpu, crop_bytes, sample })
    }

    fn read_singles(&self, crops: &mut Crops, crop_bytes: usize) -> anyhow::Result<Vec<Duration>> {
        let mut output = self.output(crop_bytes, 1)?;
        let total = match self.amount {
            Amount::Crops(count) => Some(count.min(SINGLES_MAX)),
            Amount::Time(_) => None,
        };
        let progress = Progress::new(total, Unit::Items("single crops"));
        let poll = || {
            progress.tick();
            self.interrupt.is_raised()
        };
        let options = ReadOptions { interrupt: Some(&poll), ..ReadOptions::default() };
        let (mut latencies, mut elapsed) = (Vec::new(), Duration::ZERO);
        while storage_len(latencies.len()) < SINGLES_MAX
            && self.has_more(storage_len(latencies.len()), elapsed)
        {
            self.interrupt.check()?;
            let selections = selections(&[crops.draw()])?;
            let started = Instant::now();
            self.array.read_many_into(&selections, &mut output, &options)?;
            let latency = started.elapsed();
            elapsed += latency;
            latencies.push(latency);
            progress.advance(1);
        }
        latencies.sort_unstable();
        Ok(latencies)
    }

    fn has_more(&self, done: u64, elapsed: Duration) -> bool {
        match self.amount {
            Amount::Crops(count) => done < count,
            Amount::Time(time) => elapsed < time,
        }
    }

    /// Figures of wrong data are worth nothing.
    fn check(&self, batches: &Batches) -> anyhow::Result<()> {
        let Some((crop, read)) = &batches.sample else {
            return Ok(());
        };
        let alone = self.array.read_many(&selections(std::slice::from_ref(crop))?)?;
        if alone.first().is_some_and(|alone| alone.as_bytes() == read) {
            return Ok(());
        }
        bail!("{}: crop {crop:?} reads differently alone and in its batch", self.array.name())
    }
}

fn selections(crops: &[Crop]) -> anyhow::Result<Vec<Selection>> {
    let selections: Option<Vec<Selection>> = crops.iter().map(selection).collect();
    selections.context("the array has an axis longer than 2^63")
}
