//! The limit against simulated servers, under a clock of the test's own.

use super::{Answered, Bounds, Concurrency, Usage};
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

const BOUNDS: Bounds = Bounds { min: 8, initial: 64, max: 1024 };

/// A server that a closed loop of requests runs against.
#[derive(Clone, Copy)]
struct Server {
    /// What an answer takes at least.
    latency: f64,
    /// Answers a second that it gives at most, all connections together; nothing waits where that is infinite.
    rate: f64,
    /// Requests under way beyond which it answers 503.
    throttles_at: usize,
    /// Requests that the client wants under way.
    demand: usize,
}

/// Runs for a while and returns the limit at the end, the least and the most of the second half, and answers a second there.
fn run(server: Server, seconds: f64, seed: u64) -> (Concurrency, usize, usize, f64) {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut concurrency = Concurrency::new(BOUNDS);
    let mut under_way: BinaryHeap<Reverse<(Duration, Duration, bool)>> = BinaryHeap::new();
    let (mut now, mut server_free) = (0.0f64, 0.0f64);
    let (mut least, mut most, mut answers) = (usize::MAX, 0, 0u32);
    while now < seconds {
        while under_way.len() < concurrency.limit().min(server.demand) {
            let refused = server.throttles_at <= under_way.len();
            let jitter = 1.0 + 0.1 * (random.below(1000) as f64 / 1000.0);
            server_free = server_free.max(now) + if refused { 0.0 } else { 1.0 / server.rate };
            let done = if refused { now + server.latency } else { server_free + server.latency * jitter };
            under_way.push(Reverse((Duration::from_secs_f64(done), Duration::from_secs_f64(now), refused)));
        }
        let full = concurrency.limit() * 4 <= under_way.len() * 5;
        let Reverse((done, started, refused)) = under_way.pop().unwrap();
        now = done.as_secs_f64();
        if refused {
            concurrency.throttled(started, done);
        } else {
            let usage = if full { Usage::Full } else { Usage::Partial };
            concurrency.answered(Answered { started, now: done, usage });
        }
        if seconds / 2.0 < now {
            least = least.min(concurrency.limit());
            most = most.max(concurrency.limit());
            answers += u32::from(!refused);
        }
    }
    let rate = f64::from(answers) / (seconds / 2.0);
    (concurrency, least, most, rate)
}

const PLAIN: Server =
    Server { latency: 0.02, rate: f64::INFINITY, throttles_at: usize::MAX, demand: usize::MAX };

#[test]
fn a_server_without_a_bound_is_asked_for_all_that_is_allowed() {
    let (concurrency, ..) = run(PLAIN, 2.0, 1);
    assert_eq!(concurrency.limit(), BOUNDS.max);
}

#[test]
fn a_limit_that_is_not_used_does_not_grow() {
    let (concurrency, ..) = run(Server { demand: 20, ..PLAIN }, 10.0, 2);
    assert_eq!(concurrency.limit(), BOUNDS.initial);
}

/// 5,000 answers a second of 20 ms each: 100 under way are enough, and beyond some hundred they only wait.
#[test]
fn a_server_with_a_bound_is_kept_busy_and_not_flooded() {
    for (rate, latency) in [(5000.0, 0.02), (1000.0, 0.05), (40_000.0, 0.001)] {
        let (_, least, most, answers) = run(Server { rate, latency, ..PLAIN }, 120.0, 3);
        let enough = rate * latency;
        println!("rate {rate}, latency {latency}: {least}..{most}, {answers} answers a second");
        assert!(0.95 * rate <= answers, "{answers} of {rate}");
        let queue = 4.5 * enough + rate * 0.012;
        assert!((most as f64) < queue.max(70.0), "{most} under way, where {enough} are enough");
    }
}

#[test]
fn a_server_that_throttles_is_asked_for_about_what_it_takes() {
    let (_, least, most, answers) = run(Server { throttles_at: 200, ..PLAIN }, 30.0, 4);
    println!("{least}..{most}, {answers} answers a second");
    assert!(100 <= least && most <= 300, "{least}..{most}");
    assert!(0.7 * 200.0 / 0.021 <= answers, "{answers}");
}

#[test]
fn the_limit_stays_within_its_bounds() {
    let (_, least, _, _) = run(Server { throttles_at: 1, ..PLAIN }, 5.0, 5);
    assert_eq!(least, BOUNDS.min);
}

/// A longer way to the server, from some moment on, is not taken for a queue for ever.
#[test]
fn what_answers_take_is_learned_anew() {
    let mut concurrency = Concurrency::new(BOUNDS);
    let mut clock = 0.0;
    let mut answer = |concurrency: &mut Concurrency, latency: f64| {
        for _ in 0..concurrency.limit() {
            let started = Duration::from_secs_f64(clock);
            let now = Duration::from_secs_f64(clock + latency);
            concurrency.answered(Answered { started, now, usage: Usage::Full });
        }
        clock += latency;
    };
    (0..100).for_each(|_| answer(&mut concurrency, 0.01));
    assert_eq!(concurrency.limit(), BOUNDS.max);
    (0..2000).for_each(|_| answer(&mut concurrency, 0.1));
    assert_eq!(concurrency.limit(), BOUNDS.max);
    assert!(!concurrency.is_queueing());
}

/// A server that asks for fewer requests while the limit is a quarter gets fewer afterwards too.
#[test]
fn what_shrinks_during_a_probe_stays() {
    let mut concurrency = Concurrency::new(BOUNDS);
    let at = Duration::from_secs;
    let usage = Usage::Partial;
    concurrency.answered(Answered { started: at(0), now: Duration::from_millis(10), usage });
    concurrency.answered(Answered { started: at(40), now: at(40) + Duration::from_millis(50), usage });
    assert_eq!(concurrency.limit(), BOUNDS.initial / 4);
    concurrency.throttled(at(41), at(42));
    concurrency.answered(Answered { started: at(43), now: at(44), usage });
    assert_eq!(concurrency.limit(), 44);
}
