//! What a device was measured to do: measured once, stored, and used by every process that reads files on it.
//!
//! [`calibrate`] measures through the engine itself; [`Calibration::store`] keeps what it found in the user's cache
//! folder, and [`LocalFiles::open`](crate::LocalFiles::open) takes the costs that decide where merging pays, and how many
//! reads a lane keeps in flight, from there.
//! Both need Linux: elsewhere the named defaults of [`CostModel`] count. The environment variable `SWATH_CALIBRATION=off` has it take the named defaults of [`CostModel`] instead.

#[cfg(target_os = "linux")]
mod bridging;
mod date;
mod device_key;
#[cfg(target_os = "linux")]
mod find;
#[cfg(target_os = "linux")]
mod measure;
mod options;
#[cfg(target_os = "linux")]
mod probe_batch;
#[cfg(target_os = "linux")]
mod scratch_file;
mod stored;
#[cfg(not(target_os = "linux"))]
mod unmeasured;

use crate::CostModel;
pub use device_key::DeviceKey;
#[cfg(target_os = "linux")]
pub use measure::calibrate;
pub use options::CalibrationOptions;
use std::fmt;
use std::path::PathBuf;
#[cfg(not(target_os = "linux"))]
pub use unmeasured::calibrate;

/// A measured figure, or why there is none.
pub type Fact<T> = Result<T, String>;

/// The depths, for each lane, at which a device is measured.
pub const CALIBRATION_DEPTHS: [usize; 3] = [8, 32, 128];

/// What one device, with its file system, was measured to do by this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Which device.
    pub device: DeviceKey,
    /// The day, in UTC: `2026-11-21`.
    pub measured_on: String,
    /// Lanes that read.
    pub lanes: usize,
    /// Reads a second of 4 KiB in the page cache, by io_uring.
    pub cached_ring: Fact<f64>,
    /// The same, by threads that call `pread(2)`.
    pub cached_threads: Fact<f64>,
    /// The same, copied from a mapping.
    pub cached_mapping: Fact<f64>,
    /// What bridging a gap costs in the page cache.
    pub page_cache: Fact<CostModel>,
    /// Reads a second of 4 KiB past the page cache, at each of [`CALIBRATION_DEPTHS`].
    pub direct_4k: Fact<[f64; 3]>,
    /// Reads a second of 1 MiB past the page cache, at each of [`CALIBRATION_DEPTHS`].
    pub direct_1m: Fact<[f64; 3]>,
}

/// Which calibration a medium uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CalibrationUse {
    /// The one stored in the user's cache folder, unless `SWATH_CALIBRATION` is `off`. The default.
    #[default]
    Stored,
    /// The one stored in this folder.
    StoredIn(PathBuf),
    /// None: the named defaults of [`CostModel`].
    Ignored,
}

/// A depth is as good as the best when its rate is this share of the best one.
const AS_GOOD: f64 = 0.95;

const SMALL_BYTES: f64 = 4096.0;
const LARGE_BYTES: f64 = 1_048_576.0;

impl Calibration {
    /// What a read past the page cache costs with the queues of all lanes full: the straight line through the best rates
    /// at 4 KiB and at 1 MiB. `None` where either was not measured, or where a larger read costs no more.
    pub fn device_cost(&self) -> Option<CostModel> {
        let ns = |rates: &Fact<[f64; 3]>| rates.as_ref().ok().map(|rates| 1e9 / best(rates));
        let (small_ns, large_ns) = (ns(&self.direct_4k)?, ns(&self.direct_1m)?);
        let byte_cost_ns = (large_ns - small_ns) / (LARGE_BYTES - SMALL_BYTES);
        let request_cost_ns = (small_ns - SMALL_BYTES * byte_cost_ns).max(0.0);
        (0.0 < byte_cost_ns).then_some(CostModel { request_cost_ns, byte_cost_ns })
    }

    /// The least depth, for each lane, at which reads of 4 KiB past the page cache come within 5 % of the best rate. Lanes
    /// read this device so, within [`Limits::local_depth`](crate::Limits::local_depth). `None` where it was not measured.
    pub fn depth(&self) -> Option<usize> {
        least_depth(self.direct_4k.as_ref().ok()?)
    }

    /// Reads of 4 KiB a second past the page cache, at the best depth.
    pub fn reads_per_s(&self) -> Option<f64> {
        self.direct_4k.as_ref().ok().map(best)
    }

    /// Bytes a second past the page cache, in reads of 1 MiB at the best depth.
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.direct_1m.as_ref().ok().map(|rates| best(rates) * LARGE_BYTES)
    }

    /// Seconds that a read of 4 KiB takes where all lanes keep as few in flight as was measured, by Little's law (Operations
    /// Research 9, 1961): reads in flight over reads a second.
    pub fn latency_s(&self) -> Option<f64> {
        let in_flight = u32::try_from(CALIBRATION_DEPTHS[0] * self.lanes).ok()?;
        self.direct_4k.as_ref().ok().map(|rates| f64::from(in_flight) / rates[0])
    }

    /// Where it came from, as it is told with a medium's mechanism.
    pub(crate) fn describe(&self) -> String {
        format!(", calibrated {}", self.measured_on)
    }
}

