//! A ready-made batch: ranges of objects, read into one piece of memory.

use crate::batch::{Arrival, Batch, Estimate, LaneContext, PlanContext};
use crate::engine::lock;
use crate::ranges::{RangeOrder, checked_objects};
use crate::window::{Cursor, Merging, Planned, Token, Window};
use crate::{ByteRange, Engine, Error, ErrorKind, ObjectRef, RangeRead, RunOptions};
use std::collections::BTreeMap;
use std::sync::Mutex;

impl Engine {
    /// Reads many ranges of many objects into `output`, one behind the other in the order given. A missing object fails its
    /// ranges only: the errors of single ranges are returned by their numbers, and the memory of those is left undefined.
    ///
    /// # Errors
    ///
    /// As [`Engine::read_ranges`]; `LimitExceeded` where a range has no known length, or all together are not as long as
    /// `output`.
    pub fn read_ranges_into(
        &self,
        objects: &[ObjectRef],
        reads: &[RangeRead],
        output: &mut [u8],
        merging: Merging,
        options: &RunOptions<'_>,
    ) -> Result<BTreeMap<usize, Error>, Error> {
        checked_objects(objects, reads)?;
        let slots = cut(reads, output)?;
        let order = RangeOrder::new(objects, reads);
        if let Some(read) = reads.first() {
            // Objects of one call are of one medium, as a rule.
            objects[read.object].medium.expect(crate::storage_len(reads.len()));
        }
        let batch = RangesInto { objects, reads, order, slots, merging, errors: Mutex::default() };
        self.run(&batch, options)?;
        Ok(batch.errors.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

type Slot<'m> = Mutex<Option<&'m mut [u8]>>;

/// Cuts the output into one piece for each range.
fn cut<'m>(reads: &[RangeRead], output: &'m mut [u8]) -> Result<Vec<Slot<'m>>, Error> {
    let (room, mut rest) = (output.len(), output);
    let mut slots = Vec::with_capacity(reads.len());
    for read in reads {
        let ByteRange::Bounded { len, .. } = read.range else {
            let message = format!("wanted a range of known length to read into memory, found {}", read.range);
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        };
        let piece =
            usize::try_from(len).ok().and_then(|len| std::mem::take(&mut rest).split_at_mut_checked(len));
        let Some((piece, left)) = piece else { return Err(wrong_length(reads, room)) };
        slots.push(Mutex::new(Some(piece)));
        rest = left;
    }
    if rest.is_empty() { Ok(slots) } else { Err(wrong_length(reads, room)) }
}

fn wrong_length(reads: &[RangeRead], room: usize) -> Error {
    let wanted = reads.iter().fold(0u64, |sum, read| sum.saturating_add(read.range.len_max()));
    let message = format!("wanted memory of {wanted} bytes for {} ranges, found {room}", reads.len());
    Error::new(ErrorKind::LimitExceeded, message)
}

struct RangesInto<'a, 'm> {
    objects: &'a [ObjectRef],
    reads: &'a [RangeRead],
    order: RangeOrder,
    /// Where each range goes, until it is planned.
    slots: Vec<Slot<'m>>,
    merging: Merging,
    /// The errors of single ranges.
    errors: Mutex<BTreeMap<usize, Error>>,
}

impl RangesInto<'_, '_> {
    fn fail(&self, read: usize, error: Error) {
        lock(&self.errors).entry(read).or_insert(error);
    }
}

impl Batch for RangesInto<'_, '_> {
    fn window_count(&self) -> u64 {
        self.order.window_count()
    }

