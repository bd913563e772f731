//! Any shard index: each chunk is what its entry points to, the fill value, or an error.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::shard_index::Case<'_>| swath_fuzz::shard_index::read(&case));
