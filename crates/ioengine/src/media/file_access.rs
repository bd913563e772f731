//! How files are read, and who may say so: the caller, the process, or the user by an environment variable.

use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How files are read. By name, as the environment variable `SWATH_FILE_ACCESS` has it: see
/// [`preferred`](FileAccess::preferred).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// io_uring where a real read of this file system through it succeeds, else threads; files that are in the page
    /// cache and read again and again through mappings; files that are not in it, and would not come to stay there, past
    /// it (docs/decisions/0006-direct-reads.md). File systems of a network, and FUSE, by a thread for each read in flight,
    /// through the page cache, and never through mappings. The default.
    ///
    /// Mappings put a handler in front of those that the process has for SIGBUS, which passes on every signal that is not
    /// its own. Programs whose own handlers end the process at once, or that block SIGBUS in the midst of a read, choose
    /// [`Buffered`](FileAccess::Buffered), which puts no handler anywhere: docs/decisions/0005-guarded-mapping.md says when that matters. Bytes that
    /// somebody changes through a writable mapping of the file are seen as they are at that moment, by every access alike.
    #[default]
    Probe,
    /// Every file through a mapping from its first read on, also where that waits for the device. Where a mapping
    /// cannot be had, as [`Probe`](FileAccess::Probe) reads.
    Mapped,
    /// As [`Probe`](FileAccess::Probe), but every read through the page cache, and none through a mapping.
    Buffered,
    /// As [`Probe`](FileAccess::Probe), but every read past the page cache (O_DIRECT): for data that is read once, or that
    /// memory could not hold. Where a file system cannot do it, as [`Buffered`](FileAccess::Buffered).
    Direct,
    /// io_uring, through the page cache; or an error where io_uring does not work (old kernels, containers that block it).
    IoUring,
    /// A pool of threads that call `pread(2)`, through the page cache.
    PreadThreads,
}

/// Every way, by the name that people give it.
const NAMES: [(&str, FileAccess); 6] = [
    ("probe", FileAccess::Probe),
    ("mapped", FileAccess::Mapped),
    ("buffered", FileAccess::Buffered),
    ("direct", FileAccess::Direct),
    ("io_uring", FileAccess::IoUring),
    ("pread", FileAccess::PreadThreads),
];

/// The environment variable that says how files are read.
const VARIABLE: &str = "SWATH_FILE_ACCESS";

/// The place in [`NAMES`] of what the process prefers, plus one; zero for nothing.
static PREFERRED: AtomicUsize = AtomicUsize::new(0);

impl FileAccess {
    /// How this process reads files where the caller does not say: as [`set_preferred`](FileAccess::set_preferred) was
    /// told, else as the environment variable `SWATH_FILE_ACCESS` names it, else [`Probe`](FileAccess::Probe). An empty
    /// variable names nothing.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) where the variable is needed and names no way.
    pub fn preferred() -> Result<FileAccess, Error> {
        preferred(PREFERRED.load(Ordering::Relaxed), std::env::var_os(VARIABLE))
    }

    /// Has files that are opened from now on without a word be read in this way, in this process and its forked
    /// children; `None` leaves it to the environment variable again.
    ///
    /// ```
    /// use swath_ioengine::FileAccess;
    ///
    /// // A program with a SIGBUS handler of its own that ends it at once reads nothing through mappings.
    /// FileAccess::set_preferred(Some(FileAccess::Buffered));
    /// assert_eq!(FileAccess::preferred()?, FileAccess::Buffered);
    /// # FileAccess::set_preferred(None);
    /// # Ok::<(), swath_ioengine::Error>(())
    /// ```
    pub fn set_preferred(access: Option<FileAccess>) {
        let place = access.and_then(|access| NAMES.iter().position(|(_, named)| *named == access));
        PREFERRED.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    }
}

fn preferred(place: usize, variable: Option<OsString>) -> Result<FileAccess, Error> {
    if let Some((_, access)) = place.checked_sub(1).and_then(|place| NAMES.get(place)) {
        return Ok(*access);
    }
    let Some(value) = variable.filter(|value| !value.is_empty()) else { return Ok(FileAccess::default()) };
    // What is no text is no name either.
    value.to_string_lossy().parse().map_err(|error: Error| {
        Error::new(error.kind(), format!("environment variable {VARIABLE}: {}", error.message()))
    })
}

impl fmt::Display for FileAccess {
    /// The name that [`FromStr`] reads.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, access)| access == self).map_or("", |(name, _)| name);
        out.write_str(name)
    }
}

impl FromStr for FileAccess {
    type Err = Error;

    /// By name: `probe`, `mapped`, `buffered`, `direct`, `io_uring` or `pread`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for any other.
    fn from_str(name: &str) -> Result<FileAccess, Error> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, access)| *access).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            Error::new(ErrorKind::Unsupported, format!("wanted one of {names}, found {name:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_name() {
        for (name, access) in NAMES {
            assert_eq!((name.parse::<FileAccess>().unwrap(), access.to_string()), (access, name.to_owned()));
        }
    }

    #[test]
    fn the_process_is_heard_before_the_environment() {
        let variable = |value: &str| Some(OsString::from(value));
        assert_eq!(preferred(0, None).unwrap(), FileAccess::Probe);
        assert_eq!(preferred(0, variable("")).unwrap(), FileAccess::Probe);
        assert_eq!(preferred(0, variable("buffered")).unwrap(), FileAccess::Buffered);
        let pread = NAMES.iter().position(|(name, _)| *name == "pread").unwrap() + 1;
        assert_eq!(preferred(pread, variable("buffered")).unwrap(), FileAccess::PreadThreads);
        assert_eq!(preferred(pread, variable("nonsense")).unwrap(), FileAccess::PreadThreads);
    }

    #[test]
    fn a_way_that_is_none_is_named_with_the_variable() {
        let error = preferred(0, Some(OsString::from("Mapped"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        for part in ["SWATH_FILE_ACCESS", "\"Mapped\"", "probe, mapped, buffered, direct, io_uring, pread"] {
            assert!(error.message().contains(part), "{part}: {error}");
        }
    }
}
