//! How large a cache is, where it lies, and when what it holds counts.

use crate::{Error, ErrorKind, Freshness};
use std::path::PathBuf;
use std::time::Duration;

/// What a [`CacheTier`](crate::CacheTier) may take, and how old what it answers may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Bytes of memory for cached ranges, what their bookkeeping takes included. Zero keeps none in memory.
    pub memory_bytes: u64,
    /// The folder of the files; made where it does not exist, for this user alone. Several processes may use one at once.
    /// Who can write there is trusted: the files' checksums tell damage, not forgery. `None` keeps none.
    pub folder: Option<PathBuf>,
    /// Bytes of files in the folder, over all processes that use it with this bound. At least 1 MiB.
    pub disk_bytes: u64,
    /// Ranges in files that this process keeps track of. Each takes about half a KiB of memory, and about 1 KiB where it is
    /// the only one of its object; not counted within `memory_bytes`.
    pub disk_ranges_max: usize,
    /// Bytes that wait to be written. Beyond that, answers of the source wait until they are written (up to as many bytes
    /// again, and what comes then is not stored).
    pub write_queue_bytes: u64,
    /// How old an answer may be: see [`CacheTier`](crate::CacheTier).
    pub freshness: Freshness,
    /// Under [`Freshness::Checked`]: an object that was confirmed within this time is not asked for again.
    pub check_interval: Duration,
}

impl Default for CacheConfig {
    /// 1 GiB of memory and no files; checked, at most once a second an object.
    fn default() -> CacheConfig {
        CacheConfig {
            memory_bytes: 1 << 30,
            folder: None,
            disk_bytes: 64 << 30,
            disk_ranges_max: 4 << 20,
            write_queue_bytes: 64 << 20,
            freshness: Freshness::Checked,
            check_interval: Duration::from_secs(1),
        }
    }
}

/// Of a cache with files the most that is kept in memory besides, unless more is asked for. Hits from files that the system
/// has in memory cost some microseconds, and every process has its own.
const MEMORY_BESIDE_FILES_MAX: u64 = 256 << 20;

impl CacheConfig {
    /// A cache as people ask for one, by a size and perhaps a folder. Without a folder the size is that of memory. With one
    /// it is that of the files, 64 GiB unless given, and a sixteenth of it, at most 256 MiB, is kept in memory besides.
    /// `None` where neither is given, and for a size of 0.
    pub fn sized(bytes: Option<u64>, folder: Option<PathBuf>) -> Option<CacheConfig> {
        let default = CacheConfig::default();
        let bytes_max = bytes.unwrap_or(default.disk_bytes);
        match (bytes, folder) {
            (None, None) | (Some(0), _) => None,
            (Some(memory_bytes), None) => Some(CacheConfig { memory_bytes, ..default }),
            (_, folder) => {
                let memory_bytes = (bytes_max / 16).min(MEMORY_BESIDE_FILES_MAX);
                Some(CacheConfig { memory_bytes, folder, disk_bytes: bytes_max, ..default })
            }
        }
    }
}

/// Units of [`cache_bytes`], in lower case.
const UNITS: [(&str, u64); 11] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("pib", 1 << 50),
];

/// A number of bytes as people write it: `2GB` (of 1000), `512MiB` (of 1024), `1.5 GiB`, `4096`; in any case. Fractions of a
/// byte are dropped.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) where the text is not a number and a unit, or more than 2^64 - 1 bytes.
///
/// ```
/// assert_eq!(swath_ioengine::cache_bytes("512MiB")?, 512 << 20);
/// # Ok::<(), swath_ioengine::Error>(())
/// ```
pub fn cache_bytes(text: &str) -> Result<u64, Error> {
    let wrong = || {
        let message = format!("wanted a number of bytes such as 2GB, 512MiB or 4096, found {text:?}");
        Error::new(ErrorKind::Unsupported, message)
    };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let bytes = whole.checked_mul(*scale).ok_or_else(wrong)?;
    bytes.checked_add(fraction_of(fraction, *scale)).ok_or_else(wrong)
}

/// The decimal `0.digits` of `scale`, rounded down. Digits beyond the eighteenth do not count.
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let mut share = 0u128;
    let mut unit = 1u128;
    for digit in digits.bytes().take(18) {
        share = share * 10 + u128::from(digit - b'0');
        unit *= 10;
    }
    u64::try_from(share * u128::from(scale) / unit).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_of_memory_or_of_files() {
        let folder = || Some(PathBuf::from("a"));
        let sizes = |bytes, folder| {
            CacheConfig::sized(bytes, folder)
                .map(|config| (config.memory_bytes, config.folder.map(|_| config.disk_bytes)))
        };
        assert_eq!(sizes(None, None), None);
        assert_eq!((sizes(Some(0), None), sizes(Some(0), folder())), (None, None));
        assert_eq!(sizes(Some(1 << 33), None), Some((1 << 33, None)));
        assert_eq!(sizes(Some(1 << 20), folder()), Some((1 << 16, Some(1 << 20))));
        assert_eq!(sizes(None, folder()), Some((256 << 20, Some(64 << 30))));
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("2GB", 2_000_000_000),
            ("2 gb", 2_000_000_000),
            ("512MiB", 512 << 20),
            (" 1.5GiB ", 3 << 29),
            ("0.5kb", 500),
            ("1_000 b", 1000),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in cases {
            assert_eq!(cache_bytes(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "GB", "-1", "2 XB", "1e9", "1.2.3", "18446744073709551616", "99999999 TiB", ".5GB"] {
            let error = cache_bytes(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        }
    }
}
