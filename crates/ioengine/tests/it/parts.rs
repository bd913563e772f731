//! Objects that are parts of others: read as if each were an object of its own.

use crate::batches::bounded;
use crate::stand::Kind;
use std::sync::Mutex;
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Error, ErrorKind, Estimate, LaneContext, ObjectPart, ObjectRef,
    PlanContext, Planned, RunOptions, Token, Window,
};

/// What one read came to, once it was delivered.
type Got = Option<Result<Vec<u8>, ErrorKind>>;

/// Reads ranges of a part of an object.
struct PartReads {
    of: ObjectRef,
    name: ObjectRef,
    offset: u64,
    len: u64,
    ranges: Vec<ByteRange>,
    got: Mutex<Vec<Got>>,
}

impl Batch for PartReads {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.ranges.len() as u64, bytes: self.len }
    }

    fn plan<'b>(&'b self, _: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let part = ObjectPart { of: self.of.clone(), offset: self.offset, len: self.len };
        window.set_part(self.name.clone(), part);
        for (number, range) in (0u64..).zip(&self.ranges) {
            window.read(*range, Token(number));
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        assert_eq!(lane.object.key, self.name.key);
        let result = match result {
            Ok(Arrival::Bytes(bytes)) => Ok(bytes.to_vec()),
            Ok(_) => Err(ErrorKind::Internal),
            Err(error) => Err(error.kind()),
        };
        let before = self.got.lock().unwrap()[usize::try_from(token.0).unwrap()].replace(result);
        assert_eq!(before, None, "delivered twice");
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: Error, _: &mut LaneContext<'_>) {
        panic!("{error}");
    }
}

#[test]
fn ranges_of_a_part_count_from_where_it_begins() {
    let kinds = [
        Kind::Memory,
        Kind::InlineMemory,
        Kind::IoUring,
        Kind::PreadThreads,
        Kind::Mapped,
        Kind::InlineFiles,
        Kind::Simulated,
        Kind::FaultyMemory(1),
        Kind::FaultyFiles(2),
    ];
    let bytes: Vec<u8> = (0..40_000u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    for kind in kinds {
        let stand = kind.stand();
        stand.put("whole", &bytes);
        for (offset, len) in [(0, 40_000), (1, 100), (9_000, 20_000), (39_999, 1), (40_000, 0), (0, 0)] {
            let (start, end) = (usize::try_from(offset).unwrap(), usize::try_from(offset + len).unwrap());
            let part = &bytes[start..end];
            let ranges = vec![
                bounded(0, len),
                bounded(len / 2, len - len / 2),
                bounded(len, 0),
                bounded(len, 1),
                bounded(u64::MAX, 2),
                ByteRange::Suffix { len: 10 },
                ByteRange::Suffix { len: u64::MAX },
                ByteRange::Whole { len_max: len },
                ByteRange::Whole { len_max: len.saturating_sub(1) },
            ];
            let half = usize::try_from(len / 2).unwrap();
            let too_long = if len == 0 { Ok(Vec::new()) } else { Err(ErrorKind::LimitExceeded) };
            let wanted = vec![
                Ok(part.to_vec()),
                Ok(part[half..].to_vec()),
                Ok(Vec::new()),
                Err(ErrorKind::UnexpectedEnd),
                Err(ErrorKind::UnexpectedEnd),
                Ok(part[part.len().saturating_sub(10)..].to_vec()),
                Ok(part.to_vec()),
                Ok(part.to_vec()),
                too_long,
            ];
            let got = Mutex::new(vec![None; ranges.len()]);
            let (of, name) = (stand.object("whole"), stand.object("part"));
            let batch = PartReads { of, name, offset, len, ranges, got };
            stand.engine.run(&batch, &RunOptions::default()).unwrap();
            let got: Vec<_> = batch.got.into_inner().unwrap().into_iter().map(Option::unwrap).collect();
            assert_eq!(got, wanted, "{kind:?}: {len} bytes at {offset}");
        }
    }
}

/// A part of what became shorter is an error, not fewer bytes.
#[test]
fn a_part_beyond_the_end_is_an_error() {
    for kind in [Kind::Memory, Kind::PreadThreads, Kind::Simulated] {
        let stand = kind.stand();
        stand.put("whole", &[1; 10]);
        let got = Mutex::new(vec![None; 2]);
        let ranges = vec![bounded(0, 8), ByteRange::Whole { len_max: 8 }];
        let (of, name) = (stand.object("whole"), stand.object("part"));
        let batch = PartReads { of, name, offset: 5, len: 8, ranges, got };
        stand.engine.run(&batch, &RunOptions::default()).unwrap();
        let got = batch.got.into_inner().unwrap();
        assert_eq!(got, vec![Some(Err(ErrorKind::UnexpectedEnd)); 2], "{kind:?}");
    }
}
