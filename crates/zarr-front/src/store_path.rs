//! Stores by path.

use crate::catalog::references::ReferenceTargets;
use crate::store::StoreRecipe;
use crate::{Error, ErrorKind, Store};
use bytes::Bytes;
use std::path::Path;
use swath_ioengine::{ByteRange, Engine, FileAccess, LocalFiles, ObjectRef};

impl Store {
    /// Whatever a path of the local file system names: a directory; a zip archive, which is a file whose name ends in `.zip`;
    /// or references, in a file whose name ends in `.json` or, in Parquet, in a directory whose name ends in `.parq` or
    /// `.parquet`, in whatever case.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is none; as [`Store::references`] for these; as [`Store::directory`] otherwise.
    pub fn path(path: impl AsRef<Path>) -> Result<Store, Error> {
        let path = path.as_ref();
        if is_parquet_name(path) && path.join(".zmetadata").is_file() {
            return Store::reference_file(path, ReferenceTargets::default());
        }
        match (is_zip_name(path), is_reference_name(path)) {
            (true, _) if path.is_file() => Store::zip_file(path, None),
            (_, true) if path.is_file() => Store::reference_file(path, ReferenceTargets::default()),
            _ => Store::directory(path),
        }
    }

    /// References in a file of the local file system, see [`Store::references`], or in a directory, see
    /// [`Store::parquet_references`]. Relative paths start from the folder that it lies in.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such file; as [`Store::references`].
    pub fn reference_file(path: impl AsRef<Path>, targets: ReferenceTargets) -> Result<Store, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = absolute.parent().and_then(Path::to_str).map(str::to_owned);
        let is_plain = targets.is_plain();
        let targets = targets.beside(folder.as_deref());
        let store = match path.is_dir() {
            true => Store::parquet_references(Store::directory(path)?, targets)?,
            false => {
                let document = read_references(&local_object(path)?).map_err(|error| error.about(&name))?;
                Store::references(&document, targets, &name)?
            }
        };
        Ok(match absolute.to_str().filter(|_| is_plain) {
            Some(path) if is_reference_name(&absolute) || is_parquet_name(&absolute) => {
                store.with_recipe(StoreRecipe { url: path.to_owned(), ..StoreRecipe::default() })
            }
            Some(path) => {
                store.with_recipe(StoreRecipe { url: format!("reference::{path}"), ..StoreRecipe::default() })
            }
            None => store,
        })
    }

    /// A zip archive in the local file system: see [`Store::zip`].
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such file; as [`Store::directory`] for the directory that it is in.
    pub fn zip_file(path: impl AsRef<Path>, root: Option<&str>) -> Result<Store, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let archive = local_object(path)?;
        let absolute =
            std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        let store = Store::zip(archive, root, &name);
        let recipe = absolute.map(|path| match root {
            None if is_zip_name(Path::new(&path)) => path,
            root => zip_url(&path, root.unwrap_or_default()),
        });
        Ok(match recipe {
            Some(url) => store.with_recipe(StoreRecipe { url, ..StoreRecipe::default() }),
            None => store,
        })
    }
}

/// The URL of a directory in the archive at a path or URL: `zip://a/b::/data/c.zip`.
pub(crate) fn zip_url(archive: &str, root: &str) -> String {
    format!("zip://{root}::{archive}")
}

/// Whether a path or URL names a zip archive by its suffix.
pub(crate) fn is_zip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}

/// Whether a path or URL names references by its suffix.
pub(crate) fn is_reference_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Whether a path or URL names references in Parquet by its suffix.
pub(crate) fn is_parquet_name(path: &Path) -> bool {
    let is = |known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    is("parq") || is("parquet")
}

/// The document of a reference set.
pub(crate) fn read_references(object: &ObjectRef) -> Result<Bytes, Error> {
    Ok(Engine::global().read_object(object, ByteRange::Whole { len_max: REFERENCE_BYTES_MAX })?)
}

/// Bytes of a reference document at most: some five million references.
const REFERENCE_BYTES_MAX: u64 = 512 << 20;

/// A local file as an object of the directory that it is in.
pub(crate) fn local_object(path: &Path) -> Result<ObjectRef, Error> {
    let named = |error: Error| error.about(&path.to_string_lossy());
    let key = path.file_name().and_then(|name| name.to_str());
    let Some(key) = key.filter(|_| path.is_file()) else {
        return Err(named(Error::new(ErrorKind::NotFound, "no such file, or its name is not UTF-8")));
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let files = FileAccess::preferred()
        .and_then(|access| LocalFiles::open(folder, access))
        .map_err(|error| named(error.into()))?;
    Ok(files.object(key))
}
