//! How HDF5 and NetCDF-4 files are told from others.

use crate::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead, RunOptions, storage_len};

/// What such files end in.
const EXTENSIONS: [&str; 5] = ["h5", "hdf5", "he5", "nc", "nc4"];

/// What such files begin with, as a rule: some have bytes of others before it.
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Whether a file begins as HDF5 files do. One that cannot be read does not.
///
/// # Errors
///
/// What ended the read as a whole.
pub fn has_hdf5_signature(engine: &Engine, file: &ObjectRef) -> Result<bool, Error> {
    let is_one = AtomicBool::new(false);
    let look = |_: usize, bytes: Result<&[u8], swath_ioengine::Error>| {
        is_one.store(bytes.is_ok_and(|bytes| bytes == SIGNATURE), Ordering::Relaxed);
    };
    let range = ByteRange::Bounded { offset: 0, len: storage_len(SIGNATURE.len()) };
    engine.read_ranges(
        std::slice::from_ref(file),
        &[RangeRead { object: 0, range }],
        look,
        &RunOptions::default(),
    )?;
    Ok(is_one.into_inner())
}

/// Whether a file is an HDF5 or NetCDF-4 one by its name: it ends in `.h5`, `.hdf5`, `.he5`, `.nc` or `.nc4`, in any case.
#[must_use]
pub fn is_hdf5_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The first part of a path or URL that is called as such a file and is there, and the place within it, without slashes around it.
///
/// ```
/// let found = swath_convert::hdf5_file_in("s3://bucket/ocean.nc/below/w", |_| true);
/// assert_eq!(found, Some(("s3://bucket/ocean.nc", "below/w")));
/// ```
#[must_use]
pub fn hdf5_file_in(text: &str, is_there: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let ends = text.match_indices('/').map(|(end, _)| end).chain([text.len()]);
    let mut parts = ends.filter_map(|end| Some((text.get(..end)?, text.get(end..)?.trim_matches('/'))));
    parts.find(|(file, _)| is_hdf5_name(Path::new(file)) && is_there(file))
}
