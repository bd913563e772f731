//! Variants: what is set differently from what a user gets who sets nothing.

use protocol::{Failure, Refused};
use std::path::Path;
use swath::DecodedCache;
use swath::ioengine::{Engine, EngineConfig, Error, ErrorKind, FileAccess, Freshness, LocalFiles};

/// How an engine and its files are set up.
pub(crate) struct Variant {
    name: String,
    config: EngineConfig,
    access: FileAccess,
    decoded_cache_bytes: u64,
}

/// As many as TensorStore gets.
const DECODED_CACHE_BYTES: u64 = 256_000_000;

/// What a variant may be made of.
const WORDS: &str = "merge, no-merge, probe, mapped, buffered, direct, io-uring, pread-threads, inline, no-inline, immutable, \
     decoded-cache, lanes-N, depth-N";

impl Variant {
    /// The variant of this name; an empty one sets nothing.
    pub(crate) fn parse(name: &str) -> Result<Variant, Failure> {
        let mut variant = Variant {
            name: name.to_owned(),
            config: EngineConfig::default(),
            access: FileAccess::Probe,
            decoded_cache_bytes: 0,
        };
        name.split('+').filter(|word| !word.is_empty()).try_for_each(|word| variant.set(word))?;
        Ok(variant)
    }

    fn set(&mut self, word: &str) -> Result<(), Failure> {
        let limits = &mut self.config.limits;
        match word {
            "merge" | "probe" => {}
            "no-merge" => limits.merged_parts_max = 1,
            "mapped" => self.access = FileAccess::Mapped,
            "buffered" => self.access = FileAccess::Buffered,
            "direct" => self.access = FileAccess::Direct,
            "io-uring" => self.access = FileAccess::IoUring,
            "pread-threads" => self.access = FileAccess::PreadThreads,
            // On the calling thread, as far as no read has to wait for the device.
            "inline" => (limits.inline_reads_max, limits.inline_bytes_max) = (u64::MAX, u64::MAX),
            "no-inline" => (limits.inline_reads_max, limits.inline_bytes_max) = (0, 0),
            "decoded-cache" => self.decoded_cache_bytes = DECODED_CACHE_BYTES,
            "immutable" => self.config.freshness = Freshness::Immutable,
            _ => match word.rsplit_once('-').map(|(name, count)| (name, count.parse())) {
                Some(("lanes", Ok(count))) => limits.lanes = count,
                Some(("depth", Ok(count))) => limits.local_depth = count,
                _ => return Err(format!("wanted a variant of {WORDS}, joined by +, found {word}").into()),
            },
        }
        Ok(())
    }

    /// An engine of its own.
    pub(crate) fn engine(&self) -> Engine {
        Engine::new(self.config.clone())
    }

    /// A cache of decoded chunks, empty; of no bytes unless the variant asks for one.
    pub(crate) fn decoded_cache(&self) -> DecodedCache {
        DecodedCache::new(self.decoded_cache_bytes)
    }

    /// The files below `folder`; refused where they cannot be read in the way that the variant asks for.
    pub(crate) fn files(&self, folder: &Path) -> Result<LocalFiles, Failure> {
        LocalFiles::open(folder, self.access).map_err(|error: Error| match error.kind() {
            ErrorKind::Unsupported => Refused(error.to_string()).into(),
            _ => error.into(),
        })
    }

    /// For the report: the variant, and how files are read.
    pub(crate) fn describe(&self, files: &LocalFiles) -> String {
        let lanes = self.config.limits.lanes;
        let name = if self.name.is_empty() { "default" } else { &self.name };
        format!("{name}, {lanes} lanes, {}", files.mechanism())
    }
}
