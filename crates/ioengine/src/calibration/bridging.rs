//! The costs of the page cache, from pairs of reads against one read that bridges their gap.
//!
//! They cannot be fitted from reads of different lengths at random places: what such a read costs is mostly its place,
//! which a second one beside it does not pay again (docs/decisions/0001-spike.md).

use super::probe_batch::{Pattern, Probed};
use crate::{CostModel, Engine, Error};
use std::time::{Duration, Instant};

/// Bytes of each read of a pair. Bridging pays further for small ones, so both count.
const LENS: [u64; 2] = [512, 4096];

/// Bytes between the reads of a pair.
const GAPS: [u64; 7] = [0, 512, 1024, 2048, 3072, 4096, 8192];

/// What pairs cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Sample {
    gap: f64,
    separate_ns: f64,
    bridged_ns: f64,
}

/// Measures with an engine that reads each range by itself and one that merges two at most, of a file whose medium says
/// that every gap is worth bridging. The least time of each kind counts: other work only adds.
///
/// # Errors
///
/// As [`Probed::rate`].
pub(super) fn measure(
    probed: &Probed<'_>,
    separate: &Engine,
    bridged: &Engine,
    time: Duration,
) -> Result<Option<CostModel>, Error> {
    let until = Instant::now() + time;
    let mut least = [[[f64::INFINITY; 2]; GAPS.len()]; LENS.len()];
    let mut seed = 0;
    while seed == 0 || Instant::now() < until {
        for (len, least) in LENS.iter().zip(&mut least) {
            for (gap, least) in GAPS.iter().zip(least) {
                for (engine, least) in [separate, bridged].into_iter().zip(least) {
                    let pattern = Pattern::Pair { len: *len, gap: *gap };
                    let soon = Instant::now() + PASS_TIME_MAX;
                    let (places, elapsed) = probed.pass(engine, pattern, seed, soon)?;
                    *least = least.min(elapsed.as_secs_f64() * 1e9 / places.max(1) as f64);
                }
            }
        }
        seed += 1;
    }
    let lanes = separate.config().limits.lanes as f64;
    let samples = least.map(|least| {
        let sample = |(gap, [separate_ns, bridged_ns]): (&u64, [f64; 2])| Sample {
            gap: *gap as f64,
            separate_ns: separate_ns * lanes,
            bridged_ns: bridged_ns * lanes,
        };
        GAPS.iter().zip(least).map(sample).collect::<Vec<_>>()
    });
    Ok(cost(&samples))
}

/// Much longer than a pass over cached bytes takes.
const PASS_TIME_MAX: Duration = Duration::from_millis(30);

/// The cost of a byte is how the time of bridging grows with the gap; that of a request is the bytes of the gap at which
/// bridging stops to pay. `None` where wider gaps cost nothing.
fn cost(series: &[Vec<Sample>]) -> Option<CostModel> {
    let mean = |of: &dyn Fn(&[Sample]) -> f64| {
        series.iter().map(|samples| of(samples)).sum::<f64>() / series.len().max(1) as f64
    };
    let byte_cost_ns = mean(&slope);
    let request_cost_ns = mean(&even_gap) * byte_cost_ns;
    (0.0 < byte_cost_ns && request_cost_ns.is_finite()).then_some(CostModel { request_cost_ns, byte_cost_ns })
}

/// The gap at which both ways cost the same, between the last that pays and the next: zero where none pays, and the
/// widest where all do.
fn even_gap(samples: &[Sample]) -> f64 {
    let loss = |sample: &Sample| sample.bridged_ns - sample.separate_ns;
    let Some(over) = samples.iter().position(|sample| 0.0 < loss(sample)) else {
        return samples.last().map_or(0.0, |last| last.gap);
    };
    let Some(before) = over.checked_sub(1).and_then(|before| samples.get(before)) else { return 0.0 };
    let (gain, loss) = (-loss(before), loss(&samples[over]));
    before.gap + (samples[over].gap - before.gap) * gain / (gain + loss)
}

/// Nanoseconds that a byte of the gap costs, by least squares.
fn slope(samples: &[Sample]) -> f64 {
    let count = samples.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (gap, time) = (mean(&|sample| sample.gap), mean(&|sample| sample.bridged_ns));
    let along = |sample: &Sample| (sample.gap - gap) * (sample.bridged_ns - time);
    let across: f64 = samples.iter().map(|sample| (sample.gap - gap).powi(2)).sum();
    samples.iter().map(along).sum::<f64>() / across.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(request_ns: f64, byte_ns: f64) -> Vec<Sample> {
        let sample = |gap: &u64| {
            let gap = *gap as f64;
            Sample { gap, separate_ns: 500.0 + request_ns, bridged_ns: 500.0 + gap * byte_ns }
        };
        GAPS.iter().map(sample).collect()
    }

    #[test]
    fn calibration_finds_the_costs_that_made_the_times() {
        let cost = cost(&[samples(200.0, 0.1), samples(200.0, 0.1)]).unwrap();
        assert!((cost.request_cost_ns - 200.0).abs() < 1e-6 && (cost.byte_cost_ns - 0.1).abs() < 1e-9);
        assert_eq!(cost.gap_bytes_max(), 2000);
    }

    #[test]
    fn calibration_stays_within_the_gaps_that_it_looked_at() {
        assert_eq!(cost(&[samples(-1.0, 0.1)]).unwrap().request_cost_ns, 0.0);
        assert!((cost(&[samples(1e6, 0.1)]).unwrap().request_cost_ns - 819.2).abs() < 1e-6);
        assert_eq!(cost(&[samples(200.0, 0.0)]), None);
        assert_eq!(cost(&[]), None);
    }
}
