//! `swath convert FILES... TARGET` of .nat files: images of SEVIRI as one Zarr group.

use crate::convert_write::new_store;
use crate::interrupt::Interrupt;
use crate::place::UrlArguments;
use crate::progress::{Progress, Unit};
use crate::verdict::Verdict;
use anyhow::{anyhow, bail};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use swath::convert::WritePlanOptions;
use swath::convert::nat::{Channel, Conversion, Header, LineFailure, Quantity};
use swath::ioengine::{Engine, ObjectRef, storage_len};

/// The arguments that .nat files have of their own.
#[derive(clap::Args)]
pub(crate) struct NatArguments {
    /// Of .nat files: what pixels are written as.
    #[arg(long, value_enum, default_value_t = Calibrate::Counts)]
    calibrate: Calibrate,
    /// Of .nat files: the channels to write, such as IR_108,HRV; all that there are by default.
    #[arg(long, value_delimiter = ',', value_parser = parse_channel)]
    channels: Vec<Channel>,
}

/// What pixels are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Calibrate {
    /// Numbers of ten bits, as they are stored; 0 is no data.
    Counts,
    /// Radiances in mW m-2 sr-1 (cm-1)-1.
    Radiance,
    /// Reflectances in percent of the solar channels, brightness temperatures in K of the others.
    ReflectanceOrTemperature,
}

impl Calibrate {
    fn quantity(self) -> Quantity {
        match self {
            Calibrate::Counts => Quantity::Counts,
            Calibrate::Radiance => Quantity::Radiance,
            Calibrate::ReflectanceOrTemperature => Quantity::ReflectanceOrTemperature,
        }
    }
}

/// Where a conversion goes.
pub(crate) struct Target<'a> {
    /// The directory or URL.
    pub(crate) path: &'a Path,
    /// The options of URLs.
    pub(crate) url: &'a UrlArguments,
    /// Whether it is only told what would be written.
    pub(crate) is_plan: bool,
}

/// Damaged lines of one file that are listed; others are counted.
const LINES_LISTED: usize = 8;

fn parse_channel(name: &str) -> Result<Channel, String> {
    let names = || Channel::ALL.map(Channel::name).join(", ");
    Channel::of_name(name).ok_or_else(|| format!("wanted one of {}", names()))
}

/// Whether files are .nat ones, by their names.
///
/// # Errors
///
/// Where some are and others are not.
pub(crate) fn is_for(names: &[String]) -> anyhow::Result<bool> {
    let is = |name: &&String| Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("nat"));
    match names.iter().filter(is).count() {
        0 => Ok(false),
        count if count == names.len() => Ok(true),
        count => bail!("{count} of {} files are .nat files: convert them by themselves", names.len()),
    }
}

/// Runs the command.
pub(crate) fn run(
    arguments: &NatArguments,
    (names, files): (&[String], &[ObjectRef]),
    target: &Target<'_>,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let engine = Engine::global();
    let (mut headers, mut sound, mut damages) = (Vec::new(), Vec::new(), 0);
    for (number, (name, file)) in names.iter().zip(files).enumerate() {
        interrupt.check()?;
        match Header::read(&engine, file) {
            Ok(header) => {
                if let Some(reason) = &header.trailer_error {
                    writeln!(out, "{name}: no trailer: {reason}")?;
                    damages += 1;
                }
                headers.push(header);
                sound.push(number);
            }
            Err(error) => {
                writeln!(out, "not written: {name}: {error}")?;
                damages += 1;
            }
        }
    }
    if headers.is_empty() {
        return Err(anyhow!("none of {} files can be read", names.len()));
    }
    let conversion = Conversion::new(headers, arguments.calibrate.quantity(), &arguments.channels)?;
    if target.is_plan {
        print(&conversion, out)?;
        return Ok(Verdict::of(damages));
    }
    let store = new_store(target.path, target.url)?;
    let objects: Vec<ObjectRef> = sound.iter().filter_map(|number| files.get(*number).cloned()).collect();
    let progress = Mutex::new(Progress::new(Some(storage_len(conversion.pieces())), Unit::Items("bands")));
    let say = |_| progress.lock().unwrap_or_else(PoisonError::into_inner).advance(1);
    let poll = || interrupt.is_raised();
    let options =
        WritePlanOptions { progress: Some(&say), interrupt: Some(&poll), ..WritePlanOptions::default() };
    let written = conversion.write(&engine, &objects, &store, &options);
    interrupt.check()?;
    let failures = written?;
    let named: Vec<&str> = sound.iter().map(|number| names.get(*number).map_or("", String::as_str)).collect();
    list(&failures, &named, out)?;
    let (images, lines) = (conversion.files.len(), storage_len(failures.len()));
    writeln!(
        out,
        "{images} images in {} variables, {} damages",
        conversion.variables.len(),
        damages + lines
    )?;
    Ok(Verdict::of(damages + lines))
}

/// Names the first damaged lines of each file, and counts the others.
fn list(failures: &[LineFailure], names: &[&str], out: &mut impl Write) -> std::io::Result<()> {
    for of_file in failures.chunk_by(|one, other| one.file == other.file) {
        let name = of_file.first().and_then(|failure| names.get(failure.file)).copied().unwrap_or("");
        for LineFailure { channel, row, damage, .. } in of_file.iter().take(LINES_LISTED) {
            writeln!(out, "not written: {name}: row {row} of {}: {damage}", channel.name())?;
        }
        if let Some(more) = of_file.len().checked_sub(LINES_LISTED + 1) {
            writeln!(out, "not written: {name}: {} more lines", more + 1)?;
        }
    }
    Ok(())
}

fn print(conversion: &Conversion, out: &mut impl Write) -> std::io::Result<()> {
    let times = conversion.files.len();
    for variable in &conversion.variables {
        let Some(grid) = conversion.grid(variable) else { continue };
        let [rows, columns] = [grid.rows, grid.columns];
        let mut lens = vec![times.to_string()];
        if !variable.is_hrv() {
            lens.push(variable.channels.len().to_string());
        }
        lens.extend([rows.to_string(), columns.to_string()]);
        let dimensions = variable.dimensions().into_iter().zip(lens);
        let dimensions: Vec<String> = dimensions.map(|(name, len)| format!("{name} {len}")).collect();
        let kind = if conversion.quantity == Quantity::Counts { "uint16" } else { "float32" };
        let channels: Vec<&str> = variable.channels.iter().map(|channel| channel.name()).collect();
        writeln!(out, "{} ({}) {kind}: {}", variable.name, dimensions.join(", "), channels.join(" "))?;
    }
    Ok(())
}