fn best(rates: &[f64; 3]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

fn least_depth(rates: &[f64; 3]) -> Option<usize> {
    let enough = best(rates) * AS_GOOD;
    CALIBRATION_DEPTHS.iter().zip(rates).find(|(_, rate)| enough <= **rate).map(|(depth, _)| *depth)
}

impl fmt::Display for Calibration {
    /// A table for people.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "device {}, measured on {} with {} lanes", self.device, self.measured_on, self.lanes)?;
        let thousands = |rate: &Fact<f64>| told(rate, |rate| format!("{:.0} k reads/s", rate / 1e3));
        writeln!(out, "cached 4 KiB, io_uring  {}", thousands(&self.cached_ring))?;
        writeln!(out, "cached 4 KiB, threads   {}", thousands(&self.cached_threads))?;
        writeln!(out, "cached 4 KiB, mapping   {}", thousands(&self.cached_mapping))?;
        writeln!(out, "page cache costs        {}", told(&self.page_cache, cost_words))?;
        let by_depth = |scale: f64, digits: usize| {
            move |rates: &[f64; 3]| {
                let told = |(depth, rate): (&usize, &f64)| format!("{:.digits$} at {depth}", rate * scale);
                CALIBRATION_DEPTHS.iter().zip(rates).map(told).collect::<Vec<_>>().join(", ")
            }
        };
        writeln!(out, "direct 4 KiB, k reads/s {}", told(&self.direct_4k, by_depth(1e-3, 1)))?;
        let gigabytes = by_depth(LARGE_BYTES / 1e9, 2);
        writeln!(out, "direct 1 MiB, GB/s      {}", told(&self.direct_1m, gigabytes))?;
        let cost = self.device_cost().ok_or_else(|| "not measured".to_owned());
        writeln!(out, "device costs            {}", told(&cost, cost_words))?;
        let depth = self.depth().ok_or_else(|| "not measured".to_owned());
        write!(out, "least good depth        {}", told(&depth, |depth| format!("{depth} a lane")))
    }
}

fn told<T>(fact: &Fact<T>, words: impl Fn(&T) -> String) -> String {
    match fact {
        Ok(value) => words(value),
        Err(reason) => format!("unknown: {reason}"),
    }
}

fn cost_words(cost: &CostModel) -> String {
    format!(
        "{:.0} ns a request, {:.3} ns a byte: bridges {} bytes",
        cost.request_cost_ns,
        cost.byte_cost_ns,
        cost.gap_bytes_max()
    )
}

#[cfg(test)]
pub(crate) fn example() -> Calibration {
    Calibration {
        device: DeviceKey { major: 8, minor: 1, file_system: 0xEF53 },
        measured_on: "2026-11-21".to_owned(),
        lanes: 2,
        cached_ring: Ok(1.5e6),
        cached_threads: Ok(1.0e6),
        cached_mapping: Err("no such routine here".to_owned()),
        page_cache: Ok(CostModel { request_cost_ns: 300.0, byte_cost_ns: 0.1 }),
        direct_4k: Ok([50_000.0, 96_000.0, 100_000.0]),
        direct_1m: Ok([1_000.0, 1_600.0, 1_500.0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_takes_the_least_depth_that_is_as_good() {
        assert_eq!(example().depth(), Some(32));
        assert_eq!(least_depth(&[96.0, 99.0, 100.0]), Some(8));
        assert_eq!(least_depth(&[10.0, 20.0, 30.0]), Some(128));
        assert_eq!(Calibration { direct_4k: Err(String::new()), ..example() }.depth(), None);
    }

    #[test]
    fn calibration_lays_the_device_cost_through_two_sizes() {
        let cost = example().device_cost().unwrap();
        let at = |bytes: f64| cost.request_cost_ns + bytes * cost.byte_cost_ns;
        assert!((at(4096.0) - 10_000.0).abs() < 1.0 && (at(1_048_576.0) - 625_000.0).abs() < 1.0);
        let odd = Calibration { direct_1m: Ok([1e6, 1e6, 1e6]), ..example() };
        assert_eq!(odd.device_cost(), None);
    }

    #[test]
    fn calibration_says_rates_and_how_long_a_read_takes() {
        let found = example();
        assert_eq!(found.reads_per_s(), Some(100_000.0));
        assert_eq!(found.bytes_per_s(), Some(1_600.0 * 1_048_576.0));
        // Two lanes with eight reads each, at 50,000 a second.
        assert!((found.latency_s().unwrap() - 320e-6).abs() < 1e-9);
        let unknown = Calibration { direct_4k: Err(String::new()), direct_1m: Err(String::new()), ..found };
        assert_eq!((unknown.reads_per_s(), unknown.bytes_per_s(), unknown.latency_s()), (None, None, None));
    }

    #[test]
    fn a_calibration_is_a_table_for_people() {
        let text = example().to_string();
        assert_eq!(text.lines().count(), 9);
        for part in
            ["8:1", "1500 k reads/s", "unknown: no such routine here", "bridges 3000 bytes", "32 a lane"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
