//! Any bytes as parts of a .nat file: a header or an error, rows of it or damages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_fuzz::nat::read_parts;

fuzz_target!(|bytes: &[u8]| read_parts(bytes));
