//! What lies directly below a key, among keys that are sorted.

use swath_ioengine::Entry;

/// The keys of a catalog, by number, in ascending order of their names.
pub(crate) trait SortedKeys {
    /// How many there are.
    fn count(&self) -> usize;

    /// The name of a key; empty where there is none of that number.
    fn name(&self, number: usize) -> &str;

    /// Bytes of a key.
    fn size(&self, number: usize) -> u64;
}

/// The first number whose name is not below `wanted`, from `from` on.
fn first_from(keys: &impl SortedKeys, from: usize, is_before: impl Fn(&str) -> bool) -> usize {
    let (mut low, mut high) = (from, keys.count());
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(keys.name(middle)) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// The number of a name.
pub(crate) fn position(keys: &impl SortedKeys, name: &str) -> Option<usize> {
    let number = first_from(keys, 0, |found| found < name);
    (number < keys.count() && keys.name(number) == name).then_some(number)
}

/// What lies directly below a prefix that is empty or ends in `/`; sorted by name.
pub(crate) fn list(keys: &impl SortedKeys, prefix: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = first_from(keys, 0, |found| found < prefix);
    while at < keys.count() {
        let Some(rest) = keys.name(at).strip_prefix(prefix) else { break };
        match rest.split_once('/') {
            None => {
                entries.push(Entry::Object { name: rest.to_owned(), size: keys.size(at) });
                at += 1;
            }
            Some((name, _)) => {
                let folder = format!("{prefix}{name}/");
                at = first_from(keys, at, |found| found.starts_with(&folder));
                entries.push(Entry::Prefix { name: name.to_owned() });
            }
        }
    }
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    impl SortedKeys for Vec<&str> {
        fn count(&self) -> usize {
            self.len()
        }

        fn name(&self, number: usize) -> &str {
            self.get(number).copied().unwrap_or_default()
        }

        fn size(&self, number: usize) -> u64 {
            swath_ioengine::storage_len(number)
        }
    }

    #[test]
    fn folders_are_listed_once() {
        let keys = vec!["a", "a-b/x", "a/0/1", "a/0/2", "a/1", "a0", "b/c/d"];
        assert!(keys.is_sorted());
        let names = |prefix: &str| -> Vec<String> {
            list(&keys, prefix).iter().map(|entry| entry.name().to_owned()).collect()
        };
        assert_eq!(names(""), ["a", "a", "a-b", "a0", "b"]);
        assert_eq!(names("a/"), ["0", "1"]);
        assert_eq!(names("a/0/"), ["1", "2"]);
        assert_eq!(names("b/"), ["c"]);
        assert!(names("c/").is_empty());
        assert_eq!(list(&keys, "a/")[1], Entry::Object { name: "1".to_owned(), size: 4 });
        for (number, name) in keys.iter().enumerate() {
            assert_eq!(position(&keys, name), Some(number));
        }
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        assert_eq!(position(&keys, "a/"), None);
        assert_eq!(position(&keys, "c"), None);
    }
}