    fn estimate(&self) -> Estimate {
        let bytes = self.reads.iter().map(|read| read.range.len_max().min(1 << 40)).sum();
        Estimate { reads: crate::storage_len(self.reads.len()), bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_merging(self.merging);
        let mut is_first = true;
        for (index, read) in self.order.window(cursor, self.reads) {
            if std::mem::take(&mut is_first) {
                window.set_object(self.objects[read.object].clone());
            }
            let slot = self.slots.get(index).and_then(|slot| lock(slot).take());
            match slot {
                Some(memory) => window.read_into(read.range, Token(crate::storage_len(index)), memory),
                None => self.fail(index, Error::new(ErrorKind::Internal, "a range was planned twice")),
            }
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        let index = usize::try_from(token.0).unwrap_or(usize::MAX);
        match result {
            Ok(Arrival::Placed(_)) => {}
            Ok(Arrival::Bytes(_) | Arrival::Piece(_)) => {
                self.fail(index, Error::new(ErrorKind::Internal, "bytes arrived in another form"));
            }
            Err(error) => self.fail(index, error),
        }
    }

    fn stale(&self, _: Cursor) {}

    /// The ranges of the window were placed already; none can be trusted.
    fn spoiled(&self, cursor: Cursor, error: Error, _: &mut LaneContext<'_>) {
        for (index, read) in self.order.window(cursor, self.reads) {
            self.fail(index, error.clone().with_range(read.range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileAccess, LocalFiles, Medium, MemoryMedium};

    fn object(medium: &Medium, key: &str) -> ObjectRef {
        ObjectRef { medium: medium.clone(), key: key.into() }
    }

    fn bounded(object: usize, offset: u64, len: u64) -> RangeRead {
        RangeRead { object, range: ByteRange::Bounded { offset, len } }
    }

    fn read(
        objects: &[ObjectRef],
        reads: &[RangeRead],
        len: usize,
        merging: Merging,
    ) -> Result<(Vec<u8>, BTreeMap<usize, Error>), Error> {
        let mut output = vec![0; len];
        let engine = Engine::global();
        let errors = engine.read_ranges_into(objects, reads, &mut output, merging, &RunOptions::default())?;
        Ok((output, errors))
    }

    #[test]
    fn ranges_lie_one_behind_the_other() {
        let (memory, folder) = (MemoryMedium::new(), tempfile::tempdir().unwrap());
        let bytes: Vec<u8> = (0..100_000u32).map(|number| (number % 251) as u8).collect();
        for key in ["a", "b"] {
            memory.put(key, bytes.clone());
            std::fs::write(folder.path().join(key), &bytes).unwrap();
        }
        let files = LocalFiles::open(folder.path(), FileAccess::Buffered).unwrap().medium();
        for medium in [memory.medium(), files] {
            let objects = [object(&medium, "a"), object(&medium, "b")];
            let reads: Vec<RangeRead> = (0..1000u64)
                .map(|number| bounded(usize::from(number % 3 == 0), number * 7919 % 99_000, number % 700))
                .collect();
            let wanted: Vec<u8> = reads
                .iter()
                .flat_map(|read| {
                    let ByteRange::Bounded { offset, len } = read.range else { panic!("a bounded range") };
                    bytes[usize::try_from(offset).unwrap()..][..usize::try_from(len).unwrap()].to_vec()
                })
                .collect();
            for merging in [Merging::ByCost, Merging::Never, Merging::Across(0), Merging::Across(1 << 20)] {
                let (found, errors) = read(&objects, &reads, wanted.len(), merging).unwrap();
                assert!(errors.is_empty(), "{errors:?}");
                assert!(found == wanted, "{merging:?}");
            }
        }
    }

    #[test]
    fn what_is_not_there_fails_by_itself() {
        let memory = MemoryMedium::new();
        memory.put("a", &b"0123456789"[..]);
        let objects = [object(&memory.medium(), "a"), object(&memory.medium(), "gone")];
        let reads = [bounded(0, 2, 3), bounded(1, 0, 2), bounded(0, 8, 4), bounded(0, 9, 1)];
        let (found, errors) = read(&objects, &reads, 10, Merging::Never).unwrap();
        assert_eq!((&found[..3], &found[9..]), (&b"234"[..], &b"9"[..]));
        let kinds: Vec<_> = errors.iter().map(|(number, error)| (*number, error.kind())).collect();
        assert_eq!(kinds, [(1, ErrorKind::NotFound), (2, ErrorKind::UnexpectedEnd)]);
    }

    #[test]
    fn memory_of_another_length_is_refused() {
        let memory = MemoryMedium::new();
        memory.put("a", &b"0123456789"[..]);
        let objects = [object(&memory.medium(), "a")];
        for len in [0, 4, 6] {
            let error = read(&objects, &[bounded(0, 0, 5)], len, Merging::ByCost).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            assert!(error.to_string().contains('5'), "{error}");
        }
        let whole = RangeRead { object: 0, range: ByteRange::Whole { len_max: 10 } };
        assert!(read(&objects, &[whole], 10, Merging::ByCost).is_err());
        assert_eq!(
            read(&objects, &[bounded(1, 0, 1)], 1, Merging::ByCost).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
