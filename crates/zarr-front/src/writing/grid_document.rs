//! The chunk grid `rectilinear` in documents that are written.

use crate::Error;
use serde_json::{Map, Value, json};

/// How an axis of a new array is cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisChunks {
    /// Into chunks of so many elements, the last one for what is left.
    Every(u64),
    /// Into chunks of these lengths, which are as long as the axis together, or longer.
    Listed(Vec<u64>),
}

/// The grid as a document has it.
pub(super) fn rectilinear_grid(axes: &[AxisChunks]) -> Value {
    let axis = |chunks: &AxisChunks| match chunks {
        AxisChunks::Every(extent) => json!(extent),
        AxisChunks::Listed(lengths) => runs_json(lengths.iter().map(|length| (*length, 1))),
    };
    let shapes: Vec<Value> = axes.iter().map(axis).collect();
    json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}})
}

/// Lists one more chunk along each axis of the grid in an array's document that `shape` is longer than, as zarr-python does;
/// regular grids have chunks for every element. Where chunks are shards, it holds whole ones of the `inner` chunks.
pub(super) fn extend_grid(
    document: &mut Map<String, Value>,
    shape: &[u64],
    inner: Option<&[u64]>,
) -> Result<(), Error> {
    let shapes = document
        .get_mut("chunk_grid")
        .filter(|grid| grid.get("name").and_then(Value::as_str) == Some("rectilinear"))
        .and_then(|grid| grid.get_mut("configuration")?.get_mut("chunk_shapes")?.as_array_mut());
    for (number, (axis, length)) in shapes.into_iter().flatten().zip(shape).enumerate() {
        let Value::Array(lengths) = &axis else { continue };
        let run = |entry: &Value| match entry {
            Value::Array(pair) => pair.first()?.as_u64().zip(pair.get(1)?.as_u64()),
            length => Some((length.as_u64()?, 1)),
        };
        let runs = lengths.iter().map(run).collect::<Option<Vec<(u64, u64)>>>();
        let mut runs =
            runs.ok_or_else(|| Error::invalid("wanted lengths of chunks in `chunk_shapes`, found others"))?;
        let covered =
            runs.iter().fold(0u64, |sum, (extent, count)| sum.saturating_add(extent.saturating_mul(*count)));
        if covered < *length {
            let extent = inner.and_then(|inner| inner.get(number)).copied().unwrap_or(1);
            let added = (length - covered).checked_next_multiple_of(extent);
            runs.push((added.unwrap_or(length - covered), 1));
            *axis = runs_json(runs.into_iter());
        }
    }
    Ok(())
}

/// Lengths as a document lists them, each so many times: those that follow each other as a pair of a length and a count.
fn runs_json(lengths: impl Iterator<Item = (u64, u64)>) -> Value {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (length, count) in lengths {
        match runs.last_mut() {
            Some((last, counted)) if *last == length => *counted = counted.saturating_add(count),
            _ => runs.push((length, count)),
        }
    }
    let entry = |(length, count): (u64, u64)| if count == 1 { json!(length) } else { json!([length, count]) };
    runs.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_listed_as_zarr_python_lists_them() {
        let listed = |lengths: &[u64]| AxisChunks::Listed(lengths.to_vec());
        let grid = rectilinear_grid(&[listed(&[1, 1, 1, 3]), AxisChunks::Every(4), listed(&[4, 4])]);
        assert_eq!(grid["configuration"]["chunk_shapes"], json!([[[1, 3], 3], 4, [[4, 2]]]));
        let mut document = json!({"chunk_grid": grid}).as_object().unwrap().clone();
        let mut extended = |shape: &[u64]| {
            extend_grid(&mut document, shape, None).unwrap();
            document["chunk_grid"]["configuration"]["chunk_shapes"].clone()
        };
        assert_eq!(extended(&[5, 99, 8]), json!([[[1, 3], 3], 4, [[4, 2]]]));
        assert_eq!(extended(&[9, 99, 12]), json!([[[1, 3], [3, 2]], 4, [[4, 3]]]));
        assert_eq!(extended(&[11, 99, 12]), json!([[[1, 3], [3, 2], 2], 4, [[4, 3]]]));
    }
}
