//! Writing whole objects.

use crate::{Error, ErrorKind, Identity};

/// When an object may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PutCondition {
    /// Whatever is there is replaced.
    #[default]
    Always,
    /// Only where nothing is there (`If-None-Match: *`, `O_EXCL`).
    Absent,
    /// Only in place of this version (`If-Match`).
    Matches(Identity),
}

/// Checks a condition against the version that is there, for media that hold a lock on it meanwhile.
pub(crate) fn check_condition(condition: &PutCondition, found: Option<&Identity>) -> Result<(), Error> {
    match (condition, found) {
        (PutCondition::Always, _) | (PutCondition::Absent, None) => Ok(()),
        (PutCondition::Absent, Some(_)) => {
            Err(Error::new(ErrorKind::Changed, "wanted to write where nothing is, found an object"))
        }
        (PutCondition::Matches(wanted), Some(found)) if wanted == found => Ok(()),
        (PutCondition::Matches(wanted), found) => Err(Error::new(
            ErrorKind::Changed,
            format!("wanted to replace the version {wanted:?}, found {found:?}"),
        )),
    }
}
