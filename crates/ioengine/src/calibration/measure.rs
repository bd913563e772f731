//! Measuring a device, through the engine.

use super::probe_batch::{Pattern, Probed};
use super::scratch_file::ScratchFile;
use super::{CALIBRATION_DEPTHS, Calibration, CalibrationOptions, DeviceKey, Fact, bridging, date};
use crate::{CostModel, Engine, EngineConfig, Error, ErrorKind, FileAccess, Freshness, Limits, LocalFiles};
use std::path::Path;
use std::time::{Duration, Instant};

/// Measures the device that a directory is on, by reading a scratch file below it that is removed afterwards, also when
/// this fails. Nothing is stored: that is [`Calibration::store`].
///
/// Other work on the machine makes every figure worse. What cannot be measured is told with its reason.
///
/// ```no_run
/// use swath_ioengine::{CalibrationOptions, calibrate};
///
/// let calibration = calibrate("/data", &CalibrationOptions::default())?;
/// println!("{calibration}");
/// calibration.store()?;
/// # Ok::<(), swath_ioengine::Error>(())
/// ```
///
/// # Errors
///
/// [`LimitExceeded`](ErrorKind::LimitExceeded) where the scratch file would take more than half of what is free;
/// [`Cancelled`](ErrorKind::Cancelled) when it was interrupted; what the file system says to a directory that cannot be
/// written to.
pub fn calibrate(path: impl AsRef<Path>, options: &CalibrationOptions<'_>) -> Result<Calibration, Error> {
    let path = path.as_ref();
    let named = |error: Error| error.with_object(&std::sync::Arc::from(path.to_string_lossy()));
    let (directory, _) =
        crate::media::files::open_directory(path).map_err(|error| named(Error::from_io(error)))?;
    let device = DeviceKey::of(std::os::fd::AsFd::as_fd(&directory)).map_err(named)?;
    let is_stopped = || options.interrupt.is_some_and(|interrupt| interrupt());
    let scratch = ScratchFile::write(path, options.scratch_bytes, &is_stopped)?;
    let bench = Bench { folder: path, scratch: &scratch, options };
    let cached_ring = bench.cached(FileAccess::IoUring)?;
    let cached_threads = bench.cached(FileAccess::PreadThreads)?;
    let page_cache = bench.page_cache()?;
    // Late, because files that were just written are not kept mapped.
    let cached_mapping = fact(bench.mapping_rate())?;
    scratch.drop_cached();
    let direct_4k = bench.direct(4096)?;
    let direct_1m = bench.direct(1 << 20)?;
    Ok(Calibration {
        device,
        measured_on: date::today(),
        lanes: Limits::default().lanes,
        cached_ring,
        cached_threads,
        cached_mapping,
        page_cache,
        direct_4k,
        direct_1m,
    })
}

/// What every measurement needs.
struct Bench<'a> {
    folder: &'a Path,
    scratch: &'a ScratchFile,
    options: &'a CalibrationOptions<'a>,
}

/// Hundredths of the time for each of the three cached ways, for the costs of bridging, and for each of six direct rates.
const CACHED_SHARE: u32 = 6;
const BRIDGING_SHARE: u32 = 30;
const DIRECT_SHARE: u32 = 8;

/// Turns of each direct rate.
const DIRECT_TURNS: u32 = 3;

/// Every gap is worth bridging.
const BRIDGE_ALL: CostModel = CostModel { request_cost_ns: 1e9, byte_cost_ns: 1.0 };

impl Bench<'_> {
    fn cached(&self, access: FileAccess) -> Result<Fact<f64>, Error> {
        fact(LocalFiles::open_costed(self.folder, access, CostModel::PAGE_CACHE).and_then(|files| {
            let engine = engine(Limits { merged_parts_max: 1, ..Limits::default() });
            self.probed(&files).rate(&engine, Pattern::Single(4096), self.share(CACHED_SHARE))
        }))
    }

    fn mapping_rate(&self) -> Result<f64, Error> {
        let files = LocalFiles::open_costed(self.folder, FileAccess::Mapped, CostModel::PAGE_CACHE)?;
        let engine = engine(Limits { merged_parts_max: 1, ..Limits::default() });
        let (probed, time) = (self.probed(&files), self.share(CACHED_SHARE));
        // Large reads first, which fill the page table.
        probed.pass(&engine, Pattern::Single(1 << 20), 0, Instant::now() + time)?;
        let rate = probed.rate(&engine, Pattern::Single(4096), time)?;
        let stats = engine.stats();
        if stats.served_reads == 0 {
            return Err(Error::new(ErrorKind::Unsupported, "files are not mapped here"));
        }
        if stats.handle_hits < stats.opens {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the scratch file was too young to be kept mapped",
            ));
        }
        Ok(rate)
    }

    fn page_cache(&self) -> Result<Fact<CostModel>, Error> {
        let measured =
            LocalFiles::open_costed(self.folder, FileAccess::Buffered, BRIDGE_ALL).and_then(|files| {
                let separate = engine(Limits { merged_parts_max: 1, ..Limits::default() });
                let bridged = engine(Limits { merged_parts_max: 2, ..Limits::default() });
                let cost =
                    bridging::measure(&self.probed(&files), &separate, &bridged, self.share(BRIDGING_SHARE))?;
                cost.ok_or_else(|| Error::new(ErrorKind::Unsupported, "wider gaps cost nothing more"))
            });
        fact(measured)
    }

    fn direct(&self, bytes: u64) -> Result<Fact<[f64; 3]>, Error> {
        let mut rates = [0.0_f64; 3];
        // Depths take turns, and the best of each counts: other work makes rates worse, and seldom lasts for all turns of
        // one depth alone.
        for _ in 0..DIRECT_TURNS {
            for (depth, rate) in CALIBRATION_DEPTHS.into_iter().zip(&mut rates) {
                match fact(self.direct_rate(bytes, depth))? {
                    Ok(measured) => *rate = rate.max(measured),
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        }
        Ok(Ok(rates))
    }

    fn direct_rate(&self, bytes: u64, depth: usize) -> Result<f64, Error> {
        let files = LocalFiles::open_costed(self.folder, FileAccess::Direct, CostModel::PAGE_CACHE)?;
        let engine = engine(Limits { local_depth: depth, merged_parts_max: 1, ..Limits::default() });
        let rate = self.probed(&files).rate(
            &engine,
            Pattern::Single(bytes),
            self.share(DIRECT_SHARE) / DIRECT_TURNS,
        )?;
        match files.direct_refusal() {
            Some(reason) => Err(Error::new(ErrorKind::Unsupported, reason)),
            None => Ok(rate),
        }
    }

    fn probed(&self, files: &LocalFiles) -> Probed<'_> {
        Probed {
            object: files.object(&self.scratch.name),
            file_bytes: self.scratch.bytes,
            interrupt: self.options.interrupt,
        }
    }

    fn share(&self, hundredths: u32) -> Duration {
        self.options.time.saturating_mul(hundredths) / 100
    }
}

fn engine(limits: Limits) -> Engine {
    Engine::new(EngineConfig { limits, freshness: Freshness::Checked })
}

/// What was measured, or why not; being stopped ends everything.
fn fact<T>(measured: Result<T, Error>) -> Result<Fact<T>, Error> {
    match measured {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => Ok(Err(error.message().to_owned())),
    }
}
