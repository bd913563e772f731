//! What has come of a range so far.

use super::failure::{Failure, TroubleKind};
use super::version::if_match;
use crate::{ByteRange, Error, ErrorKind, Identity, memory_len, storage_len};
use object_store::{GetRange, ObjectMeta};
use std::ops::Range;

/// The bytes of one fetch, in one allocation of their own length (which grows with what came, where that is much), and what they
/// belong to. Goes from one try to the next:
/// each goes on where the one before broke off.
#[derive(Clone, Debug)]
pub(super) struct Received {
    range: ByteRange,
    /// The version that was asked for, or that the first bytes came from.
    pub(super) version: Option<Identity>,
    /// Where the bytes lie in the object; known from the first answer on.
    span: Option<Range<u64>>,
    bytes: Vec<u8>,
    /// The server ignores ranges: the whole object is asked for, and what lies around the range is dropped.
    asks_whole: bool,
}

/// Objects of at most so many bytes are read whole from servers that ignore ranges.
const IGNORED_RANGE_BYTES_MAX: u64 = 16 << 20;

/// Memory that is taken for bytes that a server says it has, before they came. A read of a chunk is of fewer: it is split where it
/// is of more than [`Limits::remote_split_bytes`](crate::Limits::remote_split_bytes).
const AHEAD_BYTES_MAX: usize = 16 << 20;

/// The place in the object that the next bytes of an answer have.
#[derive(Clone, Debug)]
pub(super) struct Place {
    at: u64,
    end: u64,
}

impl Place {
    /// True when so much of an answer is left that another connection is quicker than its end.
    pub(super) fn is_far_from_end(&self) -> bool {
        self.at.saturating_add(64 << 10) < self.end
    }
}

impl Received {
    pub(super) fn new(range: ByteRange, version: Option<Identity>) -> Received {
        Received { range, version, span: None, bytes: Vec::new(), asks_whole: false }
    }

    /// Takes the object's size, before bytes are asked for.
    pub(super) fn locate(&mut self, meta: &ObjectMeta, version: Option<Identity>) -> Result<(), Failure> {
        self.check_version(version)?;
        let (offset, len) = self.range.resolve(meta.size).map_err(Failure::Final)?;
        self.span = Some(offset..offset + len);
        Ok(())
    }

    /// True for an error that says that the last bytes of an object were asked for and it has none.
    pub(super) fn is_empty_suffix(&self, error: &Error) -> bool {
        matches!(self.range, ByteRange::Suffix { .. }) && error.kind() == ErrorKind::UnexpectedEnd
    }

    /// True when all bytes are there.
    pub(super) fn is_complete(&self) -> bool {
        self.span.as_ref().is_some_and(|span| span.end - span.start == storage_len(self.bytes.len()))
    }

