//! The limit of an endpoint over time, in bounded memory.

use std::time::Duration;

/// Moments at which a value moved; of long histories every second one is dropped, again and again.
#[derive(Debug, Default)]
pub(super) struct History {
    moments: Vec<(Duration, u64)>,
    /// Least time between two moments; doubles whenever the history is thinned.
    spacing: Duration,
}

/// Moments that a history holds at most.
const MOMENTS_MAX: usize = 512;

impl History {
    /// The value is this from now on. Moves within the spacing count as one.
    pub(super) fn note(&mut self, now: Duration, value: u64) {
        match self.moments.last_mut() {
            Some((_, last)) if *last == value => return,
            Some((at, last)) if now < *at + self.spacing => {
                *last = value;
                return;
            }
            _ => self.moments.push((now, value)),
        }
        if MOMENTS_MAX <= self.moments.len() {
            let mut index = 0usize;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let covered = self.moments.last().map_or(Duration::ZERO, |(at, _)| *at);
            self.spacing = covered / u32::try_from(MOMENTS_MAX).unwrap_or(u32::MAX) * 2;
        }
    }

    pub(super) fn moments(&self) -> Vec<(Duration, u64)> {
        self.moments.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_history_stays_bounded_and_covers_all_of_it() {
        let mut history = History::default();
        for step in 0..100_000u64 {
            history.note(Duration::from_millis(step), step);
        }
        let moments = history.moments();
        assert!(64 <= moments.len() && moments.len() <= MOMENTS_MAX, "{}", moments.len());
        assert_eq!(moments[0], (Duration::ZERO, 0));
        assert!(Duration::from_secs(95) < moments[moments.len() - 1].0);
        assert!(moments.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn what_does_not_move_takes_no_room() {
        let mut history = History::default();
        (0..1000).for_each(|step| history.note(Duration::from_secs(step), 64));
        assert_eq!(history.moments(), [(Duration::ZERO, 64)]);
    }
}
