//! How a device is measured.

use std::time::Duration;

/// How a device is measured.
#[derive(Clone)]
pub struct CalibrationOptions<'a> {
    /// Bytes of the scratch file, rounded down to whole MiB; at least one. Default 256 MiB.
    pub scratch_bytes: u64,
    /// How long to measure, over all; what writing the scratch file takes comes on top. Default 8 s.
    pub time: Duration,
    /// Called now and then; returning true stops it.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
}

impl Default for CalibrationOptions<'_> {
    fn default() -> Self {
        CalibrationOptions { scratch_bytes: 256 << 20, time: Duration::from_secs(8), interrupt: None }
    }
}
