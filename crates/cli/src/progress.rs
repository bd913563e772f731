//! Progress bars, for what takes longer than a second in front of a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Nobody wants a bar that flashes by.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// What a bar counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Bytes of output.
    Bytes,
    /// Anything else.
    Items(&'static str),
}

/// A bar on standard error that appears after a second, and never where that is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: Cell<bool>,
}

impl Progress {
    /// A bar for `total` units; one without a length where the total is not known.
    pub(crate) fn new(total: Option<u64>, unit: Unit) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(style(total.is_some(), unit));
        Progress { bar, started: Instant::now(), shown: Cell::new(false) }
    }

    /// Counts `amount` more units as done.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        self.tick();
    }

    /// Says what goes on beside the bar.
    pub(crate) fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Shows the bar once it is due, and keeps its clock going.
    pub(crate) fn tick(&self) {
        if !self.shown.get() && SHOWN_AFTER <= self.started.elapsed() {
            self.shown.set(true);
            if std::io::stderr().is_terminal() {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        self.bar.tick();
    }
}

/// The terminal is left as it was found, whatever way the command ends.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(has_total: bool, unit: Unit) -> ProgressStyle {
    let done = match (unit, has_total) {
        (Unit::Bytes, true) => "{decimal_bytes}/{decimal_total_bytes}, {decimal_bytes_per_sec}".to_owned(),
        (Unit::Bytes, false) => "{decimal_bytes}, {decimal_bytes_per_sec}".to_owned(),
        (Unit::Items(noun), true) => format!("{{human_pos}}/{{human_len}} {noun}, {{per_sec}}"),
        (Unit::Items(noun), false) => format!("{{human_pos}} {noun}"),
    };
    let template = if has_total {
        format!("{{wide_bar}} {{percent:>3}} %  {done}, {{eta}} left {{msg}}")
    } else {
        format!("{{spinner}} {{elapsed}}  {done}  {{msg}}")
    };
    // The templates are ours; a default bar is a fair answer to a slip in them.
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_counts_and_stays_hidden_at_first() {
        let progress = Progress::new(Some(10), Unit::Bytes);
        progress.advance(3);
        progress.advance(4);
        assert_eq!(progress.bar.position(), 7);
        assert!(progress.bar.is_hidden() && !progress.shown.get());
    }
}
