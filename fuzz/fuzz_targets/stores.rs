//! Any bytes as a zip archive, and as references: what is in them, or an error, and never more memory than they pay for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, ErrorKind, Node, ReferenceTargets, Selection, Store};

/// Bytes of arrays that are read.
const READ_BYTES_MAX: u64 = 1 << 20;

fn check_array(array: &Array) {
    if array.nbytes().is_some_and(|bytes| bytes <= READ_BYTES_MAX)
        && let Err(error) = array.read(&Selection::all())
    {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
}

fn check(store: &Store) {
    match Node::open_in(store, "") {
        Ok(Node::Array(array)) => check_array(&array),
        Ok(Node::Group(group)) => {
            for (_, node) in group.walk().into_iter().flatten() {
                if let Ok(Node::Array(array)) = node {
                    check_array(&array);
                }
            }
        }
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let memory = MemoryMedium::new();
    memory.put("a.zip", bytes.to_vec());
    check(&Store::zip(memory.object("a.zip"), None, "a.zip"));
    // Of references at a URL none leads to a local file; without the feature `cloud`, none leads anywhere else.
    let targets = ReferenceTargets::new().with_folder("none://");
    match Store::references(bytes, targets, "references") {
        Ok(store) => check(&store),
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    }
});
