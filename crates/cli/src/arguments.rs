//! What stands on the command line, and how its errors become one line.

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// Read huge Zarr arrays by random crops: what is stored, what a selection holds, how fast crops are read, what is wrong.
#[derive(Parser)]
#[command(name = "swath", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show the groups and arrays at a path or a URL.
    Info(crate::info::Arguments),
    /// Read a selection: its statistics to the terminal, or the values to a .npy file.
    Read(crate::read::Arguments),
    /// Measure how fast random crops of an array are read.
    Bench(crate::bench::Arguments),
    /// Copy an array or a group: in other chunks, shards, codecs, or the other format, between any two stores.
    Copy(crate::copy::Arguments),
    /// Compare two arrays or groups: metadata and values, however they are stored.
    Diff(crate::diff::Arguments),
    /// Count, extremes, mean, spread and histogram of an array's elements, and what is missing.
    Stats(crate::stats::Arguments),
    /// Read and decode everything that is stored, and list what is wrong.
    Validate(crate::validate::Arguments),
    /// List the fields of GRIB files, or write them to Zarr.
    Convert(crate::convert::Arguments),
}

impl Command {
    /// The exit code of the command where it could not be done.
    pub(crate) fn trouble(&self) -> u8 {
        // As diff has it: 1 says that something differs.
        if matches!(self, Command::Diff(_)) { 2 } else { 1 }
    }
}

/// What the command line came to.
pub(crate) enum Parsed {
    /// A command to run.
    Run(Box<Command>),
    /// Help or version, to be printed.
    Show(String),
    /// Wrong usage, as one line.
    Wrong(String),
}

/// Parses the command line, the program's name first.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Parsed {
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => Parsed::Run(Box::new(arguments.command)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Parsed::Show(error.to_string()),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                Parsed::Wrong(
                    "wanted a command: info, read, bench, copy, diff, stats, validate or convert (see `swath --help`)"
                        .to_owned(),
                )
            }
            _ => Parsed::Wrong(one_line(&error.to_string())),
        },
    }
}

/// The first paragraph of clap's error and its tips, without line breaks: scripts log lines, not paragraphs.
fn one_line(text: &str) -> String {
    let joined = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n");
    let first = joined(paragraphs.next().unwrap_or_default());
    let mut line = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    for tip in paragraphs.map(joined).filter(|paragraph| paragraph.starts_with("tip: ")) {
        line.push_str("; ");
        line.push_str(&tip);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn errors_become_one_line_with_their_tips() {
        let wrong = |arguments: &[&str]| match parse(arguments.iter().map(OsString::from)) {
            Parsed::Wrong(line) => line,
            Parsed::Run(_) | Parsed::Show(_) => panic!("{arguments:?} is right"),
        };
        assert_eq!(wrong(&["swath", "info"]), "the following required arguments were not provided: <PATH>");
        assert!(
            wrong(&["swath", "info", "a", "--jsn"]).contains("; tip: a similar argument exists: '--json'")
        );
        assert!(wrong(&["swath"]).contains("info, read, bench"));
        assert!(!wrong(&["swath", "bench", "a", "--crop", "4,x"]).contains('\n'));
    }
}
