//! The caches that a process's stores share.

use super::config::CacheConfig;
use super::tier::{CacheTier, Generations};
use crate::Error;
use crate::engine::lock;
use crate::per_process::PerProcess;
use std::sync::{Arc, Mutex, Weak};

/// Caches in use, by their settings.
static SHARED: PerProcess<Mutex<Vec<Shared>>> = PerProcess::new();

struct Shared {
    config: CacheConfig,
    cache: Weak<Generations>,
}

impl CacheTier {
    /// The process's cache of these settings: made where none is in use, and gone with the last clone and the last medium
    /// behind it.
    ///
    /// # Errors
    ///
    /// As [`CacheTier::new`].
    pub fn shared(mut config: CacheConfig) -> Result<CacheTier, Error> {
        if let Some(folder) = &mut config.folder
            && let Ok(absolute) = std::path::absolute(&*folder)
        {
            *folder = absolute;
        }
        let mut shared = lock(SHARED.get(|| Ok(Mutex::default()))?);
        shared.retain(|shared| shared.cache.strong_count() != 0);
        let mut equal = shared.iter().filter(|shared| shared.config == config);
        if let Some(cache) = equal.find_map(|shared| shared.cache.upgrade()) {
            return Ok(CacheTier(cache));
        }
        let tier = CacheTier::new(config.clone())?;
        shared.push(Shared { config, cache: Arc::downgrade(&tier.0) });
        Ok(tier)
    }

    /// [Flushes](CacheTier::flush) all shared caches of this process: for its end.
    pub fn flush_shared() {
        let Some(shared) = SHARED.made() else { return };
        let caches: Vec<CacheTier> =
            lock(shared).iter().filter_map(|shared| shared.cache.upgrade().map(CacheTier)).collect();
        for cache in caches {
            cache.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_settings_share_while_one_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let config = |memory_bytes| CacheConfig {
            memory_bytes,
            folder: Some(folder.path().to_owned()),
            ..CacheConfig::default()
        };
        let one = CacheTier::shared(config(1 << 20)).unwrap();
        let same = CacheTier::shared(config(1 << 20)).unwrap();
        let other = CacheTier::shared(config(2 << 20)).unwrap();
        assert!(Arc::ptr_eq(&one.0, &same.0) && !Arc::ptr_eq(&one.0, &other.0));
        let weak = Arc::downgrade(&one.0);
        CacheTier::flush_shared();
        drop((one, same));
        assert!(weak.upgrade().is_none(), "the registry keeps no cache");
        assert!(CacheTier::shared(config(1 << 20)).is_ok());
        let file = tempfile::NamedTempFile::new().unwrap();
        let wrong = CacheConfig { folder: Some(file.path().to_owned()), ..CacheConfig::default() };
        assert!(CacheTier::shared(wrong).is_err());
    }
}
