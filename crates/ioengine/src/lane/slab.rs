//! Slots with stable indexes, reused.

/// Values at stable indexes below `u32::MAX`.
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { entries: Vec::new(), vacant: Vec::new() }
    }

    /// Stores a value and tells its index. The caller bounds how many there are; indexes saturate far beyond.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.vacant.pop() {
            Some(index) => {
                self.entries[index as usize] = Some(value);
                index
            }
            None => {
                self.entries.push(Some(value));
                u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
            }
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.entries.get(index as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.as_mut()
    }

    pub(crate) fn take(&mut self, index: u32) -> Option<T> {
        let value = self.entries.get_mut(index as usize)?.take();
        if value.is_some() {
            self.vacant.push(index);
        }
        value
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries.iter().zip(0u32..).filter_map(|(entry, index)| Some((index, entry.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_reused() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.take(a), Some('a'));
        assert_eq!(slab.take(a), None);
        assert_eq!(slab.insert('c'), a);
        assert_eq!(
            slab.iter().map(|(index, value)| (index, *value)).collect::<Vec<_>>(),
            [(a, 'c'), (b, 'b')]
        );
        assert_eq!(slab.len(), 2);
    }
}
