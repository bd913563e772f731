//! Which of an array's manifests say where a chunk is.

use super::format::{ManifestRef, ObjectId};

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
        parts.sort_by_key(|part| start(part, axis));
        let mut last = 0;
        let ends = parts.iter().map(|part| {
            last = last.max(end(part, axis));
            last
        });
        let ends = ends.collect();
        ManifestParts { axis, parts, ends }
    }

    /// The id of a manifest.
    pub(super) fn id(&self, number: usize) -> Option<ObjectId> {
        self.parts.get(number).map(|part| part.id)
    }

    /// Whether a manifest can have a chunk.
    fn has(&self, number: usize, coordinates: &[u32]) -> bool {
        self.parts.get(number).is_some_and(|part| {
            part.extents.iter().zip(coordinates).all(|(range, coordinate)| range.contains(coordinate))
        })
    }

    /// The manifests that can have a chunk: one, unless they overlap.
    pub(super) fn find<'a>(&'a self, coordinates: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        let at = coordinates.get(self.axis).copied().unwrap_or(0);
        let after = self.parts.partition_point(|part| start(part, self.axis) <= at);
        let may_be = move |number: &usize| self.ends.get(*number).is_some_and(|end| at < *end);
        (0..after).rev().take_while(may_be).filter(move |number| self.has(*number, coordinates))
    }
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
    use std::ops::Range;

    fn part(id: u8, extents: &[Range<u32>]) -> ManifestRef {
        ManifestRef { id: [id; 12], extents: extents.to_vec() }
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
                    let mut ids: Vec<_> = found.find(&at).filter_map(|number| found.id(number)).collect();
                    ids.sort_unstable();
                    let has = |part: &&ManifestRef| {
                        part.extents.iter().zip(&at).all(|(range, coordinate)| range.contains(coordinate))
                    };
                    let mut wanted: Vec<_> = parts.iter().filter(has).map(|part| part.id).collect();
                    wanted.sort_unstable();
                    assert_eq!(ids, wanted, "{at:?}");
                }
            }
        }
        let scalar = ManifestParts::new(vec![part(7, &[])]);
        assert_eq!(scalar.find(&[]).collect::<Vec<_>>(), [0]);
    }
}
