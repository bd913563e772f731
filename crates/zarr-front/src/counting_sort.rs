//! Sorting by small numbers. Pure.

/// Sorts by number, equal ones in the order that they have. `memory` is used again from sort to sort.
pub(crate) fn sort_by_number<T: Copy>(
    items: &mut Vec<T>,
    memory: &mut SortMemory<T>,
    number_of: impl Fn(&T) -> u64,
) {
    let (mut low, mut high, mut previous, mut is_sorted) = (u64::MAX, 0, 0, true);
    for item in &*items {
        let number = number_of(item);
        (low, high) = (low.min(number), high.max(number));
        is_sorted &= previous <= number;
        previous = number;
    }
    let Some(first) = items.first().copied().filter(|_| !is_sorted) else { return };
    let span = usize::try_from(high - low).unwrap_or(usize::MAX);
    if SPAN_MAX.saturating_mul(items.len()) < span || u32::try_from(items.len()).is_err() {
        return items.sort_by_key(number_of);
    }
    // In bounds: no number is above `high`.
    let place = |item: &T| usize::try_from(number_of(item) - low).unwrap_or(usize::MAX);
    let SortMemory { starts, sorted } = memory;
    starts.clear();
    starts.resize(span + 2, 0);
    for item in &*items {
        starts[place(item) + 1] += 1;
    }
    let mut start = 0;
    for slot in &mut *starts {
        start += *slot;
        *slot = start;
    }
    // Every place is written to below.
    sorted.resize(items.len(), first);
    for item in &*items {
        let start = &mut starts[place(item)];
        sorted[*start as usize] = *item;
        *start += 1;
    }
    std::mem::swap(items, sorted);
}

/// Memory for sorting.
#[derive(Debug)]
pub(crate) struct SortMemory<T> {
    starts: Vec<u32>,
    sorted: Vec<T>,
}

impl<T> Default for SortMemory<T> {
    fn default() -> SortMemory<T> {
        SortMemory { starts: Vec::new(), sorted: Vec::new() }
    }
}

/// Numbers for each item, from the lowest to the highest, up to which counting is taken for faster than comparing. A
/// guess: nothing that was measured lies near it.
const SPAN_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counting_sorts_as_comparing_does(
            numbers in prop::collection::vec(
                prop::collection::vec(prop_oneof![0u64..40, 1_000u64..1_010, Just(u64::MAX)], 0..60), 1..4,
            ),
        ) {
            let mut memory = SortMemory::default();
            for numbers in numbers {
                let mut items: Vec<(u64, usize)> = numbers.iter().copied().zip(0..).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort_by_number(&mut items, &mut memory, |item| item.0);
                prop_assert_eq!(items, expected);
            }
        }
    }
}
