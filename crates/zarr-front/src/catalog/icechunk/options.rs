//! Which state of a repository is read, and what else a reader says.

#[cfg(any(test, feature = "cloud"))]
use crate::{Error, percent::decoded};
use std::fmt;

/// Which state of an Icechunk repository is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The snapshot that a branch leads to when the store is opened. Later commits are not seen.
    Branch(String),
    /// The snapshot that a tag names.
    Tag(String),
    /// A snapshot by its id, such as `1CECHNKREP0F1RSTCMT0`.
    Snapshot(String),
}

/// How an Icechunk repository is read.
///
/// # Examples
///
/// ```
/// use swath_zarr_front::{IcechunkOptions, Revision};
///
/// let options = IcechunkOptions::new().with_revision(Revision::Tag("v1".to_owned())).authorize("s3://source/");
/// assert_eq!(options.to_string(), "tag=v1&virtual=s3://source/");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcechunkOptions {
    revision: Revision,
    authorized: Vec<String>,
}

impl Default for IcechunkOptions {
    fn default() -> IcechunkOptions {
        IcechunkOptions { revision: Revision::Branch("main".to_owned()), authorized: Vec::new() }
    }
}

impl IcechunkOptions {
    /// The branch `main`, without virtual chunks.
    #[must_use]
    pub fn new() -> IcechunkOptions {
        IcechunkOptions::default()
    }

    /// The same options, of another state of the repository.
    #[must_use]
    pub fn with_revision(self, revision: Revision) -> IcechunkOptions {
        IcechunkOptions { revision, ..self }
    }

    /// Lets chunks be read that lie elsewhere, in the container of this URL prefix, which the repository's configuration has to
    /// name as well. Without this, virtual chunks are errors: whoever wrote the repository would choose what is read with the
    /// reader's credentials, and of its disk.
    #[must_use]
    pub fn authorize(mut self, prefix: &str) -> IcechunkOptions {
        self.authorized.push(prefix.to_owned());
        self
    }

    /// Which state of the repository is read.
    #[must_use]
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    pub(super) fn authorized(&self) -> &[String] {
        &self.authorized
    }

    /// Options as they stand in a URL: `branch=`, `tag=` or `snapshot=`, and any number of `virtual=`, with `&` between them and
    /// percent signs for what has a meaning there. Nothing stands for the branch `main`.
    ///
    /// # Errors
    ///
    /// `Invalid` for other fields, and for more than one state.
    #[cfg(any(test, feature = "cloud"))]
    pub(crate) fn parse(text: &str) -> Result<IcechunkOptions, Error> {
        let mut options = IcechunkOptions::new();
        let mut is_told = false;
        for field in text.split('&').filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            let value = decoded(value)?.into_owned();
            let revision = match name {
                "virtual" => {
                    options.authorized.push(value);
                    continue;
                }
                "branch" => Revision::Branch(value),
                "tag" => Revision::Tag(value),
                "snapshot" => Revision::Snapshot(value),
                _ => return Err(wrong(field)),
            };
            if is_told {
                return Err(wrong(text));
            }
            (options.revision, is_told) = (revision, true);
        }
        Ok(options)
    }
}

#[cfg(any(test, feature = "cloud"))]
fn wrong(found: &str) -> Error {
    Error::invalid(format!(
        "wanted one of `branch=`, `tag=` and `snapshot=`, and any number of `virtual=`, of an Icechunk repository, \
         found {found:?}"
    ))
}

impl fmt::Display for IcechunkOptions {
    /// As they stand in a URL.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = match &self.revision {
            Revision::Branch(name) => ("branch", name),
            Revision::Tag(name) => ("tag", name),
            Revision::Snapshot(id) => ("snapshot", id),
        };
        write!(out, "{name}={}", encoded(value))?;
        for prefix in &self.authorized {
            write!(out, "&virtual={}", encoded(prefix))?;
        }
        Ok(())
    }
}

impl fmt::Display for Revision {
    /// For people.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Branch(name) => write!(out, "the branch {name:?}"),
            Revision::Tag(name) => write!(out, "the tag {name:?}"),
            Revision::Snapshot(id) => write!(out, "the snapshot {id:?}"),
        }
    }
}

/// The text with percent signs for what ends a field, or the options.
fn encoded(text: &str) -> String {
    let mut found = text.replace('%', "%25");
    for (character, code) in [("&", "%26"), ("?", "%3F"), ("#", "%23"), ("@", "%40"), ("::", "%3A%3A")] {
        found = found.replace(character, code);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn options_stand_in_urls() {
        for (text, revision, prefixes) in [
            ("", Revision::Branch("main".to_owned()), &[][..]),
            ("branch=a%26b", Revision::Branch("a&b".to_owned()), &[]),
            ("tag=v::1%25", Revision::Tag("v::1%".to_owned()), &[]),
            (
                "snapshot=X&virtual=file:///a b/&virtual=s3://c%23/",
                Revision::Snapshot("X".to_owned()),
                &["file:///a b/", "s3://c#/"],
            ),
        ] {
            let options = IcechunkOptions::parse(text).unwrap();
            let wanted = IcechunkOptions::new().with_revision(revision);
            let wanted = prefixes.iter().fold(wanted, |options, prefix| options.authorize(prefix));
            assert_eq!(options, wanted, "{text}");
            assert_eq!(IcechunkOptions::parse(&options.to_string()).unwrap(), wanted, "{options}");
            assert!(!options.to_string().contains("::"));
        }
        for wrong in ["main", "branch=a&tag=b", "commit=x", "snapshot=a&snapshot=b", "branch=%ff"] {
            assert_eq!(IcechunkOptions::parse(wrong).unwrap_err().kind(), ErrorKind::Invalid, "{wrong}");
        }
    }
}
