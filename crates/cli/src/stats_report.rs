//! What `swath stats` prints.

use crate::grouping::Grouping;
use crate::missing::Missing;
use crate::quantity::{count, shape, significant};
use crate::read_report::{Format, extreme_json, number, rounded};
use crate::summary::Summary;
use crate::svg::{Picture, bars};
use anyhow::anyhow;
use serde_json::{Map, Value, json};
use std::io::{Result, Write};
use std::path::Path;
use swath::Array;

/// Statistics of an array, and how they came about.
pub(crate) struct Report<'a> {
    pub(crate) array: &'a Array,
    pub(crate) missing: &'a Missing,
    pub(crate) grouping: &'a Grouping,
    pub(crate) summaries: &'a [Summary],
}

/// Characters of the longest bar.
const BAR_WIDTH: usize = 50;

/// Lines of a histogram in a terminal, at most.
const LINES_MAX: usize = 24;

impl Report<'_> {
    /// Prints all of it.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn print(&self, format: Format, out: &mut impl Write) -> Result<()> {
        match (format, self.summaries) {
            (Format::Json, _) => writeln!(out, "{}", self.json()),
            (Format::Text, [only]) if self.grouping.axes.is_empty() => self.text(only, out),
            (Format::Text, _) => self.table(out),
        }
    }

    /// Writes the picture to a file.
    ///
    /// # Errors
    ///
    /// Those of the operating system, naming the file.
    pub(crate) fn picture(&self, path: &Path) -> anyhow::Result<()> {
        let picture = match self.summaries {
            [only] if self.grouping.axes.is_empty() => {
                let bins = only
                    .histogram
                    .bins()
                    .map(|(start, end, count)| (format!("{start} to {end}"), count as f64));
                Picture { title: format!("{}: elements by value", self.array.name()), bars: bins.collect() }
            }
            groups => {
                let mean = |summary: &Summary| summary.mean().unwrap_or(f64::NAN);
                let bars = groups.iter().enumerate();
                let bars =
                    bars.map(|(group, summary)| (self.grouping.labels(group).join(" "), mean(summary)));
                Picture { title: format!("{}: mean of each group", self.array.name()), bars: bars.collect() }
            }
        };
        std::fs::write(path, picture.svg()).map_err(|error| anyhow!("{}: {error}", path.display()))
    }

    fn text(&self, summary: &Summary, out: &mut impl Write) -> Result<()> {
        let mut row = |name: &str, value: &str| writeln!(out, "{name:<9}{value}");
        row("array", &self.array.name())?;
        row("shape", &shape(self.array.shape()))?;
        row("dtype", &self.array.data_type().to_string())?;
        row("count", &count(summary.count))?;
        row("missing", &format!("{} ({})", share(summary.missing, summary.count), self.rules()))?;
        if summary.infinite != 0 {
            row("infinite", &share(summary.infinite, summary.count))?;
        }
        let none = || "none".to_owned();
        let (least, greatest) = summary.extremes.unzip();
        row("min", &least.map_or_else(none, |extreme| extreme.to_string()))?;
        row("max", &greatest.map_or_else(none, |extreme| extreme.to_string()))?;
        row("mean", &summary.mean().map_or_else(none, rounded))?;
        row("std", &summary.deviation().map_or_else(none, rounded))?;
        for line in histogram_lines(summary) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// A line for each group.
    fn table(&self, out: &mut impl Write) -> Result<()> {
        let name = self.grouping.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(" ");
        let mut lines = vec![[&*name, "count", "missing", "min", "max", "mean", "std"].map(str::to_owned)];
        for (group, summary) in self.summaries.iter().enumerate() {
            let none = || "none".to_owned();
            let (least, greatest) = summary.extremes.unzip();
            let percent = 100.0 * summary.missing as f64 / summary.count.max(1) as f64;
            lines.push([
                self.grouping.labels(group).join(" "),
                count(summary.count),
                format!("{} %", significant(percent)),
                least.map_or_else(none, |extreme| extreme.to_string()),
                greatest.map_or_else(none, |extreme| extreme.to_string()),
                summary.mean().map_or_else(none, rounded),
                summary.deviation().map_or_else(none, rounded),
            ]);
        }
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        writeln!(out, "{}, missing: {}", self.array.name(), self.rules())?;
        for line in &lines {
            write!(out, "{:<1$}", line[0], widths[0])?;
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                write!(out, "  {cell:>width$}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn rules(&self) -> String {
        if self.missing.rules.is_empty() { "nothing is".to_owned() } else { self.missing.rules.join(", ") }
    }

    fn json(&self) -> Value {
        let groups = self.summaries.iter().enumerate().map(|(group, summary)| {
            let mut value = summary_json(summary);
            let labels = self.grouping.axes.iter().zip(self.grouping.labels(group));
            let labels: Map<String, Value> =
                labels.map(|(axis, label)| (axis.name.clone(), json!(label))).collect();
            if !labels.is_empty() {
                value["group"] = Value::Object(labels);
            }
            value
        });
        let mut value = json!({
            "array": self.array.name(),
            "shape": self.array.shape(),
            "data_type": self.array.data_type().name(),
            "missing_rules": self.missing.rules,
        });
        let mut groups: Vec<Value> = groups.collect();
        match (groups.as_mut_slice(), self.grouping.axes.is_empty()) {
            ([Value::Object(only)], true) => {
                value.as_object_mut().into_iter().for_each(|value| value.append(only));
            }
            _ => value["groups"] = json!(groups),
        }
        value
    }
}

fn summary_json(summary: &Summary) -> Value {
    let (least, greatest) = summary.extremes.unzip();
    let bins: Vec<(f64, f64, u64)> = summary.histogram.bins().collect();
    let edges = bins.iter().map(|bin| bin.0).chain(bins.last().map(|bin| bin.1));
    json!({
        "count": summary.count,
        "missing": summary.missing,
        "infinite": summary.infinite,
        "min": least.map(extreme_json),
        "max": greatest.map(extreme_json),
        "sum": summary.sum().map(|sum| match i64::try_from(sum) {
            Ok(sum) => json!(sum),
            Err(_) => json!(sum.to_string()),
        }),
        "mean": summary.mean().map(number),
        "std": summary.deviation().map(number),
        "histogram": {
            "edges": edges.map(number).collect::<Vec<_>>(),
            "counts": bins.iter().map(|bin| bin.2).collect::<Vec<_>>(),
        },
    })
}

fn share(part: u64, whole: u64) -> String {
    match part {
        0 => "0".to_owned(),
        part => format!("{} = {} %", count(part), significant(100.0 * part as f64 / whole.max(1) as f64)),
    }
}

/// The bins as bars, neighbours together where there are too many for a terminal.
fn histogram_lines(summary: &Summary) -> Vec<String> {
    let bins: Vec<(f64, f64, u64)> = summary.histogram.bins().collect();
    let together = bins.len().div_ceil(LINES_MAX).max(1);
    let joined: Vec<(String, f64)> = bins
        .chunks(together)
        .filter_map(|bins| Some((bins.first()?.0.to_string(), bins.iter().map(|bin| bin.2 as f64).sum())))
        .collect();
    bars(&joined, BAR_WIDTH)
}
