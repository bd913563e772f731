//! How the bytes of a store behind a network are kept: `cache`, `cache_dir` and `cache_freshness`.

use crate::array::Array;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;
use swath::ioengine::{Freshness, cache_bytes};
use swath::{CacheConfig, CacheTier, DecodedCache, Error, Store};

/// Count chunks that arrays took from where decoded ones are kept, and those that they decoded.
///
/// A cache that several of them share counts once, and others that share it count too.
#[pyfunction]
#[pyo3(name = "_decoded_counts")]
pub(crate) fn decoded_counts(arrays: Vec<Bound<'_, Array>>) -> (u64, u64) {
    let mut caches: Vec<&DecodedCache> = Vec::new();
    for array in &arrays {
        let cache = array.get().decoded();
        if !caches.iter().any(|known| known.is_same(cache)) {
            caches.push(cache);
        }
    }
    caches.iter().fold((0, 0), |(hits, misses), cache| (hits + cache.hits(), misses + cache.misses()))
}

/// Return arrays with one new cache of decoded chunks, of so many bytes, in place of what they had.
///
/// None where one would keep nothing: its chunks are stored as they are, or differ in length.
#[pyfunction]
#[pyo3(name = "_with_decoded_cache")]
pub(crate) fn with_decoded_cache(
    py: Python<'_>,
    arrays: Vec<Bound<'_, Array>>,
    size: u64,
) -> PyResult<Option<Vec<Array>>> {
    let cache = DecodedCache::new(size);
    arrays.iter().map(|array| array.get().with_decoded_cache(py, &cache)).collect()
}

/// Return the most bytes of decoded chunks that an array's cache takes, and those that it takes by now.
#[pyfunction]
#[pyo3(name = "_decoded_bytes")]
pub(crate) fn decoded_bytes(array: &Bound<'_, Array>) -> (u64, u64) {
    let cache = array.get().decoded();
    (cache.bytes_max(), cache.bytes())
}

/// Drop chunks from an array's cache of decoded ones.
///
/// Each is told by its index along every axis, one behind the other; those not kept are passed over.
#[pyfunction]
#[pyo3(name = "_drop_decoded")]
pub(crate) fn drop_decoded(py: Python<'_>, array: &Bound<'_, Array>, cells: Vec<u64>) -> PyResult<()> {
    array.get().get(py)?.array.drop_decoded(&cells);
    Ok(())
}

/// A number of bytes, or a text such as "2GB".
#[derive(FromPyObject)]
pub(crate) enum CacheSize {
    #[pyo3(transparent, annotation = "int")]
    Bytes(u64),
    #[pyo3(transparent, annotation = "str")]
    Text(String),
}

/// "checked", "immutable", or seconds.
#[derive(Clone, Debug, FromPyObject, IntoPyObject)]
pub(crate) enum CacheFreshness {
    #[pyo3(transparent, annotation = "str")]
    Word(String),
    #[pyo3(transparent, annotation = "float")]
    Seconds(f64),
}

/// The arguments as they were given.
#[derive(Default)]
pub(crate) struct CacheArguments {
    pub(crate) size: Option<CacheSize>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) freshness: Option<CacheFreshness>,
}

/// What a pickle holds: bytes, folder, freshness.
pub(crate) type PortableCache = (Option<u64>, Option<PathBuf>, Option<CacheFreshness>);

/// How a store's bytes are kept.
#[derive(Clone, Debug)]
pub(crate) struct CacheSettings {
    config: CacheConfig,
    portable: PortableCache,
}

impl CacheArguments {
    /// What the arguments say; `None` where no cache is asked for. The folder is made absolute: a pickle may be read in a
    /// process with another working directory.
    ///
    /// # Errors
    ///
    /// What was wanted and what was found, for a size or a freshness that is none.
    pub(crate) fn settings(self) -> Result<Option<CacheSettings>, String> {
        let bytes = match self.size {
            Some(CacheSize::Bytes(bytes)) => Some(bytes),
            Some(CacheSize::Text(text)) => {
                let read = cache_bytes(&text);
                Some(read.map_err(|error| format!("cache: {}", error.message()))?)
            }
            None => None,
        };
        let folder = self.folder.map(|folder| std::path::absolute(&folder).unwrap_or(folder));
        CacheSettings::new((bytes, folder, self.freshness))
    }
}

impl CacheSettings {
    /// As [`CacheArguments::settings`], of what a pickle holds.
    ///
    /// # Errors
    ///
    /// As [`CacheArguments::settings`].
    pub(crate) fn new(portable: PortableCache) -> Result<Option<CacheSettings>, String> {
        let (bytes, folder, freshness) = portable.clone();
        let freshness = freshness.map(freshness_of).transpose()?;
        let Some(mut config) = CacheConfig::sized(bytes, folder) else { return Ok(None) };
        config.freshness = freshness.unwrap_or(config.freshness);
        Ok(Some(CacheSettings { config, portable }))
    }

    /// What a pickle may hold.
    pub(crate) fn portable(&self) -> PortableCache {
        self.portable.clone()
    }

    /// The store with the process's cache of these settings.
    ///
    /// # Errors
    ///
    /// Those of the folder.
    pub(crate) fn in_front_of(&self, store: Store) -> Result<Store, Error> {
        if store.remote_stats().is_none() {
            return Ok(store);
        }
        let tier = CacheTier::shared(self.config.clone()).map_err(Error::from)?;
        Ok(store.with_cache(&tier))
    }
}

fn freshness_of(given: CacheFreshness) -> Result<Freshness, String> {
    let wanted = "wanted cache_freshness=\"checked\", \"immutable\" or a number of seconds";
    match given {
        CacheFreshness::Word(word) => match word.as_str() {
            "checked" => Ok(Freshness::Checked),
            "immutable" => Ok(Freshness::Immutable),
            _ => Err(format!("{wanted}, found {word:?}")),
        },
        CacheFreshness::Seconds(seconds) => {
            let time = Duration::try_from_secs_f64(seconds);
            time.map(Freshness::Ttl).map_err(|_| format!("{wanted}, found {seconds}"))
        }
    }
}

/// Wait until what is cached is in the files; swath does so when Python ends.
#[pyfunction]
#[pyo3(name = "_flush_caches")]
pub(crate) fn flush_caches(py: Python<'_>) {
    py.detach(CacheTier::flush_shared);
}
