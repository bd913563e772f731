//! What a `Range` header asks for (RFC 9110, section 14).

use std::ops::Range;

/// More ranges than this in one request are answered with the whole object, as servers do against abuse.
const RANGES_MAX: usize = 1000;

/// The answer to a `Range` header, for an object of a known length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedRanges {
    /// No range, or none that is understood.
    Whole,
    /// One range of bytes, cut at the object's end; never empty.
    One(Range<u64>),
    /// Several.
    Several(Vec<Range<u64>>),
    /// None of the bytes asked for exist.
    Unsatisfiable,
}

impl RequestedRanges {
    /// Reads a header's value.
    pub(crate) fn parse(header: Option<&str>, len: u64) -> RequestedRanges {
        let Some(list) = header.and_then(|value| value.trim().strip_prefix("bytes=")) else {
            return RequestedRanges::Whole;
        };
        let mut wanted = Vec::new();
        for one in list.split(',') {
            match parse_one(one.trim(), len) {
                None => return RequestedRanges::Whole,
                Some(range) if range.is_empty() => {}
                Some(range) => wanted.push(range),
            }
        }
        match wanted.len() {
            0 => RequestedRanges::Unsatisfiable,
            1 => RequestedRanges::One(wanted.remove(0)),
            some if some <= RANGES_MAX => RequestedRanges::Several(wanted),
            _ => RequestedRanges::Whole,
        }
    }
}

/// One range cut at the object's end, empty where none of it exists; `None` where it is malformed.
fn parse_one(text: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = text.split_once('-')?;
    if first.is_empty() {
        let suffix: u64 = last.parse().ok()?;
        return Some(len.saturating_sub(suffix)..len);
    }
    let first: u64 = first.parse().ok()?;
    let last: u64 = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    if last < first {
        return None;
    }
    let end = last.saturating_add(1).min(len);
    Some(first.min(end)..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end() {
        let parse = |text| RequestedRanges::parse(Some(text), 10);
        assert_eq!(parse("bytes=0-0"), RequestedRanges::One(0..1));
        assert_eq!(parse("bytes=3-"), RequestedRanges::One(3..10));
        assert_eq!(parse("bytes=8-20"), RequestedRanges::One(8..10));
        assert_eq!(parse("bytes=-4"), RequestedRanges::One(6..10));
        assert_eq!(parse("bytes=-40"), RequestedRanges::One(0..10));
        assert_eq!(parse("bytes=-0"), RequestedRanges::Unsatisfiable);
        assert_eq!(parse("bytes=10-11"), RequestedRanges::Unsatisfiable);
        assert_eq!(parse("bytes=0-1, 4-5,20-30"), RequestedRanges::Several(vec![0..2, 4..6]));
        for malformed in ["bytes=5-3", "bytes=a-b", "bytes=", "lines=1-2", "5-6"] {
            assert_eq!(parse(malformed), RequestedRanges::Whole, "{malformed}");
        }
        assert_eq!(RequestedRanges::parse(Some("bytes=0-5"), 0), RequestedRanges::Unsatisfiable);
        assert_eq!(RequestedRanges::parse(None, 10), RequestedRanges::Whole);
    }
}
