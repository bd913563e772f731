//! Random crops of an array, seeded.

/// Where crops of `crop` elements start in an array of `shape`: one row of coordinates a crop.
pub fn origins(shape: &[u64], crop: &[u64], count: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut state = seed;
    let mut next = move || {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    (0..count)
        .map(|_| shape.iter().zip(crop).map(|(length, extent)| next() % (length - extent + 1)).collect())
        .collect()
}

/// The selection of a crop, in NumPy's notation.
pub fn selection(origin: &[u64], crop: &[u64]) -> swath::Selection {
    let axes: Vec<String> =
        origin.iter().zip(crop).map(|(start, extent)| format!("{start}:{}", start + extent)).collect();
    axes.join(", ").parse().expect("a crop is a selection")
}
