//! The known name that is most like a wrong one.

/// The name with the fewest changes of one character from `wanted`; `None` where a third of it or more would change.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = names.map(|name| (distance(wanted.as_bytes(), name.as_bytes()), name)).min()?;
    (best.0 * 3 < wanted.len().max(best.1.len())).then_some(best.1)
}

/// Insertions, removals and replacements that make one of the other (Levenshtein).
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance(b"", b"abc"), 3);
        assert_eq!(distance(b"abc", b"abc"), 0);
        assert_eq!(distance(b"kitten", b"sitting"), 3);
    }

    #[test]
    fn far_names_are_not_suggested() {
        assert_eq!(nearest("acount_name", ["account_name", "token"].into_iter()), Some("account_name"));
        assert_eq!(nearest("zzz", ["account_name", "token"].into_iter()), None);
    }
}
