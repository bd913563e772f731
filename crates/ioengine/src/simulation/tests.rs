//! That the lanes fill devices, that arithmetic says why where they do not, and that nobody starves.

use super::{
    DeviceModel, LaneCosts, Limit, Report, SCATTERED_GAP_BYTES, Scenario, Slowdown, Workload, simulate,
};
use crate::Limits;

/// 0.1 million reads a second, 1 million, 5 million, and 14 GB/s.
fn devices() -> [DeviceModel; 4] {
    [
        DeviceModel::new(0.1e6, 0.55e9, 90_000, 60_000),
        DeviceModel::new(1e6, 7e9, 70_000, 30_000),
        DeviceModel::new(5e6, 28e9, 70_000, 30_000),
        wide(),
    ]
}

fn wide() -> DeviceModel {
    DeviceModel::new(2.5e6, 14e9, 60_000, 20_000)
}

fn scenario(device: DeviceModel, lanes: usize, workload: Workload) -> Scenario {
    let limits = Limits { lanes, ..Limits::default() };
    Scenario { device, costs: LaneCosts::DIRECT, limits, workload, wake_reads: 1, seed: 1 }
}

/// Simulates, and checks what holds of every scenario: no limit is passed, and the budget least of all.
fn check(scenario: &Scenario) -> Report {
    let report = simulate(scenario).unwrap();
    let least = scenario.bounds()[0];
    assert!(
        report.reads_per_second <= 1.04 * least.reads_per_second,
        "{} reads a second, where {least:?}: {scenario:?}",
        report.reads_per_second
    );
    assert!(report.bytes_in_flight_max <= scenario.limits.in_flight_bytes_max, "{report:?}");
    report
}

/// Enough reads that each lane fills its queue several times.
fn reads(lanes: usize, depth: usize) -> u64 {
    (lanes * depth * 5).clamp(2000, 41_000) as u64
}

#[test]
fn the_least_of_the_limits_is_reached() {
    for device in devices() {
        for lanes in [1, 4, 16, 64] {
            for local_depth in [8, 32, 128] {
                let count = reads(lanes, local_depth.max(32));
                let mut scenario = scenario(device, lanes, Workload::scattered(4096, count));
                scenario.limits.local_depth = local_depth;
                // So many windows that every lane has its share.
                scenario.workload.window_reads = 16;
                scenario.workload.windows = count / 16;
                let (report, least) = (check(&scenario), scenario.bounds()[0]);
                assert!(
                    0.85 * least.reads_per_second < report.reads_per_second,
                    "{lanes} lanes at depth {local_depth} read {}, where {least:?}",
                    report.reads_per_second
                );
            }
        }
    }
}

#[test]
fn default_limits_fill_every_device_that_the_lanes_have_time_for() {
    let [slow, usual, set, wide] = devices();
    for (device, read_bytes) in [
        (slow, 4 << 10),
        (usual, 4 << 10),
        (set, 4 << 10),
        (wide, 4 << 10),
        (wide, 64 << 10),
        (wide, 1 << 20),
    ] {
        for lanes in [1, 4, 16, 64] {
            // Few large reads fit the budget.
            let depth = if read_bytes == 1 << 20 { 4 } else { 128 };
            let scenario = scenario(device, lanes, Workload::scattered(read_bytes, reads(lanes, depth)));
            let lane_time = scenario.bounds().into_iter().find(|bound| bound.limit == Limit::LaneTime);
            let device_rate = scenario.device_reads_per_second();
            if 1.2 * device_rate < lane_time.unwrap().reads_per_second {
                let rate = check(&scenario).reads_per_second;
                assert!(
                    0.95 * device_rate < rate,
                    "{lanes} lanes read {rate} of {read_bytes} bytes: {device:?}"
                );
            }
        }
    }
}

/// Volumes that a network attaches: depth and what the buffer pool holds are the limits, and no other.
#[test]
fn devices_of_a_millisecond_are_filled_as_far_as_depth_and_pool_go() {
    let volume = DeviceModel::new(0.256e6, 4e9, 1_000_000, 500_000);
    for lanes in [1, 2, 4, 16] {
        let small = scenario(volume, lanes, Workload::scattered(4096, reads(lanes, 128)));
        let (rate, least) = (check(&small).reads_per_second, small.bounds()[0]);
        assert!(0.9 * least.reads_per_second < rate, "{lanes} lanes: {rate} of {least:?}");
        let large = scenario(volume, lanes, Workload::scattered(1 << 20, 2000));
        let (rate, device) = (check(&large).reads_per_second, large.device_reads_per_second());
        assert!(0.97 * device < rate, "{lanes} lanes: {rate} of {device}");
    }
    // 16 MiB in flight, and 4 GB/s for 5 ms are 20 MB.
    let far = DeviceModel::new(0.05e6, 4e9, 4_000_000, 2_000_000);
    let large = scenario(far, 1, Workload::scattered(1 << 20, 2000));
    let (rate, least) = (check(&large).reads_per_second, large.bounds()[0]);
    assert_eq!(least.limit, Limit::ByteBudget);
    assert!(0.85 * least.reads_per_second < rate, "{rate} of {least:?}");
}

