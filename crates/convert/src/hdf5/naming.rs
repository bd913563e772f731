//! How HDF5 and NetCDF-4 files are called.

use std::path::Path;

/// What such files end in.
const EXTENSIONS: [&str; 5] = ["h5", "hdf5", "he5", "nc", "nc4"];

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
