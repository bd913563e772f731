//! All that is in a store.

use swath_zarr_front::{Array, Error, ErrorKind, Node, Selection, Store};

/// Bytes of arrays that are read.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Reads what is in a store, where there is one: an answer, or an error that is not `Internal`.
pub fn read(store: Result<Store, Error>) {
    match store.and_then(|store| Node::open_in(&store, "")) {
        Ok(Node::Array(array)) => read_array(&array),
        Ok(Node::Group(group)) => {
            for (_, node) in group.walk().into_iter().flatten() {
                if let Ok(Node::Array(array)) = node {
                    read_array(&array);
                }
            }
        }
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    }
}

fn read_array(array: &Array) {
    if array.nbytes().is_some_and(|bytes| bytes <= READ_BYTES_MAX)
        && let Err(error) = array.read(&Selection::all())
    {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
}
