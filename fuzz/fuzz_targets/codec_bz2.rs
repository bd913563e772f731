//! Any bytes as a chunk stored by `bz2`: an error, or a whole chunk.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::codec::Case<'_>| swath_fuzz::codec::decode("bz2", &case));
