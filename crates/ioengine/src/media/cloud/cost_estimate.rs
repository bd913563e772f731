//! What a request and a byte cost at an endpoint, learned from what a full queue completes. Pure: time is passed in.

use super::concurrency::SENDING;
use crate::CostModel;
use std::time::Duration;

/// The estimate of one endpoint.
///
/// While the queue is full, the time that passes is what requests and bytes cost: `time = requests × a + bytes × b`,
/// whatever it is that is scarce. With idle bandwidth `a` is the latency over the requests under way; on a full link `b` is
/// the inverse of its rate, and `a` next to nothing; where a processor is the limit, `a` is its time for a request.
/// Stretches of [`STRETCH`] completed requests are fitted to that, older ones counting less and less.
///
/// Where all requests are alike a fit cannot tell `a` from `b`. The proportion is then taken from what single requests show:
/// the latency without a queue, and the time that bodies take, each over the requests under way.
#[derive(Debug, Default)]
pub(super) struct CostEstimate {
    stretch: Option<Stretch>,
    fit: Fit,
    /// What a byte takes within one body, in seconds: a moving average.
    body_byte: Option<f64>,
    current: Option<CostModel>,
}

/// A request whose whole answer came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed {
    pub(super) now: Duration,
    pub(super) bytes: usize,
    /// From the first byte of the answer to its last.
    pub(super) body: Duration,
    /// Requests under way, as the first byte came.
    pub(super) in_flight: usize,
    /// Whether the queue was full.
    pub(super) is_full: bool,
    /// Seconds to the first byte when nothing queues.
    pub(super) quickest: f64,
}

#[derive(Debug)]
struct Stretch {
    since: Duration,
    requests: u32,
    bytes: f64,
}

/// Sums over stretches, of requests a second (`u`) and bytes a second (`v`).
#[derive(Debug, Default)]
struct Fit {
    uu: f64,
    uv: f64,
    vv: f64,
    u: f64,
    v: f64,
}

impl CostEstimate {
    /// Costs until they are measured: 256 requests under way that take 10 ms each, on a link of 10 Gbit/s. Gaps of up to
    /// 50 KB are bridged with that: less than a distant store would like, and not so much that a near one is flooded. Chosen,
    /// not measured; a second of reading replaces it.
    pub(super) const START: CostModel = CostModel { request_cost_ns: 40_000.0, byte_cost_ns: 0.8 };

    /// The costs as far as they are known.
    pub(super) fn costs(&self) -> CostModel {
        self.current.unwrap_or(CostEstimate::START)
    }

    /// The costs that were measured, if any were.
    pub(super) fn measured(&self) -> Option<CostModel> {
        self.current
    }

    pub(super) fn completed(&mut self, completed: Completed) {
        let Completed { now, bytes, body, in_flight, is_full, quickest } = completed;
        let bytes = bytes as f64;
        if BODY_BYTES_MIN < bytes {
            let took = body.as_secs_f64() / bytes;
            self.body_byte = Some(self.body_byte.map_or(took, |before| before + 0.05 * (took - before)));
        }
        if !is_full {
            self.stretch = None;
            return;
        }
        // What was completed before a stretch began belongs to the time before it.
        let stretch = match &mut self.stretch {
            Some(stretch) => stretch,
            None => {
                self.stretch = Some(Stretch { since: now, requests: 0, bytes: 0.0 });
                return;
            }
        };
        stretch.requests += 1;
        stretch.bytes += bytes;
        let took = now.saturating_sub(stretch.since);
        if stretch.requests < STRETCH || took < STRETCH_MIN {
            return;
        }
        let seconds = took.as_secs_f64();
        self.fit.add(f64::from(stretch.requests) / seconds, stretch.bytes / seconds);
        self.stretch = Some(Stretch { since: now, requests: 0, bytes: 0.0 });
        let under_way = in_flight.max(1) as f64;
        let start = CostEstimate::START;
        let request = if 0.0 < quickest { quickest / under_way } else { start.request_cost_ns * 1e-9 };
        // Near servers answer before all is under way that seems so: what is scarce then is a processor.
        let request = request.max(SENDING);
        let byte = self.body_byte.map_or(start.byte_cost_ns * 1e-9, |byte| byte / under_way);
        // So are their bodies: few of the requests under way receive any.
        let byte = byte.max(RECEIVING);
        let (request, byte) = self.fit.solve(request.max(1e-9), byte);
        self.current = Some(CostModel {
            request_cost_ns: (request * 1e9).clamp(REQUEST_NS.0, REQUEST_NS.1),
            byte_cost_ns: (byte * 1e9).clamp(BYTE_NS.0, BYTE_NS.1),
        });
    }
}

