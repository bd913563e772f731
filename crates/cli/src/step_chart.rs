//! A number that moves in steps over time, drawn with block characters.

use crate::quantity::{count, duration};
use std::time::Duration;

/// An eighth of a character's height at a time.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The lines of a chart of `steps`, each of which holds from its time until the next, in the order of their times. The
/// last holds to `end`. A column shows the largest value of its time, so that no peak is lost. Empty without steps.
pub(crate) fn step_chart(
    steps: &[(Duration, u64)],
    end: Duration,
    width: usize,
    height: usize,
) -> Vec<String> {
    let (Some(last), true) = (steps.last(), 0 < width && 0 < height) else {
        return Vec::new();
    };
    let end = end.max(last.0).max(Duration::from_nanos(1));
    let columns: Vec<u64> = (0..width).map(|column| column_value(steps, end, column, width)).collect();
    let most = columns.iter().copied().max().unwrap_or(0).max(1);
    let eighths: Vec<usize> = columns.iter().map(|value| eighths(*value, most, height)).collect();
    let labels = [count(most), "0".to_owned()];
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    let mut lines: Vec<String> = (0..height)
        .map(|row| {
            let label = if row == 0 { labels[0].as_str() } else { "" };
            let below = (height - 1 - row) * 8;
            let cells = eighths.iter().map(|eighths| BLOCKS[eighths.saturating_sub(below).min(8)]);
            let line = format!("{label:>margin$} │{}", cells.collect::<String>());
            line.trim_end().to_owned()
        })
        .collect();
    lines.push(format!("{:>margin$} └{}", labels[1], "─".repeat(width)));
    let until = duration(end);
    let gap = width.saturating_sub("0 s".len() + until.chars().count());
    lines.push(format!("{:>margin$}  0 s{}{until}", "", " ".repeat(gap)));
    lines
}

/// The largest value that holds at some time of a column.
fn column_value(steps: &[(Duration, u64)], end: Duration, column: usize, width: usize) -> u64 {
    let at = |column: usize| end.mul_f64(column as f64 / width as f64);
    let (from, to) = (at(column), at(column + 1));
    let holds_at_first = steps.iter().rev().find(|step| step.0 <= from).map(|step| step.1);
    let within = steps.iter().filter(|step| from < step.0 && step.0 <= to).map(|step| step.1);
    within.chain(holds_at_first).max().unwrap_or(0)
}

/// How many eighths of a row's height a value takes: at least one where it is not zero.
fn eighths(value: u64, most: u64, height: usize) -> usize {
    let all = swath::ioengine::storage_len(height * 8);
    let scaled = (u128::from(value) * u128::from(all)).div_ceil(u128::from(most));
    usize::try_from(scaled).unwrap_or(height * 8).min(height * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(steps: &[(u64, u64)], end: u64) -> Vec<String> {
        let steps: Vec<_> = steps.iter().map(|(at, value)| (Duration::from_secs(*at), *value)).collect();
        step_chart(&steps, Duration::from_secs(end), 10, 2)
    }

    #[test]
    fn steps_hold_until_the_next() {
        let lines = chart(&[(0, 8), (5, 16)], 10);
        assert_eq!(lines, ["16 │    ██████", "   │██████████", " 0 └──────────", "    0 s 10.0 s"]);
    }

    #[test]
    fn a_peak_between_two_columns_is_seen() {
        let steps: Vec<_> =
            [(0, 1), (501, 1600), (502, 1)].map(|(at, value)| (Duration::from_millis(at), value)).into();
        let lines = step_chart(&steps, Duration::from_secs(10), 10, 1);
        assert_eq!(lines[0], "1,600 │█▁▁▁▁▁▁▁▁▁");
    }

    #[test]
    fn nothing_and_zero_are_drawn_without_dividing_by_them() {
        assert!(chart(&[], 10).is_empty());
        assert_eq!(chart(&[(0, 0)], 0)[1], "  │");
        assert_eq!(chart(&[(1, u64::MAX)], 1).len(), 4);
    }
}
