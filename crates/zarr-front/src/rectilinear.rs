//! The grid of arrays whose chunks have lengths of their own along some axes.
//!
//! Such an array is planned as if elements were picked along these axes, a run for each chunk that a slice crosses
//! ([`crate::picking`]); what is picked knows its chunk by number, and its place within it. Only where a chunk is decoded does it
//! matter what shape it has ([`crate::shaped_chains`]).

use serde_json::Value;

use crate::Error;
use crate::axis_edges::AxisEdges;
use crate::metadata::wrong;

/// The chunks along each axis of an array, of which some axis has chunks of different lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rectilinear {
    axes: Vec<AxisEdges>,
}

impl Rectilinear {
    /// Parses the `chunk_shapes` of a `rectilinear` grid for an array of `shape`: for each axis a length, or a list of lengths
    /// and of pairs of a length and how many times it comes.
    ///
    /// Source: the Zarr extensions registry, chunk grid `rectilinear`.
    pub(crate) fn parse(value: &Value, shape: &[u64]) -> Result<Rectilinear, Error> {
        let broken = |wanted: &str| wrong("chunk_shapes", wanted, value);
        let entries = value.as_array().filter(|entries| entries.len() == shape.len());
        let entries = entries.ok_or_else(|| {
            broken(&format!("of as many dimensions as the array's `shape` ({})", shape.len()))
        })?;
        let axis = |(entry, length): (&Value, &u64)| {
            let lengths = match entry {
                Value::Array(lengths) => lengths.iter().map(run_of).collect::<Option<Vec<_>>>(),
                // As many as it takes; of an axis without elements, one.
                every => every
                    .as_u64()
                    .filter(|every| *every != 0)
                    .map(|every| vec![(every, length.div_ceil(every).max(1))]),
            };
            let lengths = lengths.ok_or_else(|| {
                broken(
                    "a length above 0 for each axis, or a list of such lengths and of pairs [length, count]",
                )
            })?;
            AxisEdges::new(&lengths, *length).ok_or_else(|| broken(&format!("chunks for all of {shape:?}")))
        };
        Ok(Rectilinear { axes: entries.iter().zip(shape).map(axis).collect::<Result<_, Error>>()? })
    }

    /// The shape of every chunk, where all have the same: the grid is a regular one then.
    pub(crate) fn common_shape(&self) -> Option<Vec<u64>> {
        self.axes.iter().map(AxisEdges::common).collect()
    }

    /// The longest chunk along each axis.
    pub(crate) fn longest(&self) -> Vec<u64> {
        self.axes.iter().map(AxisEdges::longest).collect()
    }

    /// Chunks along each axis of an array of `shape`.
    pub(crate) fn counts(&self, shape: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(shape).map(|(axis, length)| axis.count(*length)).collect()
    }

    /// One axis's chunks, where they differ in length.
    pub(crate) fn axis(&self, axis: usize) -> Option<&AxisEdges> {
        self.axes.get(axis).filter(|edges| edges.common().is_none())
    }

    /// One axis's chunks.
    pub(crate) fn edges(&self, axis: usize) -> Option<&AxisEdges> {
        self.axes.get(axis)
    }

    /// Checks that all chunks, which are shards, are made of whole inner chunks of this shape.
    pub(crate) fn check_inner(&self, inner: &[u64]) -> Result<(), Error> {
        for (axis, (edges, extent)) in self.axes.iter().zip(inner).enumerate() {
            if let Some(length) = edges.not_a_multiple_of(*extent) {
                let message = format!(
                    "wanted shards of multiples of {extent} elements along axis {axis}, as inner chunks are, found one of {length}"
                );
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }

    /// The shape of the chunk at these coordinates.
    pub(crate) fn shape_at(&self, coordinates: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(coordinates).map(|(axis, chunk)| axis.extent(*chunk)).collect()
    }
}

/// One length, once; or a pair of a length and how many times it comes.
fn run_of(value: &Value) -> Option<(u64, u64)> {
    match value {
        Value::Array(pair) if pair.len() == 2 => pair[0].as_u64().zip(pair[1].as_u64()),
        length => Some((length.as_u64()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use serde_json::json;

    fn grid(value: &Value, shape: &[u64]) -> Result<Rectilinear, ErrorKind> {
        Rectilinear::parse(value, shape).map_err(|error| error.kind())
    }

    #[test]
    fn every_form_of_lengths_is_read() {
        let found = grid(&json!([[[10, 5], 5, 5], [15, 16], 7]), &[60, 30, 20]).unwrap();
        assert_eq!(found.longest(), [10, 16, 7]);
        assert_eq!(found.counts(&[60, 30, 20]), [7, 2, 3]);
        assert_eq!(found.shape_at(&[5, 1, 2]), [5, 16, 7]);
        assert!(found.axis(0).is_some() && found.axis(2).is_none() && found.common_shape().is_none());
        let regular = grid(&json!([[[10, 3]], [4, 4], 7]), &[30, 7, 0]).unwrap();
        assert_eq!(regular.common_shape().unwrap(), [10, 4, 7]);
    }

    #[test]
    fn broken_lengths_are_invalid() {
        for value in [
            json!(null),
            json!([4]),
            json!([4, 0]),
            json!([4, [3, 3]]),
            json!([4, []]),
            json!([4, [[4, 0], 9]]),
            json!([4, [0, 9]]),
            json!([4, [[4, 1, 1], 9]]),
            json!([4, [-1, 9]]),
            json!([4, "9"]),
        ] {
            assert_eq!(grid(&value, &[8, 9]), Err(ErrorKind::Invalid), "{value}");
        }
    }
}
