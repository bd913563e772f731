//! `swath convert`: what fields GRIB files have, and Zarr of them.

use crate::convert_references::{self, ReferencesArguments};
use crate::convert_write::{self, WriteArguments};
use crate::failure::Interrupted;
use crate::interrupt::Interrupt;
use crate::place::UrlArguments;
use crate::read_report::Format;
use crate::scan_report::Listing;
use crate::scan_table::TableFile;
use crate::verdict::Verdict;
use anyhow::bail;
use std::io::Write;
use std::path::PathBuf;
use swath::convert::nat::are_nat_names;
use swath::convert::{Found, Opened, ScanOptions, open_each, scan_each};
use swath::ioengine::{Engine, RunOptions};

/// The arguments of `swath convert`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    step: Option<Step>,
    #[command(flatten)]
    write: WriteArguments,
}

/// What to do with the files.
#[derive(clap::Subcommand)]
enum Step {
    /// List every field of GRIB files, and what in them is no sound message, by reads of section heads alone.
    Scan(ScanArguments),
    /// Write references to the messages of GRIB files, or to the chunks of an HDF5 or NetCDF-4 file: Zarr without a copy, for swath,
    /// kerchunk and fsspec.
    References(ReferencesArguments),
}

/// The arguments of `swath convert scan`.
#[derive(clap::Args)]
struct ScanArguments {
    /// GRIB files of edition 1 or 2: paths or URLs.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print a line of JSON for each field.
    #[arg(long)]
    json: bool,
    /// Print nothing, and write a Parquet file with a row for each field.
    #[arg(long, value_name = "TABLE", conflicts_with = "json")]
    parquet: Option<PathBuf>,
    #[command(flatten)]
    url: UrlArguments,
}

/// Files whose listings are in memory at once: they are printed in the order in which the files were named.
const FILES_AT_ONCE: usize = 64;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    match &arguments.step {
        None => convert_write::run(&arguments.write, out),
        Some(Step::Scan(arguments)) => run_scan(arguments, out),
        Some(Step::References(arguments)) => convert_references::run(arguments, out),
    }
}

fn run_scan(arguments: &ScanArguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    if are_nat_names(&arguments.files)? {
        bail!(
            "wanted GRIB files to scan for fields, found images: swath convert --plan FILES TARGET reads the headers of .nat files, and says what they hold"
        );
    }
    // A table is written by itself: there is no head and no sum of it.
    let is_text = !arguments.json && arguments.parquet.is_none();
    let format = if is_text { Format::Text } else { Format::Json };
    let mut table = arguments.parquet.as_deref().map(TableFile::create).transpose()?;
    let interrupt = Interrupt::install()?;
    let objects = arguments.url.objects()?;
    let mut listing = Listing::new(format, out)?;
    for files in arguments.files.chunks(FILES_AT_ONCE) {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let opened = open_each(&names, |name| objects.open(name))?;
        for (name, found) in names.iter().zip(scanned(opened, &interrupt)?) {
            match &mut table {
                None => listing.print(name, &found)?,
                Some(table) => {
                    listing.count(&found);
                    table.push(name, &found)?;
                }
            }
        }
    }
    if let Some(table) = table {
        table.finish()?;
    }
    Ok(Verdict::of(listing.end()?))
}

/// What is found in each file.
pub(crate) fn scanned(
    files: impl IntoIterator<Item = Opened>,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<Vec<Found>>> {
    let files: Vec<Opened> = files.into_iter().collect();
    let poll = || interrupt.is_raised();
    let run = RunOptions { interrupt: Some(&poll), ..RunOptions::default() };
    let found = scan_each(&Engine::global(), &files, &ScanOptions::default(), &run);
    if interrupt.is_raised() {
        return Err(Interrupted.into());
    }
    Ok(found?)
}
