//! Groups and arrays of a conversion, made in a store where another run has not made them.

use crate::Error;
use serde_json::{Map, Value};
use swath_zarr_front::{Array, ArrayBuilder, Existing, Group, Store, ZarrFormat};

/// Whether something is expected in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing.
    #[default]
    Nothing,
    /// What another run of the same plan has made, or makes at the same time.
    SamePlan,
}

/// Makes a group, where it is not there yet.
///
/// # Errors
///
/// Those of the store.
pub(crate) fn create_group(
    store: &Store,
    path: &str,
    attributes: &Map<String, Value>,
    expected: Expected,
) -> Result<(), Error> {
    if expected == Expected::SamePlan && store.contains_node(path)? {
        return Ok(());
    }
    match Group::create(store, path, ZarrFormat::V3, attributes, Existing::Refuse) {
        // Another piece was faster.
        Err(_) if expected == Expected::SamePlan && store.contains_node(path)? => Ok(()),
        made => Ok(made.map(|_| ())?),
    }
}

/// Makes an array, or opens the one that is there.
///
/// # Errors
///
/// Those of the store.
pub(crate) fn array(
    builder: &ArrayBuilder,
    store: &Store,
    path: &str,
    expected: Expected,
) -> Result<Array, Error> {
    let made = match expected {
        Expected::SamePlan if store.contains_node(path)? => None,
        _ => Some(builder.create(store, path)),
    };
    match made {
        Some(Ok(array)) => return Ok(array),
        Some(Err(error)) if expected == Expected::Nothing || !store.contains_node(path)? => {
            return Err(error.into());
        }
        _ => {}
    }
    Ok(Array::open_in(store, path)?)
}

/// The array in this shape, where it is smaller: new files have joined.
///
/// # Errors
///
/// Those of the store.
pub(crate) fn grown(array: Array, shape: &[u64]) -> Result<Array, Error> {
    let is_less = |(own, wanted): (&u64, &u64)| own <= wanted;
    let is_smaller = array.shape() != shape
        && array.shape().len() == shape.len()
        && array.shape().iter().zip(shape).all(is_less);
    Ok(if is_smaller { array.resize(shape)? } else { array })
}
