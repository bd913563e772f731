//! `swath bench --calibrate`: what the device does, measured and stored.

use crate::failure::Interrupted;
use crate::interrupt::Interrupt;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use swath::ioengine::{CalibrationOptions, ErrorKind, calibrate};

/// How a device is measured.
pub(crate) struct Amount {
    /// MiB of the scratch file.
    pub(crate) scratch_mib: u64,
    /// How long, if it was said.
    pub(crate) time: Option<Duration>,
}

/// How what was found is printed.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    /// As a table.
    Table,
    /// As one line of JSON.
    Json,
}

/// Measures the device that `folder` is on, stores what was found, and prints it.
pub(crate) fn run(
    folder: &Path,
    amount: &Amount,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let interrupt = Interrupt::install()?;
    let is_raised = || interrupt.is_raised();
    let defaults = CalibrationOptions::default();
    let options = CalibrationOptions {
        scratch_bytes: amount.scratch_mib.saturating_mul(1 << 20),
        time: amount.time.unwrap_or(defaults.time),
        interrupt: Some(&is_raised),
    };
    let found = calibrate(folder, &options).map_err(|error| match error.kind() {
        ErrorKind::Cancelled => anyhow::Error::new(Interrupted),
        _ => anyhow::Error::new(error),
    })?;
    let path = found.store()?;
    match format {
        Format::Json => {
            let mut value: serde_json::Value = serde_json::from_str(&found.to_json())?;
            value["stored"] = path.to_string_lossy().into();
            writeln!(out, "{value}")?;
        }
        Format::Table => writeln!(out, "{found}\nstored in {}", path.display())?,
    }
    Ok(())
}