    /// True when a try brought bytes and broke off.
    pub(super) fn is_partial(&self) -> bool {
        !self.bytes.is_empty()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The server answered a range with the whole object.
    pub(super) fn ask_whole(&mut self) {
        self.asks_whole = !self.asks_whole;
    }

    /// True when the next try goes on behind bytes that are there. RFC 9110 section 15.3.7.3: only with a strong tag are
    /// the bytes of two answers known to be of one object; weak tags and dates may stay while bytes change.
    pub(super) fn is_resumable(&self) -> bool {
        self.is_partial() && self.version.as_ref().and_then(if_match).is_some()
    }

    /// Before a try: drops bytes that cannot be gone on with.
    pub(super) fn start_over_unless_resumable(&mut self) {
        if !self.is_resumable() {
            self.bytes.clear();
        }
    }

    /// What the next request asks for; `None` for the whole object.
    pub(super) fn wanted(&self) -> Option<GetRange> {
        if self.asks_whole {
            return None;
        }
        match (&self.span, self.range) {
            (Some(span), _) => Some(GetRange::Bounded(span.start + storage_len(self.bytes.len())..span.end)),
            (None, ByteRange::Bounded { offset, len }) => {
                Some(GetRange::Bounded(offset..offset.saturating_add(len)))
            }
            (None, ByteRange::Suffix { len }) => Some(GetRange::Suffix(len)),
            (None, ByteRange::Whole { .. }) => None,
        }
    }

    /// Takes the head of an answer: of which version, which bytes, of how large an object.
    pub(super) fn begin(
        &mut self,
        version: Option<Identity>,
        answer: &Range<u64>,
        size: u64,
    ) -> Result<Place, Failure> {
        self.check_version(version)?;
        let (offset, len) = self.range.resolve(size).map_err(Failure::Final)?;
        let span = offset..offset + len;
        if self.span.as_ref().is_some_and(|known| *known != span) {
            return Err(Failure::last(ErrorKind::Changed, "the object's size changed while it was read"));
        }
        if self.asks_whole && IGNORED_RANGE_BYTES_MAX < size {
            self.ask_whole();
            let cause =
                format!("the server ignored the range that was asked for, of an object of {size} bytes");
            return Err(Failure::again(TroubleKind::RangeIgnored, cause));
        }
        let next = span.start + storage_len(self.bytes.len());
        if next < answer.start || answer.end < span.end {
            let cause = format!("wanted bytes {next}..{}, found {}..{}", span.end, answer.start, answer.end);
            return Err(Failure::again(TroubleKind::Odd, cause));
        }
        memory_len(len).map_err(Failure::Final)?;
        self.span = Some(span);
        Ok(Place { at: answer.start, end: answer.end })
    }

    /// Bytes from different versions are never put together.
    fn check_version(&mut self, found: Option<Identity>) -> Result<(), Failure> {
        match (&self.version, found) {
            (Some(known), Some(found)) if *known == found => {}
            (Some(known), found) => {
                let message = format!("wanted the object as {known:?}, found {found:?}");
                return Err(Failure::last(ErrorKind::Changed, message));
            }
            (None, found) => {
                // What came before can belong to any version.
                self.bytes.clear();
                self.span = None;
                self.version = found;
            }
        }
        Ok(())
    }

    /// Takes bytes of a body.
    pub(super) fn take(&mut self, place: &mut Place, bytes: &[u8]) -> Result<(), Failure> {
        let span = self.span.clone().unwrap_or_default();
        let (from, to) = (place.at, place.at.saturating_add(storage_len(bytes.len())));
        if place.end < to {
            let cause = format!("wanted a body that ends at byte {}, found one that reaches {to}", place.end);
            self.bytes.clear();
            return Err(Failure::again(TroubleKind::Odd, cause));
        }
        place.at = to;
        let next = span.start + storage_len(self.bytes.len());
        let wanted = next.clamp(from, to)..span.end.clamp(from, to);
        if wanted.start < wanted.end {
            let (skip, until) = (index(wanted.start - from)?, index(wanted.end - from)?);
            self.make_room(until.saturating_sub(skip), index(span.end - next)?);
            self.bytes.extend_from_slice(bytes.get(skip..until).unwrap_or_default());
        }
        Ok(())
    }

    /// Makes room for bytes that came, and ahead for those that are missing: as many as there may be at a time, or as came
    /// already.
    fn make_room(&mut self, came: usize, missing: usize) {
        if self.bytes.capacity() - self.bytes.len() < came {
            self.bytes.reserve_exact(missing.min(AHEAD_BYTES_MAX.max(self.bytes.len())).max(came));
        }
    }
}

fn index(offset: u64) -> Result<usize, Failure> {
    memory_len(offset).map_err(Failure::Final)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::sync::Arc;

    fn at(offset: u64) -> usize {
        usize::try_from(offset).unwrap()
    }

    fn tag(text: &str) -> Option<Identity> {
        Some(Identity::Tag(Arc::from(text)))
    }

    #[test]
    fn what_a_server_says_it_has_takes_no_memory_before_it_comes() {
        let len = 200 << 20;
        let mut received = Received::new(ByteRange::Whole { len_max: 256 << 20 }, None);
        let mut place = received.begin(tag("a"), &(0..len), len).unwrap();
        assert_eq!(received.bytes.capacity(), 0);
        let piece = vec![7; 1 << 20];
        for number in 1..=200 {
            received.take(&mut place, &piece).unwrap();
            assert!(
                received.bytes.capacity() <= (2 * number * piece.len()).max(AHEAD_BYTES_MAX) + piece.len()
            );
        }
        assert!(received.is_complete());
        assert_eq!(received.bytes.capacity(), at(len));
    }

    /// A body in pieces that breaks off anywhere, resumed by answers that begin anywhere before the next byte.
    #[test]
    fn pieces_make_exactly_the_range() {
        for seed in 0..500 {
            println!("seed {seed}");
            let mut random = Random::new(seed);
            let object: Vec<u8> = (0..1000u32).map(|byte| byte.to_le_bytes()[0] ^ 0x5a).collect();
            let offset = random.below(900);
            let len = 1 + random.below(1000 - offset - 1);
            let mut received = Received::new(ByteRange::Bounded { offset, len }, None);
            while !received.is_complete() {
                let next = offset + received.bytes.len() as u64;
                let start = next - random.below(next + 1).min(20);
                let end = (offset + len + random.below(50)).min(1000);
                let mut place = received.begin(tag("a"), &(start..end), 1000).unwrap();
                let mut from = start;
                while from < end && !random.chance(100) {
                    let to = (from + 1 + random.below(40)).min(end);
                    received.take(&mut place, &object[at(from)..at(to)]).unwrap();
                    from = to;
                }
            }
            assert_eq!(received.bytes, object[at(offset)..at(offset + len)]);
            assert_eq!(received.bytes.capacity(), at(len));
        }
    }

    #[test]
    fn versions_are_not_mixed_and_unknown_ones_start_anew() {
        let mut received = Received::new(ByteRange::Bounded { offset: 0, len: 4 }, None);
        let mut place = received.begin(None, &(0..4), 9).unwrap();
        received.take(&mut place, b"ab").unwrap();
        received.begin(None, &(2..4), 9).unwrap_err();
        let mut place = received.begin(tag("a"), &(0..4), 9).unwrap();
        received.take(&mut place, b"xy").unwrap();
        match received.begin(tag("b"), &(2..4), 9) {
            Err(Failure::Final(error)) => assert_eq!(error.kind(), ErrorKind::Changed),
            other => panic!("{other:?}"),
        }
        assert_eq!(received.bytes, b"xy");
    }

    #[test]
    fn a_body_that_goes_on_past_its_end_is_refused() {
        let mut received = Received::new(ByteRange::Bounded { offset: 0, len: 4 }, None);
        let mut place = received.begin(tag("a"), &(0..4), 9).unwrap();
        assert!(received.take(&mut place, b"abcde").is_err());
        assert!(!received.is_partial());
    }
}
