//! Platforms on which no device is measured.

use super::{Calibration, CalibrationOptions};
use crate::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;

impl Calibration {
    /// None: that needs Linux.
    pub fn of(_directory: &Path) -> Option<Calibration> {
        None
    }
}

/// Measures nothing: that needs Linux.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported).
pub fn calibrate(path: impl AsRef<Path>, _options: &CalibrationOptions<'_>) -> Result<Calibration, Error> {
    let object = Arc::from(path.as_ref().to_string_lossy());
    let message = "calibrations need Linux: the named defaults of costs count on this platform";
    Err(Error::new(ErrorKind::Unsupported, message).with_object(&object))
}
