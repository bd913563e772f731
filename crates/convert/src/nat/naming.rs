//! Which files are told to be in the native format: by their names alone, before anything is read.

use crate::{Error, ErrorKind};
use std::path::Path;

/// Whether files are called `.nat`, in whatever case: all of them, or none.
///
/// # Errors
///
/// `Invalid` where some are and others are not: they make different stores.
pub fn are_nat_names<N: AsRef<Path>>(names: &[N]) -> Result<bool, Error> {
    let is_nat = |name: &&N| name.as_ref().extension().is_some_and(|end| end.eq_ignore_ascii_case("nat"));
    match names.iter().filter(is_nat).count() {
        0 => Ok(false),
        count if count == names.len() => Ok(true),
        count => {
            let what = format!("{count} of {} files are .nat files: convert them by themselves", names.len());
            Err(Error::new(ErrorKind::Invalid, what))
        }
    }
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
}
