//! Whether a file is read past the page cache. Pure.
//!
//! A data set is the files of one directory that were opened. The page cache pays for a byte from the second time on that
//! it is read, if it is still there then. So:
//!
//! - what is in the page cache is read from there;
//! - the rest is read past it until as many bytes have been asked for as the data set has: who reads once, or a few
//!   parts, gains by it, and who reads epoch after epoch loses no more than having the first one count twice;
//! - from then on it is read through the page cache, so that it gets there, if enough of it can stay there.

/// What the rule looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Bytes of the files that were opened.
    pub(super) data_set_bytes: u64,
    /// Bytes asked for, of all of them.
    pub(super) asked_bytes: u64,
    /// Memory that the page cache may fill.
    pub(super) memory_bytes: u64,
}

/// Files below this are always read through the page cache: a second descriptor costs more than they gain. Not
/// measured.
pub(super) const FILE_BYTES_MIN: u64 = 1 << 20;

/// The share of a file, or of a data set, that must be (or come to be) in the page cache for reads through it to be
/// faster: a device read through it reached three quarters to nine tenths of the rate of one past it.
const RESIDENT_SHARE_MIN: f64 = 0.2;

/// The share of memory that a data set is taken to find in the page cache. The rest is for programs and other files.
const MEMORY_SHARE: f64 = 0.5;

/// True unless the file is better read through the page cache whatever there is of it.
pub(super) fn may_pay(facts: &Facts) -> bool {
    let stays = facts.memory_bytes as f64 * MEMORY_SHARE / facts.data_set_bytes.max(1) as f64;
    facts.asked_bytes < facts.data_set_bytes || stays < RESIDENT_SHARE_MIN
}

/// True when the file is better read past the page cache, `resident` of it (0 to 1) being there.
pub(super) fn pays(facts: &Facts, resident: f64) -> bool {
    may_pay(facts) && resident < RESIDENT_SHARE_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn facts(data_set_gib: u64, asked_gib: u64) -> Facts {
        Facts { data_set_bytes: data_set_gib * GIB, asked_bytes: asked_gib * GIB, memory_bytes: 16 * GIB }
    }

    #[test]
    fn a_first_pass_goes_past_the_cache_and_a_second_one_fills_it() {
        assert!(pays(&facts(8, 0), 0.0));
        assert!(pays(&facts(8, 7), 0.1));
        assert!(!pays(&facts(8, 8), 0.0));
        assert!(!pays(&facts(8, 80), 0.0));
    }

    #[test]
    fn what_is_cached_is_read_from_there() {
        assert!(!pays(&facts(8, 0), 0.5));
        assert!(!pays(&facts(1000, 5000), 0.5));
    }

    #[test]
    fn what_can_never_stay_never_fills_the_cache() {
        assert!(pays(&facts(1000, 5000), 0.05));
        assert!(!pays(&facts(32, 64), 0.0));
    }

    #[test]
    fn nothing_is_no_data_set() {
        assert!(!pays(&facts(0, 0), 0.0));
    }
}