/// Seconds that a byte takes at the least, on whatever network: over loopback 5.2 GB a second came to a client that throws them
/// away (docs/performance-cloud.md).
const RECEIVING: f64 = 0.2e-9;

/// Completed requests that make one equation.
const STRETCH: u32 = 32;

/// Shortest stretch: below it, when completions are seen is chance.
const STRETCH_MIN: Duration = Duration::from_millis(2);

/// Bodies of less say nothing of what a byte takes: they come with their headers.
const BODY_BYTES_MIN: f64 = 65_536.0;

/// What earlier stretches count for at each new one: the last 100 or so decide.
const KEPT: f64 = 0.99;

/// What the proportion from single requests counts for, in stretches. Small: stretches of mixed sizes differ little in their
/// mean, and must outweigh it (a tenth of a stretch still left a full link's requests at five times their cost in a simulation).
const PRIOR: f64 = 0.02;

/// Bounds of what is believed, in nanoseconds.
const REQUEST_NS: (f64, f64) = (500.0, 10_000_000.0);
const BYTE_NS: (f64, f64) = (0.02, 10_000.0);

/// A cost is at least this part of what single requests show.
const LEAST: f64 = 0.01;

impl Fit {
    fn add(&mut self, u: f64, v: f64) {
        self.uu = KEPT * self.uu + u * u;
        self.uv = KEPT * self.uv + u * v;
        self.vv = KEPT * self.vv + v * v;
        self.u = KEPT * self.u + u;
        self.v = KEPT * self.v + v;
    }

