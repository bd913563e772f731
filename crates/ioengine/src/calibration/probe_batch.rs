//! Random reads of one file, as many as a time allows.

use crate::batch::{Arrival, Batch, Estimate, LaneContext, PlanContext};
use crate::engine::lock;
use crate::random::Random;
use crate::window::{Cursor, Planned, Token, Window};
use crate::{ByteRange, Engine, Error, ObjectRef, RunOptions};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is read at each random place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pattern {
    /// A range of so many bytes, at a multiple of them.
    Single(u64),
    /// Two ranges of `len` bytes, `gap` bytes apart, that start at a multiple of 512 within a page.
    Pair {
        /// Bytes of each.
        len: u64,
        /// Bytes between them.
        gap: u64,
    },
}

/// Places of one batch, of which those are read that its time is enough for.
const WINDOWS: u64 = 512;

/// Where pairs may start are so many bytes apart: more than the widest of them has.
const PAIR_SLOT_BYTES: u64 = 24 << 10;

impl Pattern {
    /// Places of one window: few, where each keeps a device busy for long.
    fn window_places(self) -> u64 {
        match self {
            Pattern::Single(bytes) if (256 << 10) <= bytes => 4,
            Pattern::Single(_) | Pattern::Pair { .. } => 32,
        }
    }

    fn place(self, random: &mut Random, file_bytes: u64) -> (u64, Option<u64>, u64) {
        match self {
            Pattern::Single(len) => (random.below(file_bytes / len) * len, None, len),
            Pattern::Pair { len, gap } => {
                let slot = random.below(file_bytes / PAIR_SLOT_BYTES) * PAIR_SLOT_BYTES;
                let first = slot + random.below(8) * 512;
                (first, Some(first + len + gap), len)
            }
        }
    }
}

/// A file, and when its reading must stop.
pub(super) struct Probed<'a> {
    pub(super) object: ObjectRef,
    pub(super) file_bytes: u64,
    pub(super) interrupt: Option<&'a dyn Fn() -> bool>,
}

impl Probed<'_> {
    /// Places read a second, over so long a time, after an eighth of it that does not count.
    ///
    /// # Errors
    ///
    /// The first that any read ended with, and [`Cancelled`](crate::ErrorKind::Cancelled).
    pub(super) fn rate(&self, engine: &Engine, pattern: Pattern, time: Duration) -> Result<f64, Error> {
        self.pass(engine, pattern, 0, Instant::now() + time / 8)?;
        let (until, mut places, mut seconds, mut seed) = (Instant::now() + time, 0, 0.0, 1);
        while places == 0 || Instant::now() < until {
            let (read, elapsed) = self.pass(engine, pattern, seed, until)?;
            (places, seconds, seed) = (places + read, seconds + elapsed.as_secs_f64(), seed + 1);
        }
        Ok(places as f64 / seconds.max(1e-9))
    }

    /// Reads up to one batch of places, and tells how many and how long it took. At least one window a lane is read.
    pub(super) fn pass(
        &self,
        engine: &Engine,
        pattern: Pattern,
        seed: u64,
        until: Instant,
    ) -> Result<(u64, Duration), Error> {
        let batch = RandomReads {
            object: &self.object,
            file_bytes: self.file_bytes,
            pattern,
            seed,
            until,
            places: AtomicU64::new(0),
            failed: Mutex::default(),
        };
        let start = Instant::now();
        engine.run(&batch, &RunOptions { interrupt: self.interrupt, ..RunOptions::default() })?;
        let elapsed = start.elapsed();
        match lock(&batch.failed).take() {
            Some(error) => Err(error),
            None => Ok((batch.places.load(Ordering::Relaxed), elapsed)),
        }
    }
}

struct RandomReads<'a> {
    object: &'a ObjectRef,
    file_bytes: u64,
    pattern: Pattern,
    seed: u64,
    until: Instant,
    places: AtomicU64,
    failed: Mutex<Option<Error>>,
}

impl RandomReads<'_> {
    fn fail(&self, error: Error) {
        lock(&self.failed).get_or_insert(error);
    }
}

impl Batch for RandomReads<'_> {
    fn window_count(&self) -> u64 {
        WINDOWS
    }

    fn estimate(&self) -> Estimate {
        // More than any engine reads on the calling thread.
        Estimate { reads: 1 << 40, bytes: 1 << 40 }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        if cursor.window != 0 && self.until <= Instant::now() {
            return Planned::Complete;
        }
        window.set_object(self.object.clone());
        let mut random = Random::new(self.seed.wrapping_mul(WINDOWS).wrapping_add(cursor.window));
        let places = self.pattern.window_places();
        for _ in 0..places {
            let (first, second, len) = self.pattern.place(&mut random, self.file_bytes);
            window.read(ByteRange::Bounded { offset: first, len }, Token(0));
            if let Some(offset) = second {
                window.read(ByteRange::Bounded { offset, len }, Token(0));
            }
        }
        self.places.fetch_add(places, Ordering::Relaxed);
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: Error, _: &mut LaneContext<'_>) {
        self.fail(error);
    }
}
