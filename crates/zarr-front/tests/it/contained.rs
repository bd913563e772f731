//! Arrays to be put into archives, and behind references.

use crate::freshness::nested;
use crate::written::Spec;

/// Arrays of 8 by 16 elements in every layout, some of whose chunks are not stored.
pub(crate) fn specs() -> Vec<Spec> {
    let plain = Spec { missing_percent: 20, ..Spec::plain(&[8, 16], &[2, 4]) };
    let sharded = Spec { missing_percent: 20, ..Spec::sharded(&[8, 16], &[4, 8], &[&[2, 2]]) };
    vec![
        plain.clone(),
        Spec { compressor: Some("zstd"), ..plain.clone() },
        Spec { v2: true, compressor: Some("zstd"), separator: '.', ..plain },
        sharded.clone(),
        Spec { compressor: Some("gzip"), seed: 5, ..sharded },
        Spec { missing_percent: 20, ..nested(3, 10) },
    ]
}
