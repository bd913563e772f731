//! How a command ends: one line on standard error, and an exit code.

use crate::verdict::Verdict;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// The command was interrupted from the keyboard.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// The exit code of a command's result, after its error, if any, was printed: `trouble` stands for an error.
pub(crate) fn exit_code(result: anyhow::Result<Verdict>, trouble: u8) -> ExitCode {
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Wrong) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(if is_interrupt(&error) { 130 } else { trouble })
        }
    }
}

/// The exit code of a command line that makes no sense.
pub(crate) fn usage(line: &str) -> ExitCode {
    say(line);
    ExitCode::from(2)
}

/// Prints one line to standard error. A standard error that is closed cannot be told so.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "swath: {line}");
}

/// Whoever reads our output, `head` for one, has read enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn is_interrupt(error: &anyhow::Error) -> bool {
    let cancelled = |error: &swath::Error| error.kind() == swath::ErrorKind::Cancelled;
    error.is::<Interrupted>() || error.downcast_ref::<swath::Error>().is_some_and(cancelled)
}
