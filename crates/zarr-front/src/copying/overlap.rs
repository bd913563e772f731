//! Copies onto their own source: refused ahead of everything, as what is in a copy's place is removed first.

use crate::store::Store;
use crate::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use swath_ioengine::MediumId;

/// Where a node is, as far as that tells whether another is there too.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A path without links.
    Local(PathBuf),
    /// The parts of a URL.
    Url(Vec<String>),
    /// The parts of a key.
    Key(MediumId, Vec<String>),
}

impl Place {
    fn of(store: &Store, path: &str) -> Place {
        let parts = |text: &str| {
            text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<String>>()
        };
        match store.recipe() {
            Some(recipe) if !store.is_remote() => {
                let root = recipe.url.rsplit("::").next().unwrap_or_default();
                // Of an archive, or a file of references, the file itself.
                let inner = if store.catalog().is_none() { path } else { "" };
                Place::Local(without_links(&Path::new(root).join(inner)))
            }
            Some(recipe) => Place::Url(parts(&format!("{}/{path}", recipe.url))),
            None => {
                let object = store.object(path);
                Place::Key(object.medium.id(), parts(&object.key))
            }
        }
    }

    /// True where one is the other, or holds it.
    fn overlaps(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Local(one), Place::Local(other)) => one.starts_with(other) || other.starts_with(one),
            (Place::Url(one), Place::Url(other)) => one.starts_with(other) || other.starts_with(one),
            (Place::Key(medium, one), Place::Key(others, other)) => {
                medium == others && (one.starts_with(other) || other.starts_with(one))
            }
            _ => false,
        }
    }
}

/// Refuses a copy of the node at `from` onto itself, into itself, or over what holds it.
///
/// Local places are compared without links, URLs by their letters; files that references point to are not looked at.
///
/// # Errors
///
/// `Invalid`, naming both.
pub(super) fn refuse_overlap(from: (&Store, &str), to: (&Store, &str)) -> Result<(), Error> {
    if !Place::of(from.0, from.1).overlaps(&Place::of(to.0, to.1)) {
        return Ok(());
    }
    let (source, target) = (from.0.describe(from.1), to.0.describe(to.1));
    let message = format!(
        "is to be copied to itself, into itself or over what holds it: wanted a target apart, found {target}"
    );
    Err(Error::new(ErrorKind::Invalid, message).with_object(&source))
}

/// The path with the links of its existing part resolved.
fn without_links(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for existing in path.ancestors() {
        if let Ok(resolved) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return resolved.join(rest);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use swath_ioengine::MemoryMedium;

    fn refuses(from: (&Store, &str), to: (&Store, &str)) -> bool {
        refuse_overlap(from, to).is_err_and(|error| error.kind() == ErrorKind::Invalid)
    }

    #[test]
    fn local_places_are_seen_through_links_and_spellings() {
        let folder = std::env::temp_dir().join(format!("swath-overlap-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a.zarr/inner")).unwrap();
        std::os::unix::fs::symlink(folder.join("a.zarr"), folder.join("link")).unwrap();
        let store = |name: &str| Store::create_directory(folder.join(name)).unwrap();
        let source = store("a.zarr");
        for (target, path) in [
            ("a.zarr", ""),
            ("./a.zarr", ""),
            ("link", ""),
            ("a.zarr/inner/..", "x"),
            ("", ""),
            ("", "a.zarr/new"),
        ] {
            assert!(refuses((&source, ""), (&store(target), path)), "{target} {path}");
        }
        assert!(refuses((&source, "inner"), (&store("link/inner"), "")));
        for (target, path) in [("b.zarr", ""), ("", "a.zarr2"), ("a.zarr", "other")] {
            assert!(!refuses((&source, "inner"), (&store(target), path)), "{target} {path}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn keys_of_one_medium_are_told_apart() {
        let (one, other) = (MemoryMedium::new(), MemoryMedium::new());
        let (one, other) = (Store::memory(&one), Store::memory(&other));
        assert!(refuses((&one, "a"), (&one, "a")) && refuses((&one, "a/b"), (&one, "a")));
        assert!(refuses((&one, "a"), (&one, "")) && !refuses((&one, "a"), (&one, "ab")));
        assert!(!refuses((&one, "a"), (&other, "a")));
    }
}
