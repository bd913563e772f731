//! `swath convert references FILES... TARGET`: Zarr of GRIB and HDF5 files without a copy.

use crate::convert::scanned;
use crate::convert_write::{Files, name_of, print_damages, print_unplanned};
use crate::hdf5;
use crate::interrupt::Interrupt;
use crate::place::{Place, UrlArguments};
use crate::verdict::Verdict;
use anyhow::{Context, anyhow, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use swath::convert::nat::refuse_references;
use swath::convert::{Plan, PlanOptions, RECORD_SIZE, References, Source, is_hdf5_name, names_below};
use swath::ioengine::storage_len;

/// The arguments of `swath convert references`.
#[derive(clap::Args)]
pub(crate) struct ReferencesArguments {
    /// GRIB files of edition 1 or 2, or one HDF5 or NetCDF-4 file, paths or URLs, and last what to write: a .json file, or in Parquet
    /// a new folder .parq or .parquet. References name local files by their absolute paths.
    #[arg(required = true, num_args = 2.., value_names = ["FILES", "TARGET"])]
    paths: Vec<PathBuf>,
    /// Name files as they lie below the folder of the set, so that all of it can be moved. swath looks for them from there;
    /// fsspec, and with it zarr-python, from the working directory.
    #[arg(long)]
    relative: bool,
    /// Of GRIB files: a dimension that stays where there is one value of it; may be given again.
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Join HDF5 and NetCDF-4 files, in this order, along a dimension, such as time. Its coordinates, and arrays without it, are read.
    #[arg(long, value_name = "DIMENSION", conflicts_with = "keep")]
    concat: Option<String>,
    /// Of a set in Parquet: the rows of a file.
    #[arg(long, value_name = "ROWS", default_value_t = RECORD_SIZE)]
    record_size: u64,
    #[command(flatten)]
    url: UrlArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &ReferencesArguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let (target, files) = arguments.paths.split_last().context("wanted files and a target")?;
    refuse_references(files)?;
    let (references, damages) = match files {
        _ if arguments.concat.is_some() => (of_joined(arguments, files)?, 0),
        [file] if hdf5::is_one(file, &Place::new(file, &arguments.url)?)? => (of_hdf5(arguments, file)?, 0),
        _ if files.iter().any(|file| is_hdf5_name(file)) => {
            bail!(
                "HDF5 and NetCDF files are listed one by one, or joined: swath convert references --concat time FILES TARGET"
            )
        }
        _ => of_grib(arguments, files, out)?,
    };
    for left in &references.left_out {
        writeln!(out, "left out: {}: {}", left.path, left.reason)?;
    }
    for left in &references.differing {
        writeln!(out, "differs: {}: {}", left.path, left.reason)?;
    }
    references.write(&names(arguments, files, target)?, target, arguments.record_size)?;
    writeln!(out, "{} arrays, {} chunks", references.arrays(), references.chunks())?;
    Ok(Verdict::of(damages + storage_len(references.left_out.len())))
}

fn of_hdf5(arguments: &ReferencesArguments, file: &Path) -> anyhow::Result<References> {
    hdf5::references(&file.display().to_string(), &Place::new(file, &arguments.url)?)
}

/// One set of several HDF5 files.
fn of_joined(arguments: &ReferencesArguments, files: &[PathBuf]) -> anyhow::Result<References> {
    let listed = |file: &PathBuf| Ok((file.display().to_string(), of_hdf5(arguments, file)?));
    let listed = files.iter().map(listed).collect::<anyhow::Result<Vec<_>>>()?;
    let dimension = arguments.concat.as_deref().unwrap_or_default();
    Ok(References::concatenated(&listed, dimension, &arguments.url.targets()?)?)
}

/// References to messages, and the count of damages and of fields that have no place, which are printed.
fn of_grib(
    arguments: &ReferencesArguments,
    files: &[PathBuf],
    out: &mut impl Write,
) -> anyhow::Result<(References, u64)> {
    let interrupt = Interrupt::install()?;
    let Files { planned: planned_files, objects } = Files::open(&arguments.url, files)?;
    let (sources, damages) = Source::of(scanned(objects.into_iter().map(Ok), &interrupt)?);
    print_damages(&damages, files, out)?;
    let options = PlanOptions { kept_dimensions: arguments.keep.clone(), ..PlanOptions::default() };
    let planned = Plan::of(planned_files, &sources, &options)?;
    print_unplanned(&planned.unplanned, &sources, files, out)?;
    let references = planned.plan.references(&sources)?;
    Ok((references, storage_len(damages.len() + planned.unplanned.len())))
}

/// What references call the files.
fn names(arguments: &ReferencesArguments, files: &[PathBuf], target: &Path) -> anyhow::Result<Vec<String>> {
    if !arguments.relative {
        return Ok(files.iter().map(|file| name_of(file)).collect());
    }
    let given: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    names_below(&given, target).map_err(|error| anyhow!("--relative: {}", error.message()))
}
