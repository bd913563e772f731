//! Hostile arrays, read: an answer or an error, within bounds.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::read::Case<'_>| swath_fuzz::read::read(&case));
