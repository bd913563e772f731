//! The `swath` command line: what a Zarr hierarchy holds, what a selection reads to, how fast crops of it are read, whether
//! all of it is sound, how two differ; copies in other forms; and what fields GRIB files have.
//!
//! This crate knows arguments, terminals and figures; reading itself is the library's. Exit codes: 0 done (a reader
//! that closed our output early included), 1 failed, or found what is wrong, 2 wrong usage, 130
//! interrupted. Those of `diff` are diff's: 0 equal, 1 different, 2 trouble.

#![deny(unsafe_code)]

mod allocator;
mod arguments;
mod bench;
mod bench_cache;
mod bench_remote;
mod bench_report;
mod bench_run;
mod calibrate;
mod cf_time;
mod convert;
mod convert_nat;
mod convert_options;
mod convert_references;
mod convert_write;
mod copy;
mod crops;
mod diff;
mod diff_metadata;
mod diff_values;
mod failure;
mod gather;
mod grouping;
mod hdf5;
mod histogram;
mod info;
mod info_text;
mod interrupt;
mod leftovers;
mod locate;
mod mask_file;
mod missing;
mod npy;
mod npy_file;
mod number;
mod page_cache;
mod pieces;
mod place;
mod process;
mod progress;
mod quantity;
mod read;
mod read_report;
mod scan_report;
mod scan_table;
mod statistics;
mod stats;
mod stats_report;
mod step_chart;
mod summary;
mod svg;
mod tree;
mod validate;
mod validate_report;
mod verdict;

use arguments::{Command, Parsed};
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use verdict::Verdict;

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os()) {
        Parsed::Run(command) => {
            let trouble = command.trouble();
            failure::exit_code(run(*command), trouble)
        }
        Parsed::Show(text) => failure::exit_code(show(&text), 1),
        Parsed::Wrong(line) => failure::usage(&line),
    }
}

fn run(command: Command) -> anyhow::Result<Verdict> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut verdict = Verdict::Fine;
    swath::convert::register_grib_codecs();
    match command {
        Command::Info(arguments) => info::run(&arguments, &mut out)?,
        Command::Read(arguments) => read::run(&arguments, &mut out)?,
        Command::Bench(arguments) => bench::run(&arguments, &mut out)?,
        Command::Copy(arguments) => verdict = copy::run(&arguments, &mut out)?,
        Command::Diff(arguments) => verdict = diff::run(&arguments, &mut out)?,
        Command::Stats(arguments) => stats::run(&arguments, &mut out)?,
        Command::Validate(arguments) => verdict = validate::run(&arguments, &mut out)?,
        Command::Convert(arguments) => verdict = convert::run(&arguments, &mut out)?,
    }
    out.flush()?;
    Ok(verdict)
}

/// Help and version are what was asked for, so they go to standard output.
fn show(text: &str) -> anyhow::Result<Verdict> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Verdict::Fine)
}