#[test]
fn each_limit_binds_where_it_should() {
    let [slow, usual, set, wide] = devices();
    let narrow = DeviceModel { parallel_reads: 16, ..usual };
    let shallow = Limits { local_depth: 8, lanes: 2, ..Limits::default() };
    let poor = Limits { in_flight_bytes_max: 3 << 20, lanes: 1, ..Limits::default() };
    let small = |count| Workload::scattered(4096, count);
    for (limit, scenario) in [
        (Limit::DeviceReads, scenario(slow, 2, small(4000))),
        (Limit::DeviceBytes, scenario(wide, 8, Workload::scattered(1 << 20, 2000))),
        (Limit::DeviceParallelism, scenario(narrow, 4, small(8000))),
        (Limit::LaneTime, scenario(set, 2, small(8000))),
        (Limit::Depth, Scenario { limits: shallow, ..scenario(set, 2, small(8000)) }),
        (
            Limit::ByteBudget,
            Scenario { limits: poor, ..scenario(wide, 1, Workload::scattered(900 << 10, 600)) },
        ),
    ] {
        let least = scenario.bounds()[0];
        assert_eq!(least.limit, limit, "{:?}", scenario.bounds());
        let rate = check(&scenario).reads_per_second;
        assert!(0.85 * least.reads_per_second < rate, "{limit:?}: {rate} of {}", least.reads_per_second);
    }
}

#[test]
fn merging_passes_the_devices_reads_a_second() {
    let device = DeviceModel::new(0.1e6, 0.55e9, 90_000, 60_000);
    let report = check(&scenario(device, 2, Workload::spread(512, 512, 50_000)));
    assert!(4.0 * device.reads_per_second < report.reads_per_second, "{report:?}");
    assert!(report.device_reads_per_second < device.reads_per_second);
    // The gap costs more than another read.
    let apart = scenario(device, 2, Workload::spread(512, 8192, 10_000));
    assert!(check(&apart).reads_per_second <= 1.01 * device.reads_per_second);
}

#[test]
fn mixed_lengths_fill_the_bandwidth_and_share_the_budget() {
    for lanes in [1, 8, 64] {
        let mut scenario = scenario(wide(), lanes, Workload::scattered(256 << 10, 6000));
        scenario.workload.read_bytes = vec![4 << 10, 8 << 10, 32 << 10, 128 << 10, 1 << 20];
        scenario.workload.window_reads = 8;
        scenario.workload.windows = 1500;
        let report = simulate(&scenario).unwrap();
        assert!(0.97 * scenario.device.bytes_per_second < report.device_bytes_per_second, "{report:?}");
        assert!(report.bytes_in_flight_max <= scenario.limits.in_flight_bytes_max, "{report:?}");
        assert!(0.6 < report.slowest_lane, "{lanes} lanes: {report:?}");
    }
}

#[test]
fn no_lane_and_no_batch_starves() {
    for lanes in [2, 8, 64] {
        let mut scenario = scenario(devices()[1], lanes, Workload::scattered(4096, 6000));
        scenario.workload.window_reads = 32;
        scenario.workload.windows = 200;
        scenario.workload.batches = 8;
        let report = check(&scenario);
        assert!(0.9 < report.slowest_lane, "{lanes} lanes: {report:?}");
        assert!(report.longest_batch < 1.1, "{lanes} lanes: {report:?}");
    }
}

/// Large reads of many lanes go one by one where one of them is more than a lane's share of the budget, and decode one by
/// one, too. A budget in step with the lanes keeps them apart: see docs/decisions/0009-scaling.md.
#[test]
fn a_read_larger_than_a_lanes_share_is_read_alone() {
    let mut scenario = scenario(wide(), 32, Workload::scattered(1 << 20, 800));
    scenario.limits.in_flight_bytes_max = 32 << 20;
    scenario.costs.byte_ns = 1.0;
    let (alone, device) = (check(&scenario), scenario.device_reads_per_second());
    assert_eq!(scenario.bounds()[0].limit, Limit::ByteBudget);
    assert!(alone.reads_per_second < 0.1 * device, "{alone:?}");
    // They take turns, and nobody wakes up whose turn it is not.
    assert!(0.8 < alone.slowest_lane, "{alone:?}");
    assert!(alone.wakes_per_read < 2.2, "{alone:?}");
    scenario.limits.in_flight_bytes_max = 33 * (2 << 20);
    let shared = check(&scenario);
    assert!(0.95 * device < shared.reads_per_second, "{shared:?}");
    assert!(0.8 < shared.slowest_lane, "{shared:?}");
}

#[test]
fn a_device_that_gets_slower_is_waited_for() {
    for factor in [3.0, 1000.0] {
        let usual = devices()[1];
        let slowdown = Some(Slowdown { after_ns: 5_000_000, factor });
        let scenario = scenario(DeviceModel { slowdown, ..usual }, 8, Workload::scattered(4096, 20_000));
        let report = simulate(&scenario).unwrap();
        // About 5,000 reads at full speed, the others at the lower one.
        let wanted_ns = 5e6 + 15_000.0 * factor * 1000.0;
        let took = report.elapsed_ns as f64 / wanted_ns;
        assert!((0.85..1.15).contains(&took), "factor {factor}: {took} of what it should take");
    }
}

#[test]
fn sleeping_for_several_completions_saves_wake_ups_and_no_rate() {
    let one = scenario(devices()[1], 8, Workload::scattered(4096, 20_000));
    let several = Scenario { wake_reads: 16, ..one.clone() };
    let (one, several) = (check(&one), check(&several));
    assert!(several.wakes_per_read < 0.2 * one.wakes_per_read, "{one:?} {several:?}");
    assert!(several.lane_busy < one.lane_busy);
    assert!(0.98 * one.reads_per_second < several.reads_per_second);
}

#[test]
fn equal_seeds_come_to_equal_reports() {
    let mut scenario = scenario(devices()[1], 3, Workload::spread(700, SCATTERED_GAP_BYTES, 5000));
    let first = simulate(&scenario).unwrap();
    assert_eq!(simulate(&scenario).unwrap(), first);
    scenario.seed = 2;
    assert_ne!(simulate(&scenario).unwrap(), first);
}
