//! Which of an array's manifests say where a chunk is.

use super::format::{ManifestRef, ObjectId};
use crate::Error;

/// The manifests of an array, by where their chunks begin along the axis that tells most of them apart.
#[derive(Clone, Debug, Default)]
pub(super) struct ManifestParts {
    axis: usize,
    parts: Vec<ManifestRef>,
    /// For each manifest, where along the axis the chunks of it and of all before it end.
    ends: Vec<u32>,
}

/// Axes that are looked at, at most: as many as arrays have.
const AXES_MAX: usize = 32;

/// Manifests of one chunk at most. There is one, unless their extents overlap, which Icechunk's do only where it splits anew.
pub(super) const CANDIDATES_MAX: usize = 32;

/// Manifests that are passed over for one chunk at most.
const PASSED_MAX: usize = 1 << 16;

impl ManifestParts {
    pub(super) fn new(mut parts: Vec<ManifestRef>) -> ManifestParts {
        let rank = parts.iter().map(|part| part.extents.len()).max().unwrap_or(0).min(AXES_MAX);
        let starts_of = |axis: usize| {
            let mut starts: Vec<u32> = parts.iter().map(|part| start(part, axis)).collect();
            starts.sort_unstable();
            starts.dedup();
            starts.len()
        };
        let axis = (0..rank).max_by_key(|axis| starts_of(*axis)).unwrap_or(0);
        let ranges = |part: &ManifestRef| part.extents.iter().map(|range| (range.start, range.end)).collect();
        parts.sort_by_cached_key(|part| -> (u32, ObjectId, Vec<(u32, u32)>) {
            (start(part, axis), part.id, ranges(part))
        });
        parts.dedup();
        let mut last = 0;
        let ends = parts.iter().map(|part| {
            last = last.max(end(part, axis));
            last
        });
        let ends = ends.collect();
        ManifestParts { axis, parts, ends }
    }

    /// Adds the manifests that can have a chunk: one, unless they overlap.
    ///
    /// # Errors
    ///
    /// `Unsupported` for more than [`CANDIDATES_MAX`] of them, or where too many others overlap along the axis.
    pub(super) fn find(&self, coordinates: &[u32], found: &mut Vec<ObjectId>) -> Result<(), Error> {
        let at = coordinates.get(self.axis).copied().unwrap_or(0);
        let after = self.parts.partition_point(|part| start(part, self.axis) <= at);
        let may_be = |number: &usize| self.ends.get(*number).is_some_and(|end| at < *end);
        let first = found.len();
        for (passed, number) in (0..after).rev().take_while(may_be).enumerate() {
            if PASSED_MAX <= passed {
                return Err(overlapping(PASSED_MAX));
            }
            let Some(part) = self.parts.get(number).filter(|part| can_have(part, coordinates)) else {
                continue;
            };
            if found.len() - first == CANDIDATES_MAX {
                return Err(overlapping(CANDIDATES_MAX));
            }
            found.push(part.id);
        }
        Ok(())
    }
}

fn can_have(part: &ManifestRef, coordinates: &[u32]) -> bool {
    part.extents.iter().zip(coordinates).all(|(range, coordinate)| range.contains(coordinate))
}

fn overlapping(count: usize) -> Error {
    Error::unsupported(format!(
        "chunks of an Icechunk repository that more than {count} manifests may say where they are"
    ))
}

/// Where the chunks of a manifest begin along an axis. One without extents can have all chunks.
fn start(part: &ManifestRef, axis: usize) -> u32 {
    part.extents.get(axis).map_or(0, |range| range.start)
}

fn end(part: &ManifestRef, axis: usize) -> u32 {
    part.extents.get(axis).map_or(u32::MAX, |range| range.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::ops::Range;

    fn part(id: u8, extents: &[Range<u32>]) -> ManifestRef {
        ManifestRef { id: [id; 12], extents: extents.to_vec() }
    }

    fn ids(parts: &ManifestParts, coordinates: &[u32]) -> Result<Vec<ObjectId>, Error> {
        let mut found = Vec::new();
        parts.find(coordinates, &mut found).map(|()| found)
    }

    /// Equal to looking at all of them.
    #[test]
    fn manifests_are_found_by_the_chunks_that_they_can_have() {
        let grid: Vec<ManifestRef> = (0u8..6)
            .flat_map(|row| (0u8..4).map(move |column| (row, column)))
            .map(|(row, column)| {
                let (top, left) = (u32::from(row) * 3, u32::from(column) * 5);
                part(row * 4 + column, &[top..top + 3, left..left + 5])
            })
            .collect();
        let overlapping = vec![
            part(0, &[0..9, 0..9]),
            part(1, &[2..3, 0..20]),
            part(2, &[5..6, 1..2]),
            part(3, &[7..7, 0..9]),
        ];
        for parts in [grid, overlapping, vec![part(0, &[])], Vec::new()] {
            let found = ManifestParts::new(parts.clone());
            for row in 0..20 {
                for column in 0..22 {
                    let at = [row, column];
                    let mut ids = ids(&found, &at).unwrap();
                    ids.sort_unstable();
                    let has = |part: &&ManifestRef| can_have(part, &at);
                    let mut wanted: Vec<_> = parts.iter().filter(has).map(|part| part.id).collect();
                    wanted.sort_unstable();
                    assert_eq!(ids, wanted, "{at:?}");
                }
            }
        }
        let scalar = ManifestParts::new(vec![part(7, &[])]);
        assert_eq!(ids(&scalar, &[]).unwrap(), [[7; 12]]);
    }

    /// A snapshot may name any number of manifests for one chunk: those that are the same count once, and too many are refused.
    #[test]
    fn manifests_of_one_chunk_are_bounded() {
        let same = ManifestParts::new(vec![part(7, &[0..9, 0..9]); 1000]);
        assert_eq!(ids(&same, &[3, 4]).unwrap(), [[7; 12]]);
        let overlapping = |count: u8| {
            let parts = (0..count).map(|id| part(id, &[u32::from(id % 5)..9, 0..9]));
            ids(&ManifestParts::new(parts.collect()), &[8, 4])
        };
        assert_eq!(overlapping(32).unwrap().len(), CANDIDATES_MAX);
        assert_eq!(overlapping(33).unwrap_err().kind(), ErrorKind::Unsupported);
        // None of them has the chunk, and all are looked at.
        let passed = |count: u32| {
            let parts = (0..count).map(|row| part(1, &[0..9, 2 * row..2 * row + 1]));
            let long = part(2, &[0..100, 0..1]);
            let few = (0..2 * count).map(|start| part(3, &[start + 10..start + 11, 0..1]));
            ids(&ManifestParts::new(parts.chain([long]).chain(few).collect()), &[3, 1])
        };
        assert_eq!(passed(1000).unwrap(), Vec::<ObjectId>::new());
        assert_eq!(passed(70_000).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
