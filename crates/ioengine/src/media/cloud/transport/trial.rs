//! Which HTTP is faster with one server: a short measurement on the requests that are made anyway.

use std::time::{Duration, Instant};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Each protocol has two turns, so that a load which grows or fades meanwhile favours neither.
const TURNS: [Protocol; 4] = [Protocol::Http2, Protocol::Http1, Protocol::Http2, Protocol::Http1];

/// Requests in flight from which time counts: below, no protocol is put to the test.
const FLYING_MIN: usize = 8;

/// Requests at the start of a turn that are not counted: connections are opened meanwhile, and the last turn's end.
const WARM_UP: usize = 32;

/// Counted requests of a turn.
const REQUESTS: usize = 128;

/// A turn of large bodies ends after this time too, given so many requests.
const TURN_TIME: Duration = Duration::from_secs(5);
const REQUESTS_MIN: usize = 16;

/// What a request is worth beside its bytes, so that many small answers count as work as few large ones do.
const REQUEST_BYTES: u64 = 16 << 10;

/// Requests of one protocol that may break in a row before it is suspected.
const FAILURES_MAX: usize = 8;

/// HTTP/2 is taken when it is faster by this much, in percent: with equal speed, connections that do not wait for each
/// other's lost packets are preferred.
const ADVANTAGE_PERCENT: u32 = 5;

/// A measurement in progress. Pure: told of requests as they begin and end, with the time.
///
/// A protocol whose requests break one after the other is left for the other one, but not before that is seen to work, and the
/// first one to break after that too: in an outage all break, by whatever protocol, and nothing is decided.
#[derive(Debug)]
pub(super) struct Trial {
    stage: Stage,
    /// Stages before this one.
    turn: usize,
    /// Requests of this turn in flight.
    flying: usize,
    /// Answers of this turn.
    landed: usize,
    counted: usize,
    turn_busy: Duration,
    changed: Instant,
    scores: [Score; 2],
    failures: usize,
}

/// What a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The measurement, by the protocol of this place in [`TURNS`].
    Measuring(usize),
    /// This protocol broke: does the other one work?
    Doubting(Protocol),
    /// This protocol broke, and then the other one worked: does this one break still?
    Asking(Protocol),
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    work: u64,
    busy: Duration,
}

/// The turn that a request was begun in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(usize);

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    /// With a body of so many bytes.
    Whole(u64),
    Broken,
    /// The caller gave it up.
    Dropped,
}

impl Trial {
    pub(super) fn new(now: Instant) -> Trial {
        Trial {
            stage: Stage::Measuring(0),
            turn: 0,
            flying: 0,
            landed: 0,
            counted: 0,
            turn_busy: Duration::ZERO,
            changed: now,
            scores: [Score::default(); 2],
            failures: 0,
        }
    }

    /// A request begins: by which protocol.
    pub(super) fn begin(&mut self, now: Instant) -> (Protocol, Turn) {
        self.pass(now);
        self.flying += 1;
        (self.protocol(), Turn(self.turn))
    }

    /// A request ended. Returns the protocol to keep, once that is known.
    pub(super) fn end(&mut self, turn: Turn, landing: Landing, now: Instant) -> Option<Protocol> {
        if turn.0 != self.turn {
            return None;
        }
        self.pass(now);
        match landing {
            Landing::Whole(bytes) => self.count(bytes),
            Landing::Broken => self.failures += 1,
            Landing::Dropped => {}
        }
        self.flying = self.flying.saturating_sub(1);
        let has_answered = matches!(landing, Landing::Whole(_));
        let is_broken = FAILURES_MAX <= self.failures;
        match self.stage {
            Stage::Measuring(_) if is_broken => self.next_turn(Stage::Doubting(self.protocol())),
            Stage::Measuring(place) if self.turn_is_over() => {
                if TURNS.len() <= place + 1 {
                    return Some(self.better());
                }
                self.next_turn(Stage::Measuring(place + 1));
            }
            Stage::Doubting(suspect) if has_answered => self.next_turn(Stage::Asking(suspect)),
            Stage::Asking(suspect) if is_broken => return Some(suspect.other()),
            // All was broken for a while, or is still.
            Stage::Doubting(_) if is_broken => self.start_over(),
            Stage::Asking(_) if has_answered => self.start_over(),
            Stage::Measuring(_) | Stage::Doubting(_) | Stage::Asking(_) => {}
        }
        None
    }

    fn protocol(&self) -> Protocol {
        match self.stage {
            Stage::Measuring(place) => TURNS.get(place).copied().unwrap_or(Protocol::Http1),
            Stage::Doubting(suspect) => suspect.other(),
            Stage::Asking(suspect) => suspect,
        }
    }

    fn is_counting(&self) -> bool {
        let measures = matches!(self.stage, Stage::Measuring(_));
        measures && FLYING_MIN <= self.flying && WARM_UP <= self.landed
    }

    /// Adds the time since the last event, if it counts.
    fn pass(&mut self, now: Instant) {
        if self.is_counting() {
            let passed = now.saturating_duration_since(self.changed);
            self.turn_busy += passed;
            self.score().busy += passed;
        }
        self.changed = now;
    }

