//! Chunk and shard shapes for arrays that are created without any: those that zarr-python chooses.

/// Bytes that a chunk of an array of 1 MiB has.
const BASE_BYTES: f64 = 262_144.0;
/// Bytes of a chunk, at least.
const BYTES_MIN: f64 = 131_072.0;
/// Bytes of a chunk, at most.
const BYTES_MAX: f64 = 67_108_864.0;
/// Bytes of an inner chunk, at most.
const INNER_BYTES_MAX: f64 = 1_048_576.0;

/// Whether chunks are those of shards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    No,
    OfShards,
}

/// A chunk shape: one chunk of everything, halved along one axis after the other until it is small enough.
pub(super) fn chunk_shape(shape: &[u64], element_bytes: usize, inner: Inner) -> Vec<u64> {
    let bytes_max = if inner == Inner::OfShards { INNER_BYTES_MAX } else { BYTES_MAX };
    let mut chunks: Vec<u64> = shape.iter().map(|length| (*length).max(1)).collect();
    let bytes = |chunks: &[u64]| chunks.iter().map(|extent| approximately(*extent)).product::<f64>();
    let element = approximately(swath_ioengine::storage_len(element_bytes));
    let target = BASE_BYTES * (bytes(&chunks) * element / f64::from(1 << 20)).log10().exp2();
    let target = target.min(bytes_max).max(BYTES_MIN.min(bytes_max));
    // Each round halves an axis, of which there are no more than 64 bits each.
    let rounds = 65 * chunks.len();
    for round in 0..rounds {
        let found = bytes(&chunks) * element;
        let is_near = found < target || (found - target).abs() / target < 0.5;
        if (is_near && found < bytes_max) || chunks.iter().all(|extent| *extent == 1) {
            return chunks;
        }
        let axis = round % chunks.len();
        chunks[axis] = chunks[axis].div_ceil(2);
    }
    chunks
}

/// A shard shape: two chunks along each axis that has more than eight.
pub(super) fn shard_shape(shape: &[u64], chunk_shape: &[u64]) -> Vec<u64> {
    let axes = shape.iter().zip(chunk_shape);
    axes.map(|(length, chunk)| if 8 < length / (*chunk).max(1) { chunk.saturating_mul(2) } else { *chunk })
        .collect()
}

/// Guesses need no more digits than a double has.
#[expect(clippy::cast_precision_loss, reason = "a guess")]
fn approximately(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_zarr_pythons() {
        // zarr.core.chunk_grids._guess_regular_chunks
        for (shape, element, expected) in [
            (&[50, 50][..], 4, &[50, 50][..]),
            (&[10_000, 10_000], 4, &[625, 625]),
            (&[8760, 721, 1440], 4, &[548, 46, 90]),
            (&[0, 5], 8, &[1, 5]),
            (&[1 << 40], 1, &[1 << 24]),
            (&[], 8, &[]),
        ] {
            assert_eq!(chunk_shape(shape, element, Inner::No), expected, "{shape:?}");
        }
        assert_eq!(chunk_shape(&[10_000, 10_000], 4, Inner::OfShards), [313, 625]);
        assert_eq!(shard_shape(&[100, 80], &[10, 10]), [20, 10]);
    }
}
