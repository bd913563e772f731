//! Any bytes as an HDF5 file, or as changes of a sound one: a list of what is in it, and its chunks, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_fuzz::hdf5::list_and_read;

fuzz_target!(|bytes: &[u8]| list_and_read(bytes));
