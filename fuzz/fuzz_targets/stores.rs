//! Any bytes as a zip archive, and as references: what is in them, or an error, and never more memory than they pay for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_fuzz::nodes::read;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{ReferenceTargets, Store};

fuzz_target!(|bytes: &[u8]| {
    let memory = MemoryMedium::new();
    memory.put("a.zip", bytes.to_vec());
    read(Ok(Store::zip(memory.object("a.zip"), None, "a.zip")));
    // Of references at a URL none leads to a local file; without the feature `cloud`, none leads anywhere else.
    let targets = ReferenceTargets::new().with_folder("none://");
    read(Store::references(bytes, targets, "references"));
});
