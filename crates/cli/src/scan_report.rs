//! What `swath convert scan` prints.

use crate::read_report::Format;
use std::fmt::Write as _;
use std::io::{Result, Write};
use swath::convert::{
    Bitmap, DamageKind, Duration, Ensemble, Field, Found, Grid, Level, Parameter, Step, Surface, TimeUnit,
    record,
};

/// A listing under way, and what was counted.
pub(crate) struct Listing<'a, W> {
    format: Format,
    out: &'a mut W,
    files: u64,
    fields: u64,
    damages: u64,
}

impl<'a, W: Write> Listing<'a, W> {
    /// Begins a listing.
    pub(crate) fn new(format: Format, out: &'a mut W) -> Result<Listing<'a, W>> {
        if format == Format::Text {
            let heads = ["offset", "bytes", "parameter", "level", "time", "step", "member", "grid"];
            let [offset, bytes, parameter, level, time, step, member, grid] = heads;
            writeln!(
                out,
                "{offset:>12} {bytes:>10}  {parameter:<12} {level:<14} {time:<20} {step:<8} {member:<8} {grid:<26} packing"
            )?;
        }
        Ok(Listing { format, out, files: 0, fields: 0, damages: 0 })
    }

    /// Counts what was found in a file, and prints nothing.
    pub(crate) fn count(&mut self, found: &[Found]) {
        self.files += 1;
        for one in found {
            match one {
                Found::Field(_) => self.fields += 1,
                // Headings of bulletins are no messages, and nothing is wrong with them.
                Found::Damage(damage) if damage.kind == DamageKind::Stray => {}
                Found::Damage(_) => self.damages += 1,
            }
        }
    }

    /// Prints what was found in a file.
    pub(crate) fn print(&mut self, file: &str, found: &[Found]) -> Result<()> {
        self.count(found);
        if self.format == Format::Text {
            writeln!(self.out, "{file}")?;
        }
        for one in found {
            match (self.format, one) {
                (Format::Json, one) => writeln!(self.out, "{}", record(file, one))?,
                (Format::Text, Found::Field(field)) => writeln!(self.out, "{}", line(field))?,
                (Format::Text, Found::Damage(damage)) => writeln!(self.out, "  {damage}")?,
            }
        }
        Ok(())
    }

    /// Prints the sums; returns how many damages there were.
    pub(crate) fn end(self) -> Result<u64> {
        let Listing { format, out, files, fields, damages } = self;
        if format == Format::Text {
            writeln!(out, "{fields} fields in {files} files, {damages} damages")?;
        }
        Ok(damages)
    }
}

fn line(field: &Field) -> String {
    let mut packing = format!("{} {}", field.packing.kind.name(), field.packing.bits);
    if field.bitmap != Bitmap::None {
        packing.push_str(" bitmap");
    }
    format!(
        "{:>12} {:>10}  {:<12} {:<14} {:<20} {:<8} {:<8} {:<26} {packing}",
        field.message.offset,
        field.message.len,
        parameter(field.parameter),
        field.level.as_ref().map_or_else(|| "?".to_owned(), level),
        field.time.to_string(),
        field.step.as_ref().map_or_else(|| "?".to_owned(), step),
        member(&field.ensemble),
        grid(&field.grid),
    )
}

/// Discipline, category and number, or table and indicator.
fn parameter(parameter: Parameter) -> String {
    match parameter {
        Parameter::Indicator { table, indicator } => format!("{table}:{indicator}"),
        Parameter::Triple { discipline, category, number } => format!("{discipline}.{category}.{number}"),
    }
}

/// The type, and the value where it has one.
fn level(level: &Level) -> String {
    let surface = |surface: Surface| match surface.value {
        Some(value) => format!("{}={value}", surface.kind),
        None => surface.kind.to_string(),
    };
    match level.second {
        Some(second) => format!("{}-{}", surface(level.first), surface(second)),
        None => surface(level.first),
    }
}

fn step(step: &Step) -> String {
    let start = duration(step.start);
    match (step.interval, step.start.seconds(), step.end_seconds()) {
        (None, ..) => start,
        (Some(_), Some(_), Some(end)) => format!("{start}-{}", seconds(end)),
        (Some(interval), ..) => format!("{start}+{}", duration(interval)),
    }
}

fn duration(duration: Duration) -> String {
    match (duration.seconds(), duration.unit) {
        (Some(count), _) => seconds(count),
        (None, TimeUnit::Months(months)) => format!("{}mo", duration.count.saturating_mul(i64::from(months))),
        (None, _) => format!("{}?", duration.count),
    }
}

/// Seconds in the largest unit that they are whole numbers of.
fn seconds(seconds: i64) -> String {
    match seconds {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

fn member(ensemble: &Ensemble) -> String {
    match ensemble {
        Ensemble::None => "-".to_owned(),
        Ensemble::Member { number, .. } => number.to_string(),
        Ensemble::Derived { kind, .. } => format!("derived {kind}"),
        Ensemble::Percentile(percentile) => format!("{percentile}%"),
        Ensemble::Probability { kind, .. } => format!("prob {kind}"),
    }
}

fn grid(grid: &Grid) -> String {
    let mut text = grid.kind.name().to_owned();
    match (grid.columns, grid.rows) {
        (Some(columns), Some(rows)) => {
            // A string takes whatever is written to it.
            let _ = write!(text, " {columns}x{rows}");
        }
        _ => {
            let _ = write!(text, " {}", grid.points);
        }
    }
    text
}
