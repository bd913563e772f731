//! What a write puts into a box of elements along one axis, by a list of them.

use super::axis_grid::AxisGrid;

/// A list of elements along an axis, sorted, each once: of those that are named more often, the last one counts, as in
/// NumPy.
#[derive(Debug)]
pub(super) struct AxisList {
    picks: Vec<Pick>,
    /// Of each object that has some, its coordinate, where it begins along the axis, and its first pick.
    starts: Vec<(u64, u64, usize)>,
}

/// An element of an axis, and which of the selection's it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) element: u64,
    pub(super) number: u64,
}

/// The picks that lie in a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedPart<'a> {
    picks: &'a [Pick],
    /// Where the box begins along the axis.
    start: u64,
}

impl AxisList {
    /// A list of elements of an axis that is cut into objects.
    pub(super) fn new(elements: impl Iterator<Item = u64>, grid: AxisGrid<'_>) -> AxisList {
        let mut picks: Vec<Pick> =
            (0..).zip(elements).map(|(number, element)| Pick { element, number }).collect();
        picks.sort_by_key(|pick| (pick.element, std::cmp::Reverse(pick.number)));
        picks.dedup_by_key(|pick| pick.element);
        let mut starts: Vec<(u64, u64, usize)> = Vec::new();
        for (at, pick) in picks.iter().enumerate() {
            let object = grid.object_of(pick.element);
            if starts.last().is_none_or(|(last, ..)| *last != object) {
                starts.push((object, grid.elements(object).start, at));
            }
        }
        AxisList { picks, starts }
    }

    /// Objects that the list has elements of.
    pub(super) fn object_count(&self) -> u64 {
        swath_ioengine::storage_len(self.starts.len())
    }

    /// The coordinate of one of those objects, and what lies in it.
    pub(super) fn object(&self, number: u64) -> Option<(u64, ListedPart<'_>)> {
        let number = usize::try_from(number).ok()?;
        let (coordinate, start, first) = *self.starts.get(number)?;
        let end = self.starts.get(number + 1).map_or(self.picks.len(), |(.., first)| *first);
        Some((coordinate, ListedPart { picks: self.picks.get(first..end)?, start }))
    }
}

impl<'a> ListedPart<'a> {
    /// What lies in `start..start + len` of the box; `None` where nothing does.
    pub(super) fn within(&self, start: u64, len: u64) -> Option<ListedPart<'a>> {
        let start = self.start.saturating_add(start);
        let place = |element: u64| self.picks.partition_point(|pick| pick.element < element);
        let picks = self.picks.get(place(start)..place(start.saturating_add(len)))?;
        (!picks.is_empty()).then_some(ListedPart { picks, start })
    }

    /// Whether every element of a box of so many is written.
    pub(super) fn covers(&self, len: u64) -> bool {
        swath_ioengine::storage_len(self.picks.len()) == len
    }

    /// The picks, their elements counted from the start of the box.
    pub(super) fn picks(&self) -> impl Iterator<Item = Pick> {
        self.picks.iter().map(|pick| Pick { element: pick.element - self.start, ..*pick })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn each_element_is_in_one_object_and_the_last_counts(
            elements in proptest::collection::vec(0u64..30, 0..20), extent in 1u64..9, cut in 1u64..9,
        ) {
            let list = AxisList::new(elements.iter().copied(), AxisGrid::Even(extent));
            let expected: BTreeMap<u64, u64> = elements.iter().copied().zip(0..).collect();
            let mut found = Vec::new();
            for number in 0..list.object_count() {
                let (coordinate, part) = list.object(number).unwrap();
                proptest::prop_assert_eq!(part.covers(extent), part.picks.len() as u64 == extent);
                // In boxes within the object.
                for start in (0..extent).step_by(usize::try_from(cut).unwrap()) {
                    for pick in part.within(start, cut.min(extent - start)).iter().flat_map(ListedPart::picks) {
                        proptest::prop_assert!(pick.element < cut);
                        found.push((coordinate * extent + start + pick.element, pick.number));
                    }
                }
            }
            proptest::prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
