//! Checks a checkout against the house rules: `cargo run -p swath-tidy [-- --verbose] [ROOT]`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use swath_tidy::{Repository, check, long_files};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<bool> {
    let mut root = PathBuf::from(".");
    let mut verbose = false;
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--verbose") => verbose = true,
            Some(flag) if flag.starts_with('-') => {
                return Err(io::Error::other(format!(
                    "unknown flag {flag}; usage: swath-tidy [--verbose] [ROOT]"
                )));
            }
            _ => root = PathBuf::from(argument),
        }
    }
    report(&root, verbose)
}

/// Prints one line a finding; returns whether there was none.
fn report(root: &Path, verbose: bool) -> io::Result<bool> {
    let repository = Repository::load(root)?;
    if repository.file("Cargo.toml").is_none() {
        return Err(io::Error::other(format!("{} is not the root of the repository", root.display())));
    }
    let mut output = io::stdout().lock();
    if verbose {
        for note in long_files(&repository) {
            writeln!(output, "note: {note}")?;
        }
    }
    let findings = check(&repository)?;
    for finding in &findings {
        writeln!(output, "{finding}")?;
    }
    Ok(findings.is_empty())
}
