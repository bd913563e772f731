//! Any chain over any layout: what is encoded decodes, and what is damaged does no harm.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::chain::Case<'_>| swath_fuzz::chain::round_trip(&case));
