//! The `swath` command line: what a Zarr hierarchy holds, what a selection reads to, how fast crops of it are read.
//!
//! This crate knows arguments, terminals and figures; reading itself is the library's. Exit codes: 0 done (a reader
//! that closed our output early included), 1 failed, 2 wrong usage, 130 interrupted.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod bench_cache;
mod bench_remote;
mod bench_report;
mod bench_run;
mod calibrate;
mod crops;
mod failure;
mod info;
mod info_text;
mod interrupt;
mod locate;
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
mod statistics;
mod step_chart;
mod tree;

use arguments::{Command, Parsed};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os()) {
        Parsed::Run(command) => failure::exit_code(run(command)),
        Parsed::Show(text) => failure::exit_code(show(&text)),
        Parsed::Wrong(line) => failure::usage(&line),
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    match command {
        Command::Info(arguments) => info::run(&arguments, &mut out)?,
        Command::Read(arguments) => read::run(&arguments, &mut out)?,
        Command::Bench(arguments) => bench::run(&arguments, &mut out)?,
    }
    Ok(out.flush()?)
}

/// Help and version are what was asked for, so they go to standard output.
fn show(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