    fn count(&mut self, bytes: u64) {
        if self.is_counting() {
            self.counted += 1;
            let score = self.score();
            score.work = score.work.saturating_add(bytes).saturating_add(REQUEST_BYTES);
        }
        self.landed += 1;
        self.failures = 0;
    }

    fn score(&mut self) -> &mut Score {
        let protocol = self.protocol();
        let [http1, http2] = &mut self.scores;
        match protocol {
            Protocol::Http1 => http1,
            Protocol::Http2 => http2,
        }
    }

    fn turn_is_over(&self) -> bool {
        REQUESTS <= self.counted || (TURN_TIME <= self.turn_busy && REQUESTS_MIN <= self.counted)
    }

    fn start_over(&mut self) {
        self.scores = [Score::default(); 2];
        self.next_turn(Stage::Measuring(0));
    }

    fn next_turn(&mut self, stage: Stage) {
        self.stage = stage;
        self.turn += 1;
        self.flying = 0;
        self.landed = 0;
        self.counted = 0;
        self.turn_busy = Duration::ZERO;
        self.failures = 0;
    }

    fn better(&self) -> Protocol {
        let [http1, http2] = self.scores.map(Score::rate);
        if http1 * (1.0 + f64::from(ADVANTAGE_PERCENT) / 100.0) < http2 {
            Protocol::Http2
        } else {
            Protocol::Http1
        }
    }
}

impl Protocol {
    fn other(self) -> Protocol {
        match self {
            Protocol::Http1 => Protocol::Http2,
            Protocol::Http2 => Protocol::Http1,
        }
    }
}

impl Score {
    /// Work a second.
    #[expect(clippy::cast_precision_loss, reason = "a rate to compare, not a count")]
    fn rate(self) -> f64 {
        self.work as f64 / self.busy.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Runs `in_flight` requests at a time through a trial; answers come `http1` or `http2` apart.
    fn run(in_flight: usize, http1: Duration, http2: Duration, landing: Landing) -> Option<Protocol> {
        let mut now = Instant::now();
        let mut trial = Trial::new(now);
        let mut flying = VecDeque::new();
        for _ in 0..10_000 {
            while flying.len() < in_flight {
                flying.push_back(trial.begin(now));
            }
            let (protocol, turn) = flying.pop_front().unwrap();
            now += if protocol == Protocol::Http2 { http2 } else { http1 };
            if let Some(decided) = trial.end(turn, landing, now) {
                return Some(decided);
            }
        }
        None
    }

    #[test]
    fn the_faster_is_kept_and_http1_where_they_are_equal() {
        let (slow, fast) = (Duration::from_micros(200), Duration::from_micros(100));
        assert_eq!(run(16, slow, fast, Landing::Whole(4096)), Some(Protocol::Http2));
        assert_eq!(run(16, fast, slow, Landing::Whole(4096)), Some(Protocol::Http1));
        assert_eq!(run(16, fast, fast, Landing::Whole(4096)), Some(Protocol::Http1));
    }

    #[test]
    fn a_load_too_small_decides_nothing() {
        let time = Duration::from_micros(100);
        assert_eq!(run(FLYING_MIN - 1, time, time, Landing::Whole(1)), None);
        assert_eq!(run(64, time, time, Landing::Dropped), None);
    }

    /// Runs 16 requests at a time, each of which breaks where `breaks` says so of its number and protocol. What is decided, and
    /// after how many requests.
    fn run_breaking(breaks: impl Fn(usize, Protocol) -> bool) -> Option<(Protocol, usize)> {
        let (mut now, mut flying) = (Instant::now(), VecDeque::new());
        let mut trial = Trial::new(now);
        for number in 0..20_000 {
            while flying.len() < 16 {
                flying.push_back(trial.begin(now));
            }
            let (protocol, turn) = flying.pop_front().unwrap();
            now += Duration::from_micros(if protocol == Protocol::Http2 { 100 } else { 200 });
            let landing = if breaks(number, protocol) { Landing::Broken } else { Landing::Whole(1) };
            if let Some(decided) = trial.end(turn, landing, now) {
                return Some((decided, number));
            }
        }
        None
    }

    #[test]
    fn a_protocol_that_breaks_is_left_soon() {
        for broken in [Protocol::Http1, Protocol::Http2] {
            let (decided, number) = run_breaking(|_, protocol| protocol == broken).unwrap();
            assert_eq!(decided, broken.other());
            assert!(number < 400, "{number}");
        }
    }

    /// HTTP/2 is twice as fast. All requests break for a while, whenever that begins and ends, or for good.
    #[test]
    fn an_outage_decides_nothing() {
        assert_eq!(run_breaking(|_, _| true), None);
        for begin in (0..700).step_by(7) {
            for len in [1, 5, 8, 9, 16, 24, 31, 40, 64, 100, 1000] {
                let outage = begin..begin + len;
                let decided = run_breaking(|number, _| outage.contains(&number)).unwrap();
                assert_eq!(decided.0, Protocol::Http2, "{outage:?}");
            }
        }
    }

    #[test]
    fn large_bodies_end_a_turn_by_time() {
        let (slow, fast) = (Duration::from_secs(2), Duration::from_secs(1));
        assert_eq!(run(16, slow, fast, Landing::Whole(1 << 26)), Some(Protocol::Http2));
    }
}
