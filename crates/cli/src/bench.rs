//! `swath bench`: how fast random crops of an array are read, or what the device does.

use crate::bench_report::Bench;
use crate::bench_run::{Amount, Plan, run_plan};
use crate::crops::{CropShape, Crops};
use crate::interrupt::Interrupt;
use crate::place::{Place, UrlArguments};
use crate::{calibrate, failure, locate, quantity};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The arguments of `swath bench`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The array: a directory, a URL, or a path below a group.
    #[arg(required_unless_present = "calibrate")]
    path: Option<PathBuf>,
    /// Elements of a crop along each axis, such as 4,10,128,128.
    #[arg(long, value_name = "SHAPE", required_unless_present = "calibrate")]
    crop: Option<CropShape>,
    /// How many crops to read.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// How many crops one call reads.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Where crops lie: the same seed gives the same crops.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Read for this many seconds instead of a number of crops (8 with --calibrate).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, conflicts_with = "count")]
    seconds: Option<Duration>,
    /// Have the kernel drop the cached pages of the array's files first.
    #[arg(long)]
    cold: bool,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    /// Instead of an array, measure the device that a folder is on, by a scratch file in it, and store what was found
    /// for later reads of that device.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["path", "crop", "count", "batch", "seed", "cold"])]
    calibrate: Option<PathBuf>,
    /// Size of the scratch file of --calibrate in MiB, removed afterwards.
    #[arg(long, value_name = "MIB", default_value_t = 256, conflicts_with_all = ["path", "crop"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    scratch: u64,
    #[command(flatten)]
    url: UrlArguments,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| 0.0 < *seconds);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "wanted a positive number of seconds".to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.calibrate {
        let amount = calibrate::Amount { scratch_mib: arguments.scratch, time: arguments.seconds };
        let format = if arguments.json { calibrate::Format::Json } else { calibrate::Format::Table };
        return calibrate::run(folder, &amount, format, out);
    }
    let (Some(path), Some(crop)) = (&arguments.path, &arguments.crop) else {
        anyhow::bail!("wanted an array and --crop");
    };
    let started = Instant::now();
    let array = locate::array(&Place::new(path, &arguments.url)?)?;
    let is_remote = array.store().remote_stats().is_some();
    if arguments.cold && is_remote {
        anyhow::bail!("{}: --cold is for local files, the page cache holds nothing of this", array.name());
    }
    let crops = Crops::new(array.shape(), crop, arguments.seed)?;
    if crops.crop_shape() != crop.0 {
        let (wanted, clamped) = (quantity::shape(&crop.0), quantity::shape(crops.crop_shape()));
        let shape = quantity::shape(array.shape());
        failure::say(&format!("note: crops of {wanted} are clamped to {clamped}: the array is {shape}"));
    }
    let plan = Plan {
        array: &array,
        amount: arguments.seconds.map_or(Amount::Crops(arguments.count), Amount::Time),
        batch: usize::try_from(arguments.batch)?,
        cold: arguments.cold.then(|| locate::directory(&array)),
        started,
        interrupt: Interrupt::install()?,
    };
    let crop = crops.crop_shape().to_vec();
    let bench = Bench { array: &array, crop: &crop, seed: arguments.seed, batch: arguments.batch };
    if !arguments.json {
        bench.heading(out)?;
        out.flush()?;
    }
    let figures = run_plan(&plan, crops)?;
    if arguments.json {
        writeln!(out, "{}", bench.json(&figures))?;
    } else {
        bench.figures(&figures, out)?;
    }
    Ok(())
}
