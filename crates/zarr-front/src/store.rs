//! Where a hierarchy lives: a medium, and a prefix of its keys; or what says of each key which part of another object it is.

use crate::catalog::Catalog;
use crate::catalog::icechunk::{Icechunk, IcechunkOptions, Opened, Revision};
use crate::catalog::records::Records;
use crate::catalog::references::{ReferenceTargets, References};
use crate::catalog::zip::ZipArchive;
use crate::contained_reads::{NAME_END, plain_name};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use swath_codecs::Checksums;
use swath_ioengine::{
    ByteRange, Engine, Entry, FileAccess, LocalFiles, Medium, MediumId, MemoryMedium, ObjectRef, RangeRead,
    RemoteStats, RunOptions,
};
#[cfg(feature = "cache")]
use swath_ioengine::{CacheStats, CacheTier};

/// Largest metadata document that is read, in bytes. Consolidated metadata of tens of thousands of arrays fits.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Where arrays and groups are stored. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Store {
    medium: Medium,
    /// Empty, or ending in `/`.
    prefix: Arc<str>,
    /// What people call it.
    name: Arc<str>,
    recipe: Option<Arc<StoreRecipe>>,
    /// Where keys are, in a store whose keys are parts of other objects.
    catalog: Option<Arc<Catalog>>,
    checksums: Checksums,
    #[cfg(feature = "cache")]
    cache: Option<CacheTier>,
}

/// What it takes to open a store again, in another process even, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRecipe {
    /// The URL or absolute path, without credentials.
    pub url: String,
    /// Names and values of the options that are no secrets.
    pub options: Vec<(String, String)>,
    /// Names of the options whose values are secrets: whoever opens the store again has to bring them.
    pub withheld: Vec<String>,
}

impl Store {
    /// A directory of the local file system, read as [`FileAccess::preferred`] says; [`Store::new`] with the medium of
    /// [`LocalFiles::open`] says it for one store.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such directory; `Unsupported` where the environment variable `SWATH_FILE_ACCESS` names
    /// no way of reading, or one that does not work here.
    pub fn directory(path: impl AsRef<Path>) -> Result<Store, Error> {
        let path = path.as_ref();
        let name: Arc<str> = path.to_string_lossy().into();
        let access = FileAccess::preferred()?;
        let files = LocalFiles::open(path, access).map_err(|error| {
            let error = Error::from(error);
            match error.kind() {
                ErrorKind::NotFound => Error::new(ErrorKind::NotFound, no_directory(path)).with_object(&name),
                _ => error,
            }
        })?;
        let absolute =
            std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        let recipe = absolute.map(|url| Arc::new(StoreRecipe { url, ..StoreRecipe::default() }));
        Ok(Store { name, recipe, ..Store::new(files.medium(), "", "") })
    }

    /// Objects in memory.
    pub fn memory(memory: &MemoryMedium) -> Store {
        Store::new(memory.medium(), "", "memory")
    }

    /// Any medium: keys below `prefix` of it. `name` is what errors and representations call the store.
    pub fn new(medium: Medium, prefix: &str, name: &str) -> Store {
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Store {
            medium,
            prefix: prefix.into(),
            name: name.into(),
            recipe: None,
            catalog: None,
            checksums: Checksums::Verify,
            #[cfg(feature = "cache")]
            cache: None,
        }
    }

    /// The members of a zip archive that is an object of any medium: read only, as ranges of it where they are stored as
    /// they are, and else inflated whole. The store's root is the directory `root` of the archive; where none is named, the
    /// archive's own root, or the one directory that everything lies in, if it and not the archive's root holds a node.
    /// `name` is what errors and representations call the store. Nothing is read yet.
    pub fn zip(archive: ObjectRef, root: Option<&str>, name: &str) -> Store {
        let prefix = archive.key.to_string();
        let medium = archive.medium.clone();
        let catalog = Catalog::Zip(ZipArchive::new(archive, root));
        Store { catalog: Some(Arc::new(catalog)), ..Store::new(medium, &prefix, name) }
    }