    /// The least squares of `1 = a × u + b × v`, drawn towards the proportion of `a` and `b`.
    fn solve(&self, a: f64, b: f64) -> (f64, f64) {
        // Scaled so that both together explain the time; then each by a factor of its own.
        let together = a * a * self.uu + 2.0 * a * b * self.uv + b * b * self.vv;
        if together <= 0.0 {
            return (a, b);
        }
        let scale = (a * self.u + b * self.v) / together;
        let (a, b) = (a * scale, b * scale);
        let (xx, xy, yy) = (a * a * self.uu + PRIOR, a * b * self.uv, b * b * self.vv + PRIOR);
        let (x, y) = (a * self.u + PRIOR, b * self.v + PRIOR);
        let determinant = xx * yy - xy * xy;
        if determinant <= 0.0 {
            return (a, b);
        }
        let (mut of_a, mut of_b) = ((x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant);
        if of_a < LEAST {
            (of_a, of_b) = (LEAST, ((y - xy * LEAST) / yy).max(LEAST));
        } else if of_b < LEAST {
            (of_a, of_b) = (((x - xy * LEAST) / xx).max(LEAST), LEAST);
        }
        (a * of_a, b * of_b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coalesce::{MergePolicy, Part, Placement, coalesce};
    use crate::random::Random;

    /// What an endpoint of known costs would show: requests of `sizes`, one after the other, at the rate that costs allow.
    fn learned(request: f64, byte: f64, quickest: f64, sizes: impl Fn(&mut Random) -> u64) -> CostModel {
        let (mut estimate, mut random, mut now) = (CostEstimate::default(), Random::new(9), 0.0);
        for _ in 0..20_000 {
            let bytes = sizes(&mut random);
            now += request + byte * bytes as f64;
            let in_flight = 64;
            estimate.completed(Completed {
                now: Duration::from_secs_f64(now),
                bytes: usize::try_from(bytes).unwrap(),
                body: Duration::from_secs_f64(byte * bytes as f64 * f64::from(in_flight)),
                in_flight: 64,
                is_full: true,
                quickest,
            });
        }
        estimate.measured().unwrap()
    }

    fn near(found: f64, wanted: f64, factor: f64) -> bool {
        wanted / factor <= found && found <= wanted * factor
    }

    fn mixed(random: &mut Random) -> u64 {
        if random.chance(300) { 200_000 + random.below(100_000) } else { 4096 + random.below(20_000) }
    }

    #[test]
    fn latency_is_what_a_request_costs_where_bandwidth_is_idle() {
        let costs = learned(0.02 / 64.0, 0.1e-9, 0.02, mixed);
        println!("{costs:?}");
        assert!(near(costs.request_cost_ns, 312_500.0, 1.2), "{costs:?}");
        assert!(costs.byte_cost_ns < 0.3, "{costs:?}");
    }

    /// 1 Gbit/s, full: a request costs some header bytes, although an answer takes 20 ms.
    #[test]
    fn bytes_are_what_costs_on_a_full_link() {
        let costs = learned(5e-6, 8e-9, 0.02, mixed);
        println!("{costs:?}");
        assert!(near(costs.byte_cost_ns, 8.0, 1.2), "{costs:?}");
        assert!(costs.request_cost_ns < 30_000.0, "{costs:?}");
        assert!(costs.gap_bytes_max() < 4096, "{}", costs.gap_bytes_max());
    }

    #[test]
    fn a_busy_processor_makes_requests_dear() {
        let costs = learned(50e-6, 0.2e-9, 0.0003, mixed);
        println!("{costs:?}");
        assert!(near(costs.request_cost_ns, 50_000.0, 1.25), "{costs:?}");
        assert!(near(costs.byte_cost_ns, 0.2, 2.0), "{costs:?}");
    }

    /// Alike requests: time is split as single requests show, and all of it is accounted for.
    #[test]
    fn requests_of_one_size_keep_the_proportion() {
        let costs = learned(0.02 / 64.0, 1e-9, 0.02, |_| 262_144);
        println!("{costs:?}");
        assert!(near(costs.request_cost_ns, 312_500.0, 1.2), "{costs:?}");
        assert!(near(costs.byte_cost_ns, 1.0, 1.3), "{costs:?}");
    }

    /// 1,000 ranges of 4 KiB in each of 100 objects of 64 MB, merged by what was learned so far, at a server next door that has
    /// as many requests as it likes and sends few bodies at once. Returns the seconds that they take, bytes and requests.
    fn read_near(seed: u64, bodies_at_once: f64, known: Option<CostModel>) -> (f64, u64, usize) {
        let (mut estimate, mut random, mut now) = (CostEstimate::default(), Random::new(seed), 0.0);
        let (mut bytes_read, mut requests) = (0, 0);
        for _ in 0..100 {
            let policy = MergePolicy {
                gap_bytes_max: known.unwrap_or_else(|| estimate.costs()).gap_bytes_max(),
                merged_bytes_max: 8 << 20,
                merged_parts_max: 4096,
                split_bytes: 8 << 20,
                bridged: None,
                alignment: 1,
            };
            let part = |read| {
                let offset = random.below(64_000_000 - 4096);
                Part { offset, len: 4096, read, placement: Placement::Buffered }
            };
            let (mut parts, mut reads) = ((0..1000).map(part).collect::<Vec<_>>(), Vec::new());
            coalesce(&mut parts, &policy, &mut reads, &mut Vec::new());
            for read in &reads {
                let bytes = read.range.len_max();
                // Half as long to half as long again: others use the processor too.
                let slow = 0.5 + random.below(1000) as f64 / 1000.0;
                let body = NEXT_DOOR.byte_cost_ns * 1e-9 * bytes as f64 * slow;
                now += NEXT_DOOR.request_cost_ns * 1e-9 * slow + body;
                bytes_read += bytes;
                requests += 1;
                estimate.completed(Completed {
                    now: Duration::from_secs_f64(now),
                    bytes: usize::try_from(bytes).unwrap(),
                    body: Duration::from_secs_f64(body * bodies_at_once),
                    in_flight: 256,
                    is_full: true,
                    quickest: 0.0003,
                });
            }
        }
        (now, bytes_read, requests)
    }

    /// About what an S3 server cost on loopback, both ends on the same cores (docs/decisions/0013-cloud-reads.md).
    const NEXT_DOOR: CostModel = CostModel { request_cost_ns: 35_000.0, byte_cost_ns: 0.45 };

    /// Of requests whose sizes differ little, only what single ones show tells bytes from requests. Bodies that were taken for
    /// hundreds at once cost next to nothing, so that nearly whole objects were read: 12 to 15 times what was wanted.
    #[test]
    fn a_near_store_is_read_as_its_costs_say() {
        for seed in 0..10 {
            for bodies_at_once in [1.0, 2.0, 4.0, 16.0] {
                let (seconds, bytes, requests) = read_near(seed, bodies_at_once, None);
                let (least, best_bytes, best_requests) = read_near(seed, bodies_at_once, Some(NEXT_DOOR));
                println!(
                    "{seed} {bodies_at_once}: {bytes} in {requests}, at best {best_bytes} in {best_requests}"
                );
                assert!(seconds <= 1.1 * least, "{seconds} s where {least} s would do");
                assert!(bytes <= best_bytes * 3 / 2 && best_requests <= requests * 3 / 2);
            }
        }
    }

    #[test]
    fn a_queue_that_is_not_full_teaches_nothing() {
        let mut estimate = CostEstimate::default();
        for step in 0..1000 {
            estimate.completed(Completed {
                now: Duration::from_millis(step),
                bytes: 4096,
                body: Duration::ZERO,
                in_flight: 1,
                is_full: step % 20 != 0,
                quickest: 0.001,
            });
        }
        assert_eq!(estimate.measured(), None);
        assert_eq!(estimate.costs(), CostEstimate::START);
    }
}
