//! The elements of one box, handed to the groups that they belong to.

use crate::grouping::Grouping;
use crate::missing::Missing;
use crate::summary::Summary;
use swath::Region;
use swath::ioengine::memory_len;

/// Bytes of elements that are gathered before a summary takes them.
const GATHERED_BYTES: usize = 32 << 10;

/// Elements of a box below which one thread has them alone.
const ALONE_BYTES: usize = 1 << 20;

/// Adds a box of elements to the summaries of their groups. `missing` says of each element whether it is missing.
pub(crate) fn gather(
    summaries: &mut [Summary],
    grouping: &Grouping,
    region: &Region,
    (bytes, missing): (&[u8], &[u8]),
) {
    let [only] = summaries else { return gather_groups(summaries, grouping, region, (bytes, missing)) };
    only.add(bytes, missing);
}

/// Finds what is missing of a box and adds it to one summary, on as many threads as are given.
pub(crate) fn gather_all(
    summary: &mut Summary,
    empty: &Summary,
    missing: &Missing,
    bytes: &[u8],
    threads: usize,
) {
    let elements = bytes.len() / empty.element_bytes();
    let each = elements.div_ceil(threads.max(1)).max(1) * empty.element_bytes();
    let each = if bytes.len() < ALONE_BYTES { bytes.len().max(1) } else { each };
    let work = |part: &[u8]| {
        let (mut own, mut flags) = (empty.clone(), Vec::new());
        missing.flags(part, &mut flags);
        own.add(part, &flags);
        own
    };
    std::thread::scope(|scope| {
        let mut parts = bytes.chunks(each);
        let first = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        first.into_iter().for_each(|part| summary.merge(&work(part)));
        for other in others {
            match other.join() {
                Ok(part) => summary.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
}

fn gather_groups(
    summaries: &mut [Summary],
    grouping: &Grouping,
    region: &Region,
    (bytes, missing): (&[u8], &[u8]),
) {
    let Some(last) = grouping.axes.last().map(|axis| axis.axis) else { return };
    let Some(size) = summaries.first().map(Summary::element_bytes) else { return };
    // Behind the last axis that is grouped along, neighbours are of one group.
    let run = region.shape[last + 1..].iter().product::<u64>();
    let Ok(run) = memory_len(run) else { return };
    let rows = &region.shape[..=last];
    let mut gathered: Vec<Gathered> = summaries.iter().map(|_| Gathered::default()).collect();
    let mut coordinates = vec![0_u64; rows.len()];
    let (runs, flags) = (bytes.chunks_exact((run * size).max(1)), missing.chunks_exact(run.max(1)));
    for (bytes, missing) in runs.zip(flags) {
        let group = group_of(grouping, region, &coordinates);
        if let (Some(summary), Some(gathered)) = (summaries.get_mut(group), gathered.get_mut(group)) {
            gathered.take(bytes, missing, summary);
        }
        advance(&mut coordinates, rows);
    }
    for (summary, gathered) in summaries.iter_mut().zip(gathered) {
        summary.add(&gathered.bytes, &gathered.missing);
    }
}

/// Elements of one group that a summary has not taken yet: few at a time would be slow.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    missing: Vec<u8>,
}

impl Gathered {
    fn take(&mut self, bytes: &[u8], missing: &[u8], summary: &mut Summary) {
        if GATHERED_BYTES <= bytes.len() {
            return summary.add(bytes, missing);
        }
        self.bytes.extend_from_slice(bytes);
        self.missing.extend_from_slice(missing);
        if GATHERED_BYTES <= self.bytes.len() {
            summary.add(&self.bytes, &self.missing);
            self.bytes.clear();
            self.missing.clear();
        }
    }
}

fn group_of(grouping: &Grouping, region: &Region, coordinates: &[u64]) -> usize {
    grouping.axes.iter().fold(0, |group, axis| {
        let place = region.start[axis.axis] + coordinates[axis.axis];
        let own = usize::try_from(place).ok().and_then(|place| axis.groups.get(place)).copied();
        group * axis.labels.len() + own.unwrap_or(0)
    })
}

fn advance(coordinates: &mut [u64], extents: &[u64]) {
    for (coordinate, extent) in coordinates.iter_mut().zip(extents).rev() {
        *coordinate += 1;
        if *coordinate < *extent {
            return;
        }
        *coordinate = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grouping::AxisGroups;
    use swath::DataType;

    #[test]
    fn every_element_goes_to_the_group_of_its_place() {
        let along = |axis, groups: &[usize], labels: usize| AxisGroups {
            axis,
            name: String::new(),
            groups: groups.to_vec(),
            labels: (0..labels).map(|label| label.to_string()).collect(),
        };
        let region = Region { start: vec![1, 0, 2], shape: vec![2, 3, 2] };
        let value = |place: &[u64]| i16::try_from(100 * place[0] + 10 * place[1] + place[2]).unwrap();
        let mut places = Vec::new();
        for row in 1..3 {
            for column in 0..3 {
                places.extend([[row, column, 2], [row, column, 3]]);
            }
        }
        let bytes: Vec<u8> = places.iter().flat_map(|place| value(place).to_ne_bytes()).collect();
        let cases =
            [vec![along(1, &[0, 1, 0], 2)], vec![along(0, &[5, 0, 1], 2), along(2, &[9, 9, 1, 0], 2)]];
        for axes in cases {
            let grouping = Grouping { axes };
            let mut summaries = vec![Summary::new(&DataType::Int16, 8); grouping.len()];
            gather(&mut summaries, &grouping, &region, (&bytes, &[0; 12]));
            for (group, summary) in summaries.iter().enumerate() {
                let members = places.iter().filter(|place| {
                    let own = grouping.axes.iter().fold(0, |own, axis| {
                        own * 2 + axis.groups[usize::try_from(place[axis.axis]).unwrap()]
                    });
                    own == group
                });
                let values: Vec<i128> = members.map(|place| i128::from(value(place))).collect();
                assert_eq!(summary.sum(), Some(values.iter().sum()), "{grouping:?} {group}");
                assert_eq!(usize::try_from(summary.count).unwrap(), values.len());
            }
        }
    }
}
