//! How files are read where the caller does not say.

use crate::errors::{Class, error};
use pyo3::prelude::*;
use swath::ioengine::FileAccess;

/// Say how files are read, in arrays and groups that this process opens from now on.
///
/// By default swath copies from memory mappings where files are in the page cache and read again and
/// again. A file that is cut short meanwhile raises SIGBUS then, so swath puts a handler in front of
/// those that the process has; it passes on every signal that is not its own. Programs whose own handler
/// ends the process at once choose "buffered", with which nothing is mapped and no handler is put
/// anywhere, and do so before they read anything.
///
/// Parameters
/// ----------
/// way : str or None
///     "probe" chooses for each file, the default. "mapped" maps every file. "buffered" goes through the
///     page cache by system calls and maps nothing. "direct" goes past the page cache (O_DIRECT), for
///     data that is read once or that memory could not hold. "io_uring" and "pread" are as "buffered",
///     always by io_uring or always by threads. None goes back to what the environment variable
///     `SWATH_FILE_ACCESS` names, which is also what started worker processes read by, or else to "probe".
///
/// Raises
/// ------
/// InvalidError
///     There is no such way.
///
/// Examples
/// --------
/// >>> swath.set_file_access("buffered")
#[pyfunction]
pub(crate) fn set_file_access(py: Python<'_>, way: Option<&str>) -> PyResult<()> {
    let access = way.map(str::parse::<FileAccess>).transpose();
    FileAccess::set_preferred(access.map_err(|found| error(py, Class::Invalid, found.message(), ""))?);
    Ok(())
}
