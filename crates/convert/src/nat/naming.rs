//! Which files are told to be in the native format: by their names alone, before anything is read.

use crate::{Error, ErrorKind};
use std::path::Path;

/// Whether files are called `.nat`, in whatever case: all of them, or none.
///
/// # Errors
///
/// `Invalid` where some are and others are not: they make different stores.
pub fn are_nat_names<N: AsRef<Path>>(names: &[N]) -> Result<bool, Error> {
    match names.iter().filter(|name| is_nat_name(name.as_ref())).count() {
        0 => Ok(false),
        count if count == names.len() => Ok(true),
        count => {
            let what = format!("{count} of {} files are .nat files: convert them by themselves", names.len());
            Err(Error::new(ErrorKind::Invalid, what))
        }
    }
}

/// Refuses to list .nat files as references: their pixels are of ten bits, which no Zarr array refers to as they lie there.
///
/// # Errors
///
/// `Invalid` where there is one, told of the first.
pub fn refuse_references<N: AsRef<Path>>(names: &[N]) -> Result<(), Error> {
    let Some(found) = names.iter().map(AsRef::as_ref).find(|name| is_nat_name(name)) else { return Ok(()) };
    let what = "wanted GRIB, HDF5 or NetCDF-4 files to list as references, found a EUMETSAT .nat file: convert it instead";
    Err(Error::new(ErrorKind::Invalid, what).with_object(&found.display().to_string()))
}

fn is_nat_name(name: &Path) -> bool {
    name.extension().is_some_and(|end| end.eq_ignore_ascii_case("nat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names() {
        assert!(are_nat_names(&["a.nat", "b/c.NAT", "s3://bucket/d.nat"]).unwrap());
        assert!(!are_nat_names(&["a.grib", "nat", "b.nat.gz"]).unwrap());
        assert!(!are_nat_names::<&str>(&[]).unwrap());
        let error = are_nat_names(&["a.nat", "b.grib"]).unwrap_err();
        assert_eq!(error.message(), "1 of 2 files are .nat files: convert them by themselves");
    }

    #[test]
    fn no_references_are_made_to_images() {
        assert!(refuse_references(&["a.grib", "b.nc"]).is_ok());
        let error = refuse_references(&["a.grib", "s3://bucket/B.NAT"]).unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("s3://bucket/B.NAT")));
    }
}
