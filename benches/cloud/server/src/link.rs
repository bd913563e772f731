//! The link to the server: how long a request is under way, and how many bytes pass in a second.

use crate::Failure;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A link that all connections share. Zero stands for no latency, no bound of the rate, no throttling, no slow requests.
#[derive(Default)]
pub(crate) struct Link {
    latency_us: AtomicU64,
    bytes_per_second: AtomicU64,
    throttle_above: AtomicU64,
    /// One request in so many is slow, on average.
    slow_one_in: AtomicU64,
    /// How long a slow request is under way.
    slow_us: AtomicU64,
    asked: AtomicU64,
    /// When the link has passed on all that was handed to it.
    free_at: Mutex<Option<Instant>>,
}

/// Bytes of a body that are handed to the link at a time: small beside what passes in a millisecond at 1 Gbit/s, so that
/// connections share the link fairly.
pub(crate) const PIECE_BYTES: usize = 16 << 10;

/// A wait that is shorter is left out, and made up for by the next one: the timer counts milliseconds.
const WAIT_MIN: Duration = Duration::from_millis(2);

impl Link {
    /// Sets what `NAME=NUMBER` says.
    pub(crate) fn set(&self, word: &str) -> Result<(), Failure> {
        let (name, number) =
            word.split_once('=').ok_or_else(|| format!("wanted NAME=NUMBER, found {word}"))?;
        let setting = match name {
            "latency_us" => &self.latency_us,
            "bytes_per_second" => &self.bytes_per_second,
            "throttle_above" => &self.throttle_above,
            "slow_one_in" => &self.slow_one_in,
            "slow_us" => &self.slow_us,
            _ => return Err(format!("the link has no {name}").into()),
        };
        setting.store(number.parse()?, Ordering::Relaxed);
        Ok(())
    }

    /// When a request that came then may be answered.
    pub(crate) fn answer_from(&self, start: Instant) -> Instant {
        let one_in = self.slow_one_in.load(Ordering::Relaxed);
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        if one_in != 0 && scattered(number).is_multiple_of(one_in) {
            return start + Duration::from_micros(self.slow_us.load(Ordering::Relaxed));
        }
        self.round_trip_from(start)
    }

    /// When what is asked now may be answered, or a connection that is asked for now is there.
    pub(crate) fn round_trip_from(&self, start: Instant) -> Instant {
        start + Duration::from_micros(self.latency_us.load(Ordering::Relaxed))
    }

    /// True where a request that finds so many under way, itself included, is told to come back later.
    pub(crate) fn is_throttling(&self, in_flight: u64) -> bool {
        let above = self.throttle_above.load(Ordering::Relaxed);
        above != 0 && above < in_flight
    }

    /// True where bytes have to wait for one another.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bytes_per_second.load(Ordering::Relaxed) != 0
    }

    /// Waits until so many bytes have passed.
    pub(crate) async fn pass(&self, bytes: usize) {
        let rate = self.bytes_per_second.load(Ordering::Relaxed);
        if rate == 0 {
            return;
        }
        let took = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let now = Instant::now();
        let passed_at = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            let passed_at = free_at.map_or(now, |at| at.max(now)) + took;
            *free_at = Some(passed_at);
            passed_at
        };
        if WAIT_MIN < passed_at - now {
            sleep_until(passed_at).await;
        }
    }
}

/// A number that is spread over all of them: slow requests come at no fixed distance, and the same in each run.
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::Link;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn connections_share_the_rate() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let link = Arc::new(Link::default());
        link.set("bytes_per_second=10000000").unwrap();
        let start = Instant::now();
        runtime.block_on(async {
            let one = |link: Arc<Link>| async move {
                for _ in 0..50 {
                    link.pass(10_000).await;
                }
            };
            let other = tokio::spawn(one(Arc::clone(&link)));
            one(link).await;
            other.await.unwrap();
        });
        assert!(Duration::from_millis(98) <= start.elapsed(), "1 MB at 10 MB/s took {:?}", start.elapsed());
    }

    #[test]
    fn one_request_in_so_many_is_slow() {
        let link = Link::default();
        ["latency_us=20000", "slow_us=500000", "slow_one_in=100"].map(|word| link.set(word).unwrap());
        let start = Instant::now();
        let slow = (0..100_000).filter(|_| link.answer_from(start) == start + Duration::from_millis(500));
        let slow = slow.count();
        assert!((900..1100).contains(&slow), "{slow}");
        link.set("slow_one_in=0").unwrap();
        assert!((0..1000).all(|_| link.answer_from(start) == start + Duration::from_millis(20)));
    }

    #[test]
    fn settings_are_named() {
        let link = Link::default();
        assert!(link.set("latency=1").is_err());
        assert!(link.set("latency_us").is_err());
        assert!(link.set("throttle_above=2").is_ok());
        assert!(link.is_throttling(3) && !link.is_throttling(2));
    }
}