    /// A reference set as kerchunk writes it, in JSON of version 0 or 1: keys that are byte ranges of other files, or bytes of
    /// their own. Read only. `name` is what errors and representations call the store. What is pointed to is opened when it is
    /// first read, and is an error where it is not there.
    ///
    /// # Errors
    ///
    /// `Invalid` for what are no references, `Unsupported` for templates that are more than the specification shows.
    pub fn references(document: &[u8], targets: ReferenceTargets, name: &str) -> Result<Store, Error> {
        let references = References::parse(document, targets).map_err(|error| error.with_object(name))?;
        let medium = references.inline().medium.clone();
        let catalog = Catalog::References(Arc::new(references));
        Ok(Store { catalog: Some(Arc::new(catalog)), ..Store::new(medium, "", name) })
    }

    /// The same store, the checksums of whose chunks are treated so: `crc32c`, `fletcher32` and their like, which stand
    /// behind the bytes of a chunk. Those of shard indexes, and those inside gzip, zlib and zstd streams, are always compared.
    /// A store compares all unless told otherwise. Writing a part of a chunk compares what is stored of it all the same, and
    /// so does validating.
    #[must_use]
    pub fn with_checksums(self, checksums: Checksums) -> Store {
        Store { checksums, ..self }
    }

    /// What is done with the checksums of chunks.
    pub(crate) fn checksums(&self) -> Checksums {
        self.checksums
    }

    /// References in Parquet, as kerchunk and fsspec lay them out, in a folder: `.zmetadata` and files of rows. Read only, and
    /// otherwise as [`Store::references`]; files of rows are read when something of theirs is. Those of a store behind a network
    /// lead to no local file, and to a relative path only where `targets` have a folder.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no `.zmetadata`, `Invalid` where it is none of references.
    pub fn parquet_references(folder: Store, targets: ReferenceTargets) -> Result<Store, Error> {
        let name = Arc::clone(&folder.name);
        let records = Records::open(folder, targets).map_err(|error| error.with_object(&name))?;
        let medium = records.documents().medium.clone();
        let catalog = Catalog::Records(Arc::new(records));
        Ok(Store { catalog: Some(Arc::new(catalog)), ..Store::new(medium, "", &name) })
    }

    /// A snapshot of an Icechunk repository of format 1 or 2, whose objects lie in a store. Read only: what is committed later is not
    /// seen. Chunks elsewhere are read where `options` authorise it. `targets` says how those are reached; what it says of folders
    /// and of targets without a URL does not matter.
    ///
    /// The snapshot is read at once, in two rounds; manifests are when chunks of theirs are wanted.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such repository, branch, tag or snapshot; `Corrupt` for what is none; `Unsupported` for one of a
    /// newer format, and without the feature `icechunk`.
    pub fn icechunk(
        repository: Store,
        options: &IcechunkOptions,
        targets: ReferenceTargets,
    ) -> Result<Store, Error> {
        let name = Arc::clone(&repository.name);
        let opened = Opened::read(&repository, options).map_err(|error| error.with_object(&name))?;
        let pinned = Revision::Snapshot(opened.snapshot.clone());
        let recipe = repository.recipe.as_ref().map(|recipe| {
            let url = format!("icechunk://{}::{}", options.clone().with_revision(pinned), recipe.url);
            Arc::new(StoreRecipe { url, ..StoreRecipe::clone(recipe) })
        });
        let snapshot = Icechunk::new(opened, repository, targets);
        let medium = snapshot.documents().medium.clone();
        let catalog = Catalog::Icechunk(Arc::new(snapshot));
        Ok(Store { catalog: Some(Arc::new(catalog)), recipe, ..Store::new(medium, "", &name) })
    }

