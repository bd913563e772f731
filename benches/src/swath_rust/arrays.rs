//! Selections of arrays.

use crate::variant::Variant;
use protocol::{ArrayCase, Failure, Mode, Output, Reader, Ready, Refused, array_checksum};
use std::time::Instant;
use swath::{Array, AxisSelection, ErrorKind, ReadOptions, Selection, Store};

/// Opens the array, once.
pub(crate) fn ready(case: &ArrayCase, variant: &Variant) -> Result<Ready, Failure> {
    let files = variant.files(&case.array)?;
    let name = case.array.to_string_lossy();
    let store = Store::new(files.medium(), "", &name);
    let array = Array::open_in(&store, "").map_err(|error| match error.kind() {
        ErrorKind::Unsupported => Failure::from(Refused(error.to_string())),
        _ => error.into(),
    })?;
    let array = array.with_engine(variant.engine()).with_decoded_cache(&variant.decoded_cache());
    let selections: Vec<Selection> =
        case.selections.iter().map(|corner| selection(corner, &case.selection_shape)).collect();
    let selection_bytes = case.elements() * array.data_type().size_bytes();
    let output = Output::new(selection_bytes * selections.len());
    let details = variant.describe(&files);
    Ok(Ready {
        reader: Box::new(Arrays { array, selections, selection_bytes, output, mode: case.mode }),
        details,
    })
}

fn selection(corner: &[u64], extents: &[u64]) -> Selection {
    let axis = |(start, extent): (&u64, &u64)| {
        AxisSelection::from(start.cast_signed()..(start + extent).cast_signed())
    };
    Selection::new(corner.iter().zip(extents).map(axis).collect())
}

struct Arrays {
    array: Array,
    selections: Vec<Selection>,
    selection_bytes: usize,
    output: Output,
    mode: Mode,
}

impl Reader for Arrays {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        if self.mode == Mode::Batch {
            self.array.read_many_into(&self.selections, &mut self.output, &ReadOptions::default())?;
            return Ok(Vec::new());
        }
        let mut latencies = Vec::with_capacity(self.selections.len());
        for (selection, target) in
            self.selections.iter().zip(self.output.chunks_exact_mut(self.selection_bytes))
        {
            let start = Instant::now();
            self.array.read_into(selection, target)?;
            latencies.push(start.elapsed().as_nanos() as u64);
        }
        Ok(latencies)
    }

    fn checksum(&self) -> u64 {
        array_checksum(&self.output)
    }
}
