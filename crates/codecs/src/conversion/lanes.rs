//! Elements that become others, some at a time.

use super::simd::LANES;
use std::ops::Range;

/// Has each of `target` be what `of` makes of the element of `source` in its place; the two are as long as the shorter one.
#[inline(always)]
pub(super) fn map_lanes<A: Copy, B: Copy>(source: &[A], target: &mut [B], of: impl Fn(A) -> B) {
    let [first, rest] = parts(source.len().min(target.len()));
    let mut map = |part: Range<usize>| {
        for (target, source) in target[part.clone()].iter_mut().zip(&source[part]) {
            *target = of(*source);
        }
    };
    map(first);
    if !rest.is_empty() {
        map(rest);
    }
}

/// Has each of `target` be what `of` makes of the elements of two others in its place; all are as long as the shortest one.
#[inline(always)]
pub(super) fn map_two<A: Copy, B: Copy>(left: &[A], right: &[A], target: &mut [B], of: impl Fn(A, A) -> B) {
    let [first, rest] = parts(left.len().min(right.len()).min(target.len()));
    let mut map = |part: Range<usize>| {
        let sources = left[part.clone()].iter().zip(&right[part.clone()]);
        for (target, (left, right)) in target[part].iter_mut().zip(sources) {
            *target = of(*left, *right);
        }
    };
    map(first);
    if !rest.is_empty() {
        map(rest);
    }
}

/// [`map_lanes`], with all lanes at once by a function of their own.
#[inline(always)]
pub(super) fn map_chunks<A: Copy, B: Copy>(
    source: &[A],
    target: &mut [B],
    of_all: impl Fn(&[A; LANES]) -> [B; LANES],
    of_one: impl Fn(A) -> B,
) {
    for part in parts(source.len().min(target.len())) {
        let (source, target) = (&source[part.clone()], &mut target[part]);
        let (chunks, rest) = source.as_chunks::<LANES>();
        let (targets, rest_of_target) = target.as_chunks_mut::<LANES>();
        for (target, source) in targets.iter_mut().zip(chunks) {
            *target = of_all(source);
        }
        for (target, source) in rest_of_target.iter_mut().zip(rest) {
            *target = of_one(*source);
        }
    }
}

/// The same, eight at a time: those at the end with some before them, which are done twice. Fewer than eight are done one by
/// one.
#[inline(always)]
pub(super) fn map_eights<A: Copy, B: Copy>(
    source: &[A],
    target: &mut [B],
    of_eight: impl Fn([A; 8]) -> [B; 8],
    of_one: impl Fn(A) -> B,
) {
    let len = source.len().min(target.len());
    let (source, target) = (&source[..len], &mut target[..len]);
    if !len.is_multiple_of(8) {
        match (source.last_chunk(), target.last_chunk_mut()) {
            (Some(source), Some(target)) => *target = of_eight(*source),
            _ => target.iter_mut().zip(source).for_each(|(target, source)| *target = of_one(*source)),
        }
    }
    for (target, source) in target.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0) {
        *target = of_eight(*source);
    }
}

/// So many elements in two parts: the first fills lanes, and the second, of what is left over at the end, does so too with
/// elements of the first, which are done twice. Rows of tiles are short, and most of some would otherwise be such an end, done
/// one by one. What does not fill lanes at all is the first part.
#[inline(always)]
fn parts(len: usize) -> [Range<usize>; 2] {
    let whole = len - len % LANES;
    match (whole, len - whole) {
        (0, _) | (_, 0) => [0..len, len..len],
        _ => [0..whole, len - LANES..len],
    }
}

/// What `of` makes of each.
#[inline(always)]
pub(super) fn lanes<A: Copy, B: Copy>(source: &[A; LANES], of: impl Fn(A) -> B) -> [B; LANES] {
    let mut made = [of(source[0]); LANES];
    for (made, source) in made.iter_mut().zip(source) {
        *made = of(*source);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_mapped_once_and_no_further() {
        let source: Vec<u16> = (0..100).collect();
        for len in 0..source.len() {
            for (source, room) in [(len, len), (len, len + 3), (len + 1, len)] {
                let mut target = vec![9999; room];
                map_lanes(&vec![5u16; source][..], &mut target, |value| u32::from(value) + 1);
                assert!(
                    target[..len].iter().all(|value| *value == 6)
                        && target[len..].iter().all(|value| *value == 9999)
                );
            }
            let mut eights = vec![0; len];
            map_eights(&source, &mut eights, |values| values.map(|value| value * 2), |value| value * 2);
            let mut sums = vec![0; len];
            map_two(&source, &source, &mut sums, |left, right| left + right);
            let mut target = vec![0; len];
            map_lanes(&source, &mut target, |value| value * 2);
            assert!(eights == target && sums == target, "{len}");
            assert!(target.iter().zip(&source).all(|(target, source)| *target == source * 2), "{len}");
        }
    }
}
