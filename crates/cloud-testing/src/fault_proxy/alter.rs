//! How an answer is changed on its way back.

use super::body::Framing;
use super::fault::Fault;
use super::head::Head;
use std::time::Duration;

/// The byte in what a proxy made up.
pub(super) const FILLER: u8 = 0xa5;

/// What becomes of an answer's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alteration {
    /// Bytes of filler before the body.
    pub(super) before: u64,
    /// Bytes of filler behind it.
    pub(super) behind: u64,
    /// Bytes of the body, from its start, that are let through.
    pub(super) len_max: u64,
    /// What happens after those bytes, or at the end.
    pub(super) then: Then,
    /// Whether the body goes out in chunks.
    pub(super) chunked: bool,
    pub(super) bytes_per_second: Option<u64>,
}

/// What happens when all of a body that is let through has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The connection serves the next request.
    GoOn,
    Close,
    Reset,
    /// Nothing, for a while or for ever; then the rest of the body.
    Stall(Option<Duration>),
}

/// Changes a head as a fault wants it, and says what becomes of the body.
pub(super) fn alter(head: &mut Head, framing: Framing, fault: Option<&Fault>) -> Alteration {
    let mut plain = Alteration {
        before: 0,
        behind: 0,
        len_max: u64::MAX,
        then: if framing == Framing::UntilClose { Then::Close } else { Then::GoOn },
        chunked: framing == Framing::Chunked,
        bytes_per_second: None,
    };
    let len = match framing {
        Framing::Length(len) => len,
        Framing::Chunked | Framing::UntilClose => 0,
    };
    let at = |place: u16| len.saturating_mul(u64::from(place.min(1000))) / 1000;
    match fault {
        Some(Fault::ResetInBody(place)) => plain.cut(at(*place), Then::Reset),
        Some(Fault::CloseInBody(place)) => plain.cut(at(*place), Then::Close),
        Some(Fault::StallInBody(place, stall)) => plain.cut(at(*place), Then::Stall(*stall)),
        Some(Fault::SlowBody(rate)) => plain.bytes_per_second = Some(*rate),
        Some(Fault::TruncatedChunks(place)) => {
            head.remove("content-length");
            head.set("Transfer-Encoding", "chunked");
            plain.cut(at(*place), Then::Close);
            plain.chunked = true;
        }
        Some(Fault::ChangedEtag) if head.get("etag").is_some() => head.set("ETag", "\"changed-on-the-way\""),
        Some(fault) if 0 < len => alter_lengths(head, len, fault, &mut plain),
        _ => {}
    }
    plain
}

impl Alteration {
    fn cut(&mut self, len_max: u64, then: Then) {
        (self.len_max, self.then) = (len_max, then);
    }
}

fn alter_lengths(head: &mut Head, len: u64, fault: &Fault, body: &mut Alteration) {
    let partial = content_range(head);
    match (fault, partial) {
        (Fault::LengthTooLong(more), _) => {
            head.set("Content-Length", &len.saturating_add(*more).to_string());
            body.then = Then::Close;
        }
        (Fault::LengthTooShort(fewer), _) => {
            head.set("Content-Length", &len.saturating_sub(*fewer).to_string());
            body.then = Then::Close;
        }
        (Fault::ShortRange(fewer), Some((first, last, total))) if *fewer < len => {
            head.set("Content-Range", &format!("bytes {first}-{}/{total}", last - fewer));
            head.set("Content-Length", &(len - fewer).to_string());
            body.cut(len - fewer, Then::Close);
        }
        (Fault::WrongContentRange, Some((first, last, total))) => {
            head.set("Content-Range", &format!("bytes {}-{}/{total}", first + len, last + len));
        }
        (Fault::IgnoredRange, Some((first, last, total))) => {
            head.remove("content-range");
            head.set("Content-Length", &total.to_string());
            (head.first_line, head.status) = ("HTTP/1.1 200 OK".to_owned(), 200);
            (body.before, body.behind) = (first, total.saturating_sub(last + 1));
        }
        _ => {}
    }
}

/// First byte, last byte and length of the object, of an answer with one range.
fn content_range(head: &Head) -> Option<(u64, u64, u64)> {
    if head.status != 206 {
        return None;
    }
    let (range, total) = head.get("content-range")?.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?, total.parse().ok()?))
}
