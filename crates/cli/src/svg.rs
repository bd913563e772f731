//! Bars, as text and as a picture.

use std::fmt::Write;

/// Bars with their labels, under a title.
pub(crate) struct Picture {
    pub(crate) title: String,
    /// Labels and values; one that is not finite has no bar.
    pub(crate) bars: Vec<(String, f64)>,
}

/// The picture's size in pixels, and the room around the bars.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const MARGIN: f64 = 60.0;

/// Labels below the bars, at most.
const LABELS_MAX: usize = 12;

impl Picture {
    /// As an SVG document: bars from zero, each with its label and value as a tooltip.
    pub(crate) fn svg(&self) -> String {
        let values = || self.bars.iter().map(|bar| bar.1).filter(|value| value.is_finite());
        let (low, high) =
            values().fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let span = if high - low == 0.0 { 1.0 } else { high - low };
        let y = |value: f64| MARGIN + (high - value) / span * (HEIGHT - 2.0 * MARGIN);
        let each = (WIDTH - 2.0 * MARGIN) / (self.bars.len().max(1) as f64);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\
             <text x=\"{MARGIN}\" y=\"30\" font-size=\"16\">{}</text>\n",
            escaped(&self.title)
        );
        let every = self.bars.len().div_ceil(LABELS_MAX).max(1);
        for (number, (label, value)) in self.bars.iter().enumerate() {
            let x = MARGIN + number as f64 * each;
            let label = escaped(label);
            if value.is_finite() {
                let (top, bottom) = (y(value.max(0.0)), y(value.min(0.0)));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"#3b76af\">\
                     <title>{label}: {value}</title></rect>",
                    (each * 0.92).max(0.2),
                    bottom - top
                );
            }
            if number % every == 0 {
                let y = HEIGHT - MARGIN + 18.0;
                let _ = writeln!(svg, "<text x=\"{x:.2}\" y=\"{y}\">{label}</text>");
            }
        }
        for value in [low, high] {
            let _ = writeln!(svg, "<text x=\"4\" y=\"{:.2}\">{value:.4}</text>", y(value));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Bars of text: `label │████ 123`. The longest has `width` characters; one that is not zero has an eighth at least.
pub(crate) fn bars(bars: &[(String, f64)], width: usize) -> Vec<String> {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let most = bars.iter().map(|bar| bar.1).fold(0.0_f64, f64::max);
    let margin = bars.iter().map(|bar| bar.0.chars().count()).max().unwrap_or(0);
    let line = |(label, value): &(String, f64)| {
        let share = if most == 0.0 { 0.0 } else { value / most };
        let eighths = eighths(share, width).max(usize::from(0.0 < *value));
        let bar = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
        format!("{label:>margin$} │{bar} {value}")
    };
    bars.iter().map(line).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a terminal's width")]
fn eighths(share: f64, width: usize) -> usize {
    (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let given = [
            ("-1".to_owned(), 16.0),
            ("10".to_owned(), 9.0),
            ("20".to_owned(), 0.01),
            ("30".to_owned(), 0.0),
        ];
        assert_eq!(bars(&given, 2), ["-1 │██ 16", "10 │█▏ 9", "20 │▏ 0.01", "30 │ 0"]);
        assert!(bars(&[], 10).is_empty());
    }

    #[test]
    fn pictures_have_a_bar_for_each_value_and_no_markup_of_labels() {
        let bars = vec![("<a & b>".to_owned(), 1.5), ("c".to_owned(), f64::NAN), ("d".to_owned(), -2.0)];
        let svg = Picture { title: "t\"2\"m".to_owned(), bars }.svg();
        assert_eq!(svg.matches("<title>").count(), 2);
        assert!(svg.contains("&lt;a &amp; b&gt;") && svg.contains("t&quot;2&quot;m") && !svg.contains("NaN"));
        assert!(Picture { title: String::new(), bars: Vec::new() }.svg().ends_with("</svg>\n"));
    }
}
