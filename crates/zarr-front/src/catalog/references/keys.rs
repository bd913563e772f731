//! Keys and what they stand for, in little memory.

use super::Reference;
use crate::Error;
use crate::catalog::listing::{SortedKeys, position};

/// Keys by name: 32 bytes and the name for each.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// All names, one behind the other.
    names: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    len: u32,
    reference: Reference,
}

/// Keys of one reference set at most.
pub(super) const KEYS_MAX: usize = 1 << 24;

/// Bytes of all names at most.
const NAMES_BYTES_MAX: usize = 1 << 30;

impl Keys {
    /// Adds a key. Where it is there already, the later one counts.
    ///
    /// # Errors
    ///
    /// `Unsupported` where there are too many.
    pub(super) fn push(&mut self, name: &str, reference: Reference) -> Result<(), Error> {
        if KEYS_MAX <= self.entries.len() {
            return Err(Error::unsupported(format!("more than {KEYS_MAX} references")));
        }
        let lens = (u32::try_from(self.names.len()), u32::try_from(name.len()));
        let ((Ok(start), Ok(len)), true) = (lens, self.names.len() <= NAMES_BYTES_MAX) else {
            let message = format!("references whose keys are longer than {NAMES_BYTES_MAX} bytes together");
            return Err(Error::unsupported(message));
        };
        self.names.push_str(name);
        self.entries.push(Entry { start, len, reference });
        Ok(())
    }

    /// Puts the keys in order, each once: they are found only then.
    pub(super) fn sort(&mut self) {
        let names = &self.names;
        self.entries.sort_by(|one, other| one.name(names).cmp(other.name(names)));
        self.entries.dedup_by(|later, earlier| {
            let is_same = later.name(names) == earlier.name(names);
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        self.entries.shrink_to_fit();
    }

    /// What a key stands for.
    pub(super) fn get(&self, name: &str) -> Option<Reference> {
        position(self, name).and_then(|number| self.entries.get(number)).map(|entry| entry.reference)
    }
}

impl Entry {
    fn name<'n>(&self, names: &'n str) -> &'n str {
        let start = self.start as usize;
        names.get(start..start + self.len as usize).unwrap_or_default()
    }
}

impl SortedKeys for Keys {
    fn count(&self) -> usize {
        self.entries.len()
    }

    fn name(&self, number: usize) -> &str {
        self.entries.get(number).map_or("", |entry| entry.name(&self.names))
    }

    /// Keys that are whole objects count as of no bytes: how long those are is not known.
    fn size(&self, number: usize) -> u64 {
        match self.entries.get(number).map(|entry| entry.reference) {
            Some(Reference::Inline { len, .. } | Reference::Part { len, .. }) => len,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_counts() {
        let mut keys = Keys::default();
        for (number, name) in (0u32..).zip(["b", "a/1", "", "a/1", "b", "a"]) {
            keys.push(name, Reference::Whole { target: number }).unwrap();
        }
        keys.sort();
        let found: Vec<_> = (0..keys.count()).map(|number| keys.name(number)).collect();
        assert_eq!(found, ["", "a", "a/1", "b"]);
        for (name, target) in [("", 2), ("a", 5), ("a/1", 3), ("b", 4)] {
            assert_eq!(keys.get(name), Some(Reference::Whole { target }), "{name}");
        }
        assert_eq!(keys.get("c"), None);
    }
}
