//! Configurations of Icechunk repositories that are written in a way that is not understood.

use crate::icechunk::{copied, store_of};
use swath_zarr_front::{Array, Error, ErrorKind, IcechunkOptions, ReferenceTargets, Selection};

/// What reading a virtual chunk, of a container inside an authorised one, comes to; chunks of the repository are read in any case.
fn read_with(containers: &str) -> Result<(), Error> {
    let medium = copied(1, |name, bytes| match name {
        "config.yaml" => format!("caching: null\nvirtual_chunk_containers:{containers}").into_bytes(),
        _ => bytes,
    });
    let options = IcechunkOptions::new().authorize("file:///swath/");
    let store = swath_zarr_front::Store::icechunk(store_of(&medium), &options, ReferenceTargets::new())?;
    Array::open_in(&store, "native")?.read(&Selection::all())?;
    Array::open_in(&store, "g/virtual")?.read(&Selection::all()).map(|_| ())
}

/// Were the second container left out, its chunks would be read by the word for the first one.
#[test]
fn no_container_is_left_out_silently() {
    let outer = "\n  outer:\n    url_prefix: file:///swath/\n";
    // There is no such file.
    assert_eq!(read_with(outer).unwrap_err().kind(), ErrorKind::Io);
    let (inner, quoted) = ("file:///swath/source/", "\"file:///swath/source/\"");
    for understood in [
        format!("{outer}  inner:\n    url_prefix: {inner}\n"),
        format!("{outer}  inner:\n    url_prefix: {quoted}\n"),
    ] {
        let error = read_with(&understood).unwrap_err();
        assert!(error.to_string().contains("authorised by name"), "{error}");
    }
    for odd in [
        format!("{outer}  inner: {{url_prefix: {quoted}}}\n"),
        format!("{outer}  inner:\n    {{url_prefix: {quoted}}}\n"),
        format!("{outer}  inner:\n    url_prefix: |\n      {inner}\n"),
        format!(" {{outer: {{url_prefix: 'file:///swath/'}}, inner: {{url_prefix: {quoted}}}}}\n"),
    ] {
        let error = read_with(&odd).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{odd}: {error}");
        assert!(error.to_string().contains("not understood"), "{odd}: {error}");
    }
}