    /// Where keys are, in a store whose keys are parts of other objects.
    pub(crate) fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_deref()
    }

    /// The same store, which says how it is opened again.
    pub(crate) fn with_recipe(self, recipe: StoreRecipe) -> Store {
        Store { recipe: Some(Arc::new(recipe)), ..self }
    }

    /// The same store, whose bytes are kept in a cache as they are read. Stores that are not behind a network come back as
    /// they are, and so does one with a cache. A store of a medium that has no
    /// [lasting name](swath_ioengine::RemoteSource::lasting_name) is read as without a cache.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn with_cache(self, cache: &CacheTier) -> Store {
        let has_targets = self.catalog.is_some();
        if !(self.is_remote() || has_targets) || self.cache.is_some() {
            return self;
        }
        let medium = if self.is_remote() { cache.wrap_named(&self.medium) } else { self.medium };
        let catalog = self.catalog.map(|catalog| Arc::new(catalog.with_cache(cache)));
        Store { medium, catalog, cache: Some(cache.clone()), ..self }
    }

    /// What the store's cache counted in this process, for all stores that share it; `None` without one.
    #[cfg(feature = "cache")]
    pub fn cache_stats(&self) -> Option<CacheStats> {
        self.cache.as_ref().map(CacheTier::stats)
    }

    /// What people call the store: its path, `memory`, or its URL without credentials.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the store is opened again; `None` for a store that was made of a medium, for a directory whose name is not
    /// UTF-8, and for references of whose targets something was said.
    pub fn recipe(&self) -> Option<&StoreRecipe> {
        self.recipe.as_deref()
    }

    /// What requests to the store's endpoint came to; `None` for local stores.
    pub fn remote_stats(&self) -> Option<RemoteStats> {
        self.medium.remote_stats()
    }

    /// The name of a node or an object in the store, for people.
    pub(crate) fn describe(&self, key: &str) -> String {
        match (self.name.is_empty(), key.is_empty()) {
            (_, true) => self.name.to_string(),
            (true, false) => key.to_owned(),
            (false, false) => format!("{}/{key}", self.name.trim_end_matches('/')),
        }
    }

    /// The same error, naming the store and the key in it where it names an object of the medium.
    pub(crate) fn named(&self, error: Error) -> Error {
        let key = plain_name(error.object().unwrap_or_default());
        let is_archive = self.catalog.is_some() && self.prefix.strip_suffix('/') == Some(key);
        let key = if is_archive { "" } else { key.strip_prefix(&*self.prefix).unwrap_or(key) };
        let name = self.describe(key);
        error.about(&name)
    }

    /// The object of a key.
    pub(crate) fn object(&self, key: &str) -> ObjectRef {
        let key =
            if self.prefix.is_empty() { Arc::from(key) } else { Arc::from(format!("{}{key}", self.prefix)) };
        ObjectRef { medium: self.medium.clone(), key }
    }

    /// A name that nothing else in memory has: of a key, in an archive below a root.
    pub(crate) fn identity_of(&self, key: &str) -> (MediumId, Arc<str>) {
        let object = self.object(key);
        let root = self.catalog.as_ref().and_then(|catalog| catalog.root());
        let name = root.map(|root| Arc::from(format!("{}{NAME_END}{root}", object.key)));
        (object.medium.id(), name.unwrap_or(object.key))
    }

    /// Says that about so many reads follow soon.
    pub(crate) fn expect(&self, reads: u64) {
        self.medium.expect(reads);
    }

    /// True where every look costs a round trip.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.medium, Medium::Remote(_))
    }

    /// A metadata document that is there, or is not.
    ///
    /// # Errors
    ///
    /// Whatever else a read of it comes to.
    pub(crate) fn document(&self, engine: &Engine, key: &str) -> Result<Document, Error> {
        if let Some(catalog) = &self.catalog {
            let mut found = self.contained(catalog, engine, &[key.to_owned()])?;
            return match found.pop().unwrap_or(Document::Missing) {
                Document::Denied(error) | Document::Failed(error) => Err(error),
                found => Ok(found),
            };
        }
        let range = ByteRange::Whole { len_max: DOCUMENT_BYTES_MAX };
        match self.judged(key, engine.read_object(&self.object(key), range)) {
            Document::Denied(error) | Document::Failed(error) => Err(error),
            found => Ok(found),
        }
    }

    /// Many metadata documents, all asked for at once, each for at most `len_max` bytes at first: what is under way
    /// counts as if it were of that length.
    ///
    /// # Errors
    ///
    /// What ended the read as a whole.
    pub(crate) fn documents(
        &self,
        engine: &Engine,
        keys: &[String],
        len_max: u64,
    ) -> Result<Vec<Document>, Error> {
        if let Some(catalog) = &self.catalog {
            return self.contained(catalog, engine, keys);
        }
        let mut found = self.read_wholes(engine, keys, len_max)?;
        let is_long = |result: &Result<Bytes, swath_ioengine::Error>| {
            result.as_ref().is_err_and(|error| error.kind() == swath_ioengine::ErrorKind::LimitExceeded)
        };
        let long: Vec<usize> = (0..keys.len()).filter(|number| is_long(&found[*number])).collect();
        if !long.is_empty() {
            let keys: Vec<String> = long.iter().map(|number| keys[*number].clone()).collect();
            let again = self.read_wholes(engine, &keys, DOCUMENT_BYTES_MAX)?;
            for (number, again) in long.into_iter().zip(again) {
                found[number] = again;
            }
        }
        Ok(keys.iter().zip(found).map(|(key, found)| self.judged(key, found)).collect())
    }

    /// Documents that are parts of other objects.
    fn contained(&self, catalog: &Catalog, engine: &Engine, keys: &[String]) -> Result<Vec<Document>, Error> {
        let found = catalog.read(engine, keys, DOCUMENT_BYTES_MAX);
        let found = found.map_err(|error| error.about(&self.name))?;
        let judged = keys.iter().zip(found).map(|(key, found)| match found {
            Ok(Some(bytes)) => Document::Here(bytes),
            Ok(None) => Document::Missing,
            Err(error) => Document::Failed(error.about(&self.describe(key))),
        });
        Ok(judged.collect())
    }

    /// Whole objects of at most `len_max` bytes, in one batch.
    fn read_wholes(
        &self,
        engine: &Engine,
        keys: &[String],
        len_max: u64,
    ) -> Result<Vec<Result<Bytes, swath_ioengine::Error>>, Error> {
        let objects: Vec<ObjectRef> = keys.iter().map(|key| self.object(key)).collect();
        let read = |object| RangeRead { object, range: ByteRange::Whole { len_max } };
        let reads: Vec<RangeRead> = (0..keys.len()).map(read).collect();
        let undelivered =
            || Err(swath_ioengine::Error::new(swath_ioengine::ErrorKind::Internal, "never delivered"));
        let found: Vec<Mutex<_>> = keys.iter().map(|_| Mutex::new(undelivered())).collect();
        let keep = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
            if let Some(slot) = found.get(number) {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = result.map(Bytes::copy_from_slice);
            }
        };
        let run = engine.read_ranges(&objects, &reads, keep, &RunOptions::default());
        run.map_err(|error| Error::from(error).with_object(&self.describe("")))?;
        Ok(found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
    }

    fn judged(&self, key: &str, found: Result<Bytes, swath_ioengine::Error>) -> Document {
        let error = match found {
            Ok(bytes) => return Document::Here(bytes),
            Err(error) => error,
        };
        let kind = error.kind();
        let named = || Error::from(error).about(&self.describe(key));
        match kind {
            swath_ioengine::ErrorKind::NotFound => Document::Missing,
            swath_ioengine::ErrorKind::PermissionDenied => Document::Denied(named()),
            _ => Document::Failed(named()),
        }
    }

    /// What lies directly below `path` (without slashes around it), sorted by name; nothing where there is no such
    /// directory.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, Error> {
        if let Some(catalog) = &self.catalog {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            let contents = catalog.contents(&Engine::global()).map_err(|error| error.about(&self.name))?;
            return contents.list(&prefix).map_err(|error| error.with_object(&self.describe(path)));
        }
        let key = if path.is_empty() { self.prefix.to_string() } else { format!("{}{path}/", self.prefix) };
        match self.medium.list(&key) {
            Ok(entries) => Ok(entries),
            Err(error) if error.kind() == swath_ioengine::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::from(error).about(&self.describe(path))),
        }
    }
}

/// What a look for a metadata document came to.
#[derive(Clone, Debug)]
pub(crate) enum Document {
    /// These bytes.
    Here(Bytes),
    /// There is none.
    Missing,
    /// It may not be looked at, or is not there: stores that must not be listed say the same of both.
    Denied(Error),
    /// It could not be read.
    Failed(Error),
}

/// Why a path is no directory.
fn no_directory(path: &Path) -> String {
    match path.ancestors().find(|path| path.is_file()) {
        None => "no such directory".to_owned(),
        Some(file) if file == path => "wanted a directory or a zip archive, found a file".to_owned(),
        Some(file) => format!("wanted a directory, found below the file {}", file.display()),
    }
}

/// Joins a node's path and a name below it.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
