//! What the first byte of the last answers took.

use std::time::Duration;

/// Times of the last answers.
#[derive(Debug, Default)]
pub(super) struct FirstBytes {
    last: Vec<u32>,
    next: usize,
    /// The 95th percentile, worked out anew every [`REFRESHED_EVERY`] answers.
    late: Option<Duration>,
}

/// Answers that are remembered.
const KEPT: usize = 1024;

const REFRESHED_EVERY: usize = 64;

impl FirstBytes {
    pub(super) fn note(&mut self, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        if self.last.len() < KEPT {
            self.last.push(micros);
        } else {
            self.last[self.next] = micros;
        }
        self.next = (self.next + 1) % KEPT;
        if self.next.is_multiple_of(REFRESHED_EVERY) {
            let sorted = self.sorted();
            self.late = at(&sorted, 95);
        }
    }

    /// What 95 of 100 answers took no longer than; `None` before there were some.
    pub(super) fn late(&self) -> Option<Duration> {
        self.late
    }

    /// Median, 99th percentile and longest; zero before there were answers.
    pub(super) fn summary(&self) -> [Duration; 3] {
        let sorted = self.sorted();
        [50, 99, 100].map(|percent| at(&sorted, percent).unwrap_or_default())
    }

    fn sorted(&self) -> Vec<u32> {
        let mut sorted = self.last.clone();
        sorted.sort_unstable();
        sorted
    }
}

fn at(sorted: &[u32], percent: usize) -> Option<Duration> {
    let index = (sorted.len() * percent / 100).min(sorted.len().checked_sub(1)?);
    sorted.get(index).map(|micros| Duration::from_micros(u64::from(*micros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answers_count() {
        let mut times = FirstBytes::default();
        assert_eq!((times.summary(), times.late()), ([Duration::ZERO; 3], None));
        (0..5000u64).for_each(|_| times.note(Duration::from_secs(9)));
        (1..=1024u64).for_each(|micros| times.note(Duration::from_micros(micros)));
        assert_eq!(times.summary(), [513, 1014, 1024].map(Duration::from_micros));
        let late = times.late().unwrap();
        assert!(Duration::from_micros(960) <= late && late <= Duration::from_micros(980), "{late:?}");
    }
}
