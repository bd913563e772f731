//! Which devices the lanes fill, and what stops them where they do not: simulated, so that it needs none of them.
//!
//! `cargo run --release -p swath-ioengine --features simulation --example devices [all]`. Reads of devices cost lanes
//! what O_DIRECT costs them. The last tables show bounds beside the defaults: the depth a lane, the byte budget, and how
//! many completions a lane sleeps for.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example for people")]

use swath_ioengine::Limits;
use swath_ioengine::simulation::{DeviceModel, LaneCosts, Scenario, Workload, simulate};

const LANES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

fn main() {
    let all = std::env::args().nth(1).is_some();
    for case in cases() {
        table(case.name);
        for lanes in LANES {
            for local_depth in [8, 32, 64, 128, 512] {
                // The defaults, and what they are chosen from.
                if all || local_depth == Limits::default().local_depth {
                    line(&scenario(&case, Limits { lanes, local_depth, ..Limits::default() }));
                }
            }
        }
    }
    table("14 GB/s: 8 MiB, decoded at 1 GB/s a lane, budgets of 256 MiB to 2 GiB");
    for lanes in [16, 32, 64] {
        for in_flight_bytes_max in [256 << 20, 512 << 20, 1 << 30, 2 << 30] {
            let case = Case { name: "", device: wide(), read_bytes: &[8 << 20], gap_bytes: FAR };
            let costs = LaneCosts { byte_ns: 1.0, ..LaneCosts::DIRECT };
            line(&Scenario {
                costs,
                ..scenario(&case, Limits { lanes, in_flight_bytes_max, ..Limits::default() })
            });
        }
    }
    table("1 M reads/s: 4 KiB, sleeping for 1, 4 and 16 completions");
    for lanes in [4, 16, 64] {
        for wake_reads in [1, 4, 16] {
            let case = Case { name: "", device: usual(), read_bytes: &[4096], gap_bytes: FAR };
            line(&Scenario { wake_reads, ..scenario(&case, Limits { lanes, ..Limits::default() }) });
        }
    }
}

const FAR: u64 = swath_ioengine::simulation::SCATTERED_GAP_BYTES;

/// A device, and reads of it.
struct Case {
    name: &'static str,
    device: DeviceModel,
    read_bytes: &'static [u64],
    gap_bytes: u64,
}

fn usual() -> DeviceModel {
    DeviceModel::new(1e6, 7e9, 70_000, 30_000)
}

fn wide() -> DeviceModel {
    DeviceModel::new(2.5e6, 14e9, 60_000, 20_000)
}

/// Volumes that a network attaches: as cloud providers state theirs, by reads and bytes a second, with latencies of 1 ms
/// and more.
fn volume() -> DeviceModel {
    DeviceModel::new(0.064e6, 1e9, 700_000, 600_000)
}

fn fast_volume() -> DeviceModel {
    DeviceModel::new(0.256e6, 4e9, 1_000_000, 500_000)
}

fn far_volume() -> DeviceModel {
    DeviceModel::new(0.05e6, 4e9, 4_000_000, 2_000_000)
}

/// Devices of 0.1, 1 and 5 million reads a second, one of 14 GB/s, and volumes that a network attaches.
fn cases() -> Vec<Case> {
    let slow = DeviceModel::new(0.1e6, 0.55e9, 90_000, 60_000);
    let set = DeviceModel::new(5e6, 28e9, 70_000, 30_000);
    let far = |name, device, read_bytes| Case { name, device, read_bytes, gap_bytes: FAR };
    vec![
        far("0.1 M reads/s, 0.55 GB/s: 4 KiB", slow, &[4096]),
        far("1 M reads/s, 7 GB/s: 4 KiB", usual(), &[4096]),
        far("5 M reads/s, 28 GB/s: 4 KiB", set, &[4096]),
        far("14 GB/s: 64 KiB", wide(), &[64 << 10]),
        far("14 GB/s: 1 MiB", wide(), &[1 << 20]),
        far("14 GB/s: 8 MiB", wide(), &[8 << 20]),
        far("14 GB/s: mixed 4 KiB to 1 MiB", wide(), &[4 << 10, 8 << 10, 32 << 10, 128 << 10, 1 << 20]),
        far("0.064 M reads/s, 1 GB/s, 1 ms: 4 KiB", volume(), &[4096]),
        far("0.064 M reads/s, 1 GB/s, 1 ms: 1 MiB", volume(), &[1 << 20]),
        far("0.256 M reads/s, 4 GB/s, 1.25 ms: 4 KiB", fast_volume(), &[4096]),
        far("0.256 M reads/s, 4 GB/s, 1.25 ms: 64 KiB", fast_volume(), &[64 << 10]),
        far("0.256 M reads/s, 4 GB/s, 1.25 ms: 1 MiB", fast_volume(), &[1 << 20]),
        far("0.05 M reads/s, 4 GB/s, 5 ms: 4 KiB", far_volume(), &[4096]),
        far("0.05 M reads/s, 4 GB/s, 5 ms: 1 MiB", far_volume(), &[1 << 20]),
        Case { name: "14 GB/s: 1 KiB, gaps of 3 KiB", device: wide(), read_bytes: &[1024], gap_bytes: 3072 },
    ]
}

fn scenario(case: &Case, limits: Limits) -> Scenario {
    let lanes = limits.lanes as u64;
    let read_bytes = case.read_bytes.iter().sum::<u64>() / case.read_bytes.len() as u64;
    // Enough that each lane fills its queue several times.
    let bytes_enough = (lanes << 28).min(8 << 30);
    let reads = (bytes_enough / (read_bytes + case.gap_bytes.min(4096)))
        .clamp(2000, 6000 * lanes.max(8))
        .min(200_000);
    let mut workload = Workload::spread(read_bytes, case.gap_bytes, reads);
    workload.read_bytes = case.read_bytes.to_vec();
    Scenario { device: case.device, costs: LaneCosts::DIRECT, limits, workload, wake_reads: 1, seed: 1 }
}

fn table(name: &str) {
    println!(
        "\n{name}\nlanes depth  MiB wake |  reads/s  of device  of least | at device  busy  reads/flush  wakes/read  slowest lane | least limits"
    );
}

fn line(scenario: &Scenario) {
    let report = simulate(scenario).unwrap();
    let bounds = scenario.bounds();
    println!(
        "{:>5} {:>5} {:>4} {:>4} | {:>8.0} {:>9.0}% {:>8.0}% | {:>9.0} {:>4.0}% {:>12.1} {:>11.2} {:>12.0}% | {:?} {:.0}, {:?} {:.0}",
        scenario.limits.lanes,
        scenario.limits.local_depth,
        scenario.limits.in_flight_bytes_max >> 20,
        scenario.wake_reads,
        report.reads_per_second,
        100.0 * report.reads_per_second / scenario.device_reads_per_second(),
        100.0 * report.reads_per_second / bounds[0].reads_per_second,
        report.at_device_mean,
        100.0 * report.lane_busy,
        report.reads_per_flush,
        report.wakes_per_read,
        100.0 * report.slowest_lane,
        bounds[0].limit,
        bounds[0].reads_per_second,
        bounds[1].limit,
        bounds[1].reads_per_second,
    );
}
