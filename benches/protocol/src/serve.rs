//! The conversation with the runner, over standard input and output.

use crate::Case;
use crate::usage::Usage;
use serde_json::{Value, json};
use std::fmt;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What went wrong, in words.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A reader that is set up for one case.
pub trait Reader {
    /// One pass. Only this is timed. Returns the latency of each selection, in nanoseconds, where the case asks for
    /// one call a selection, and nothing else.
    ///
    /// # Errors
    ///
    /// Whatever failed: the runner stops.
    fn pass(&mut self) -> Result<Vec<u64>, Failure>;

    /// The checksum of what the last pass read.
    fn checksum(&self) -> u64;
}

/// A reader, and what it says of itself.
pub struct Ready {
    /// The reader.
    pub reader: Box<dyn Reader>,
    /// How it reads, for the report.
    pub details: String,
}

/// The error of a reader that cannot do a case at all; any other error at set-up is a fault.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The whole program of a reader: its arguments, its set-up by `make` from a case and a variant, and its passes.
pub fn serve(
    name: &str,
    version: &str,
    make: impl FnOnce(&Case, Option<&str>) -> Result<Ready, Failure>,
) -> ExitCode {
    match converse(name, version, make) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn converse(
    name: &str,
    version: &str,
    make: impl FnOnce(&Case, Option<&str>) -> Result<Ready, Failure>,
) -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let case = Case::load(&arguments.workload)?;
    let mut ready = match make(&case, arguments.variant.as_deref()) {
        Ok(ready) => ready,
        Err(error) if error.is::<Refused>() => {
            return say(&json!({"ready": false, "reason": error.to_string()}));
        }
        Err(error) => return Err(error),
    };
    say(&json!({"ready": true, "reader": name, "version": version, "details": ready.details}))?;
    for line in std::io::stdin().lock().lines() {
        match line?.trim() {
            "pass" => match pass(ready.reader.as_mut()) {
                Ok(answer) => say(&answer)?,
                Err(error) => say(&json!({"error": error.to_string()}))?,
            },
            "close" => break,
            "" => {}
            other => return Err(format!("wanted `pass` or `close`, found `{other}`").into()),
        }
    }
    Ok(())
}

fn pass(reader: &mut dyn Reader) -> Result<Value, Failure> {
    let before = Usage::now();
    let start = Instant::now();
    let latencies = reader.pass()?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = Usage::now().since(before);
    let mut answer = json!({
        "seconds": seconds,
        "checksum": format!("{:016x}", reader.checksum()),
        "user_seconds": usage.user_seconds,
        "system_seconds": usage.system_seconds,
    });
    if !latencies.is_empty() {
        answer["latencies_ns"] = json!(latencies);
    }
    Ok(answer)
}

fn say(answer: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}

struct Arguments {
    workload: PathBuf,
    variant: Option<String>,
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments, Failure> {
        let (mut workload, mut variant) = (None, None);
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} wants a value"))?;
            match name.as_str() {
                "--workload" => workload = Some(PathBuf::from(value)),
                "--variant" => variant = Some(value),
                _ => return Err(format!("wanted --workload FILE [--variant NAME], found {name}").into()),
            }
        }
        let workload = workload.ok_or("wanted --workload FILE [--variant NAME]")?;
        Ok(Arguments { workload, variant })
    }
}
