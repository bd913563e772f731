//! Which stored calibration counts for a directory: one that is broken, of another version, of another device or out of bounds is
//! ignored, with a warning.

use super::stored::cache_folder;
use super::{Calibration, CalibrationUse, DeviceKey};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// More than any calibration has.
const FILE_BYTES_MAX: u64 = 16 << 10;

impl Calibration {
    /// The stored calibration of the device that a directory is on, as files that are opened there use it; `None` where there is
    /// none, where `SWATH_CALIBRATION` is `off`, and where the directory cannot be opened.
    pub fn of(directory: &Path) -> Option<Calibration> {
        let opened = File::open(directory).ok()?;
        Calibration::find(&CalibrationUse::Stored, opened.as_fd())
    }

    /// The calibration of the device that a directory is on, if there is one to be used.
    pub(crate) fn find(wanted: &CalibrationUse, directory: BorrowedFd<'_>) -> Option<Calibration> {
        let folder = match wanted {
            CalibrationUse::Ignored => return None,
            CalibrationUse::StoredIn(folder) => folder.clone(),
            CalibrationUse::Stored if is_off() => return None,
            CalibrationUse::Stored => cache_folder()?,
        };
        let device = DeviceKey::of(directory).ok()?;
        let path = folder.join(device.file_name());
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a stored calibration is ignored");
                return None;
            }
        };
        let found = Calibration::from_json(&text).filter(|found| found.device == device);
        if found.is_none() {
            tracing::warn!(path = %path.display(), "a stored calibration is ignored: broken, or of another device");
        }
        found
    }
}

fn is_off() -> bool {
    std::env::var_os("SWATH_CALIBRATION").is_some_and(|value| value == "off")
}

fn read_bounded(path: &Path) -> std::io::Result<String> {
    // A pipe in its place must not be waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::example;
    use std::os::fd::AsFd;

    #[test]
    fn a_broken_calibration_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let directory = File::open(folder.path()).unwrap();
        let device = DeviceKey::of(directory.as_fd()).unwrap();
        let own = Calibration { device, ..example() };
        let wanted = CalibrationUse::StoredIn(folder.path().join("made"));
        let find = || Calibration::find(&wanted, directory.as_fd());
        assert_eq!(find(), None);
        let path = own.store_in(&folder.path().join("made")).unwrap();
        assert_eq!(find(), Some(own.clone()));
        let other = Calibration { device: DeviceKey { minor: device.minor ^ 1, ..device }, ..own.clone() };
        let long = own.to_json() + &" ".repeat(20_000);
        for bytes in
            [&b""[..], b"\xff\xfe", b"{\"version\": 1}", other.to_json().as_bytes(), &long.as_bytes()[1..]]
        {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(find(), None);
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(find(), None);
        assert_eq!(Calibration::find(&CalibrationUse::Ignored, directory.as_fd()), None);
        assert!(own.store_in(&folder.path().join("made")).is_err());
        assert_eq!(folder.path().join("made").read_dir().unwrap().count(), 1);
    }
}
