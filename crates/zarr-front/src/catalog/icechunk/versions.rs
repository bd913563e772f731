//! Which version of an object a virtual chunk means, and which one is there: looked up once for each object, by one small read
//! or a look at the file, before any of its bytes count. What is read later has to be of the version that was found then.

use super::manifest::{Checksum, Location};
use crate::catalog::fetch::fetch_identities;
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, FileIdentity, Identity, ObjectRef};

/// Versions of objects elsewhere that were found to be those that are meant.
#[derive(Default)]
pub(super) struct Versions(Mutex<HashMap<Location, Identity>>);

impl Versions {
    /// The versions of objects, all that are not known yet looked up at once. `None` where any version is meant.
    ///
    /// # Errors
    ///
    /// For each object: `Io` where it is another version than the one that is meant, `Unsupported` where that cannot be told.
    pub(super) fn check(
        &self,
        engine: &Engine,
        wanted: &[(Location, Result<ObjectRef, Error>)],
    ) -> Result<Vec<Result<Option<Identity>, Error>>, Error> {
        let mut known: Vec<Option<Result<Option<Identity>, Error>>> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.iter().map(|(location, object)| known_by_now(&known, location, object)).collect()
        };
        let asked: Vec<usize> = (0..wanted.len()).filter(|number| known[*number].is_none()).collect();
        let objects: Vec<ObjectRef> =
            asked.iter().filter_map(|number| wanted[*number].1.as_ref().ok().cloned()).collect();
        let found = fetch_identities(engine, &objects)?;
        for (number, identity) in asked.into_iter().zip(found) {
            let location = &wanted[number].0;
            let checked = identity.and_then(|identity| checked(location, identity));
            if let Ok(identity) = &checked {
                let mut versions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                versions.insert(location.clone(), identity.clone());
            }
            known[number] = Some(checked.map(Some));
        }
        let lost = || Err(Error::new(ErrorKind::Internal, "a version that was not looked up"));
        Ok(known.into_iter().map(|known| known.unwrap_or_else(lost)).collect())
    }

    /// Looks all up again when they are asked for next.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn known_by_now(
    known: &HashMap<Location, Identity>,
    location: &Location,
    object: &Result<ObjectRef, Error>,
) -> Option<Result<Option<Identity>, Error>> {
    match (object, &location.checksum) {
        (Err(error), _) => Some(Err(error.clone())),
        (Ok(_), None) => Some(Ok(None)),
        (Ok(_), Some(_)) => known.get(location).cloned().map(|identity| Ok(Some(identity))),
    }
}

/// The version, if it is the one that is meant.
fn checked(location: &Location, found: Option<Identity>) -> Result<Identity, Error> {
    let Some(checksum) = &location.checksum else {
        return Err(Error::new(ErrorKind::Internal, "a version that nobody asked for"));
    };
    let is_it = found.as_ref().and_then(|found| is_meant(checksum, found));
    match (is_it, found) {
        (Some(true), Some(found)) => Ok(found),
        (Some(false), _) => {
            let message = "a virtual chunk is of another version of its object than the one that is there: it was \
                           changed after the chunk was written";
            Err(Error::new(ErrorKind::Io, message))
        }
        _ => Err(Error::unsupported(
            "virtual chunks of an object whose version is told by a time or a tag that its storage does not tell",
        )),
    }
}

/// Whether a version is the one that is meant; `None` where it does not tell.
fn is_meant(checksum: &Checksum, found: &Identity) -> Option<bool> {
    match (checksum, found) {
        (Checksum::Tag(wanted), Identity::Tag(_)) => Some(bare(wanted) == bare(found.entity_tag()?)),
        (Checksum::Tag(wanted), Identity::File(file)) => Some(bare(wanted) == file_tag(file)),
        (Checksum::Modified(seconds), Identity::File(file)) => {
            Some(file.modified_ns <= i128::from(*seconds) * NS_PER_S)
        }
        (Checksum::Modified(seconds), Identity::Tag(_)) => {
            Some(found.modified_ns()? <= i128::from(*seconds) * NS_PER_S)
        }
        (_, Identity::Version(_)) => None,
    }
}

const NS_PER_S: i128 = 1_000_000_000;

/// A tag without the quotes around it, which some writers leave out.
fn bare(tag: &str) -> &str {
    tag.trim_matches('"')
}

/// The tag by which Icechunk knows a local file: that of the crate `object_store`.
fn file_tag(file: &FileIdentity) -> String {
    format!("{:x}-{:x}-{:x}", file.inode, file.modified_ns / 1000, file.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared() {
        let tag = |tag: &str| Identity::Tag(tag.into());
        let meant = |wanted: &str, found: &str| is_meant(&Checksum::Tag(wanted.to_owned()), &tag(found));
        assert_eq!(meant("a", "\"a\""), Some(true));
        assert_eq!(meant("\"a\"", "\"a\"\n17"), Some(true));
        assert_eq!(meant("a", "\"b\""), Some(false));
        assert_eq!(meant("a", "\n17"), None);
        assert_eq!(meant("a", "modified 17"), None);
        let file =
            FileIdentity { device: 1, inode: 0x1f, size: 0x20, modified_ns: 10_000_000_999, changed_ns: 0 };
        let of_file = |checksum: Checksum| is_meant(&checksum, &Identity::File(file));
        assert_eq!(of_file(Checksum::Tag("1f-989680-20".to_owned())), Some(true));
        assert_eq!(of_file(Checksum::Tag("1f-989680-21".to_owned())), Some(false));
        assert_eq!(of_file(Checksum::Modified(11)), Some(true));
        assert_eq!(of_file(Checksum::Modified(10)), Some(false));
        assert_eq!(is_meant(&Checksum::Modified(1), &tag("\"a\"")), None);
        assert_eq!(is_meant(&Checksum::Modified(1), &tag("modified 1000000000")), Some(true));
        assert_eq!(is_meant(&Checksum::Modified(1), &Identity::Version(3)), None);
    }
}
