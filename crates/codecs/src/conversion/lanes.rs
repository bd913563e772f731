//! Elements that become others, some at a time.

use super::simd::LANES;

/// Has each of `target` be what `of` makes of the element of `source` in its place; the two are as long as the shorter one.
///
/// Elements that do not fill lanes at the end are done once more with those before them, not one by one: rows of tiles
/// are short, and most of some would be such an end.
#[inline(always)]
pub(super) fn map_lanes<A: Copy, B: Copy>(source: &[A], target: &mut [B], of: impl Fn(A) -> B) {
    map_chunks(source, target, |elements| lanes(elements, &of), &of);
}

/// [`map_lanes`], with all lanes at once by a function of their own.
#[inline(always)]
pub(super) fn map_chunks<A: Copy, B: Copy>(
    source: &[A],
    target: &mut [B],
    of_all: impl Fn(&[A; LANES]) -> [B; LANES],
    of_one: impl Fn(A) -> B,
) {
    let len = source.len().min(target.len());
    let (source, target) = (&source[..len], &mut target[..len]);
    let (targets, rest) = target.as_chunks_mut::<LANES>();
    let is_whole = rest.is_empty();
    for (target, source) in targets.iter_mut().zip(source.as_chunks::<LANES>().0) {
        *target = of_all(source);
    }
    if is_whole {
        return;
    }
    match (source.last_chunk::<LANES>(), target.last_chunk_mut::<LANES>()) {
        (Some(source), Some(target)) => *target = of_all(source),
        _ => {
            for (target, source) in target.iter_mut().zip(source) {
                *target = of_one(*source);
            }
        }
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
            let mut target = vec![0; len];
            map_lanes(&source, &mut target, |value| value * 2);
            assert!(target.iter().zip(&source).all(|(target, source)| *target == source * 2), "{len}");
        }
    }
}
