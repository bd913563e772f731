//! The way through a file: from message to message, by the bytes that it asks for.

use super::field::{Damage, DamageKind, Found, Span};
use super::message::{GridCache, INDICATOR_LEN, MAGIC, Message};
use super::reading::{Reading, Stop};
use crate::{Error, ErrorKind};
use swath_ioengine::storage_len;

/// Bytes that are asked for at once where messages are no longer than an eighth of that, or while one is searched for: several
/// are found by one read then.
const SMALL_MESSAGES_BYTES: u64 = 64 << 10;

/// Damages of one file that are told.
const DAMAGES_MAX: u32 = 1 << 10;

/// A walk through one file, without I/O: [`Walk::wanted`] says which bytes it needs, [`Walk::feed`] takes them.
///
/// What it holds is one message's fields and one grid; what it asks for at once is at most a megabyte, and a section head's bytes
/// as a rule.
///
/// ```
/// use swath_convert::{DamageKind, Found, Span, Walk};
/// let mut walk = Walk::new(8, 1024);
/// assert_eq!(walk.wanted(), Some(Span { offset: 0, len: 8 }));
/// let mut found = Vec::new();
/// walk.feed(b"GRIBGRIB", &mut |next| found.push(next));
/// assert_eq!(walk.wanted(), None);
/// assert!(matches!(&found[..], [Found::Damage(damage)] if damage.kind == DamageKind::Stray));
/// ```
pub struct Walk {
    /// Where the file, or the part of it, ends.
    size: u64,
    /// Bytes to ask for where a section begins.
    head_bytes: u64,
    /// Most bytes without a message before the walk gives up.
    stray_bytes_max: u64,
    state: State,
    grids: GridCache,
    stray: Option<Stray>,
    /// How many more damages are told before the walk gives up: broken messages within broken messages would take forever.
    damages_left: u32,
    wanted: Option<Span>,
    last_message_bytes: u64,
}

/// Bytes that are no message.
#[derive(Clone, Copy)]
struct Stray {
    start: u64,
    /// Whether one of them is not zero: zeros are padding.
    is_data: bool,
    /// Whether they were told of as part of a broken message.
    is_told: bool,
}

enum State {
    /// A message is looked for from here on.
    Searching(u64),
    /// A message begins here.
    Indicator(u64),
    /// A message is taken apart.
    Within(Box<Message>),
    /// Nothing is left.
    Done,
}

impl Walk {
    /// A walk through a file of `size` bytes, which asks for `head_bytes` at once where a message or a section begins.
    #[must_use]
    pub fn new(size: u64, head_bytes: u64) -> Walk {
        Walk::within(Span { offset: 0, len: size }, head_bytes)
    }

    /// A walk through a part of a file, as if there was nothing before and behind it.
    #[must_use]
    pub fn within(part: Span, head_bytes: u64) -> Walk {
        let mut walk = Walk {
            size: part.end(),
            head_bytes: head_bytes.max(storage_len(INDICATOR_LEN)),
            stray_bytes_max: u64::MAX,
            state: State::Searching(part.offset),
            grids: GridCache::default(),
            stray: None,
            damages_left: DAMAGES_MAX,
            wanted: None,
            last_message_bytes: u64::MAX,
        };
        walk.want(part.offset, 1);
        if part.len == 0 {
            walk.state = State::Done;
        }
        walk
    }

    /// The same walk, which ends after so many bytes without a message.
    #[must_use]
    pub fn with_stray_bytes_max(mut self, bytes: u64) -> Walk {
        self.stray_bytes_max = bytes;
        self
    }

    /// The bytes that are needed next; `None` once the walk is over.
    #[must_use]
    pub fn wanted(&self) -> Option<Span> {
        self.wanted
    }

    /// Takes the bytes that were wanted, and tells what they show, in the order of the file.
    pub fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found)) {
        let Some(span) = self.wanted.take() else { return };
        let reading = Reading::new(span.offset, bytes);
        while self.wanted.is_none() {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Searching(at) => self.search(at, reading, found),
                State::Indicator(at) => self.begin(at, reading, found),
                State::Within(message) => self.go_on(message, reading, found),
                State::Done => return,
            }
        }
    }

    /// Tells that the wanted bytes could not be read, and ends the walk.
    pub fn fail(&mut self, message: &str, found: &mut dyn FnMut(Found)) {
        let span = self.wanted.take().unwrap_or(Span { offset: self.size, len: 0 });
        self.state = State::Done;
        found(damage(span, DamageKind::Unread, message));
    }

    /// Asks for at least `len` bytes, as far as the file has them.
    fn want(&mut self, offset: u64, len: u64) {
        let left = self.size.saturating_sub(offset);
        if left == 0 {
            return;
        }
        let are_small = self.last_message_bytes <= SMALL_MESSAGES_BYTES / 8;
        let at_once = match self.state {
            State::Searching(_) if self.stray.is_some() => SMALL_MESSAGES_BYTES,
            _ if are_small => SMALL_MESSAGES_BYTES,
            _ => self.head_bytes,
        };
        self.wanted = Some(Span { offset, len: len.max(at_once.max(self.head_bytes)).min(left) });
    }

    /// Looks for the beginning of a message from `at` on.
    fn search(&mut self, at: u64, reading: Reading<'_>, found: &mut dyn FnMut(Found)) {
        let bytes = reading.from(at);
        let position = bytes.windows(MAGIC.len()).position(|window| window == MAGIC);
        // The last bytes may be the first of a message.
        let tail = if self.size <= at + storage_len(bytes.len()) { 0 } else { MAGIC.len() - 1 };
        let passed = position.unwrap_or(bytes.len().saturating_sub(tail));
        if passed != 0 {
            let stray = self.stray.unwrap_or(Stray { start: at, is_data: false, is_told: false });
            let is_data = stray.is_data || bytes.iter().take(passed).any(|byte| *byte != 0);
            self.stray = Some(Stray { is_data, ..stray });
        }
        let next = at + storage_len(passed);
        if position.is_some() {
            self.state = State::Indicator(next);
            return;
        }
        let is_lost = self.stray.is_some_and(|stray| self.stray_bytes_max <= next - stray.start);
        if self.size <= next || is_lost {
            self.end_stray(next, found);
            return;
        }
        self.state = State::Searching(next);
        self.want(next, SMALL_MESSAGES_BYTES.min(self.size - next));
    }

    /// Tells of the bytes before `end` that are no message.
    fn end_stray(&mut self, end: u64, found: &mut dyn FnMut(Found)) {
        let Some(Stray { start, is_data: true, is_told: false }) = self.stray.take() else { return };
        let span = Span { offset: start, len: end - start };
        let is_lost = end < self.size && self.stray_bytes_max <= span.len;
        let beyond = if is_lost { ", and none was looked for beyond" } else { "" };
        self.tell(span, DamageKind::Stray, &format!("no message begins here{beyond}"), found);
    }

    /// Tells of a damage, unless that would be one too many, which ends the walk.
    fn tell(&mut self, span: Span, kind: DamageKind, message: &str, found: &mut dyn FnMut(Found)) {
        match self.damages_left {
            0 => {}
            1 => {
                let rest = Span { offset: span.offset, len: self.size - span.offset };
                let text = format!("{DAMAGES_MAX} damages in one file: the rest was not looked at");
                found(damage(rest, DamageKind::Corrupt, &text));
            }
            _ => found(damage(span, kind, message)),
        }
        self.damages_left = self.damages_left.saturating_sub(1);
    }

    /// Reads the indicator of what seems to be a message.
    fn begin(&mut self, at: u64, reading: Reading<'_>, found: &mut dyn FnMut(Found)) {
        let Ok(indicator) = reading.get(at, INDICATOR_LEN) else {
            if self.size - at < storage_len(INDICATOR_LEN) {
                // Too few bytes for a message: they are stray.
                self.skip(at, Told::No);
            } else {
                self.state = State::Indicator(at);
                self.want(at, storage_len(INDICATOR_LEN));
            }
            return;
        };
        let message = match Message::begin(at, indicator) {
            Ok(message) => message,
            // Four letters alone are no message: they may stand in any text or data.
            Err(error) if error.kind() == ErrorKind::Unsupported => return self.skip(at, Told::No),
            Err(error) => {
                return self.broken(Span { offset: at, len: storage_len(INDICATOR_LEN) }, &error, found);
            }
        };
        self.end_stray(at, found);
        let Span { len, .. } = message.span();
        // The length of a large message of edition 1 is too long by less than 120 bytes; its data section says by how much.
        if self.size - at + 120 < len {
            return self.truncated(message.span(), found);
        }
        self.state = State::Within(Box::new(message));
    }

    /// Tells of a message that the file ends in, and looks for others behind its first letters.
    fn truncated(&mut self, span: Span, found: &mut dyn FnMut(Found)) {
        let left = self.size - span.offset;
        let text = format!("the message has {} bytes, and the file has {left} left", span.len);
        self.tell(Span { len: left, ..span }, DamageKind::Truncated, &text, found);
        self.skip(span.offset, Told::Yes);
    }

    /// Goes on in a message, as far as the bytes reach.
    fn go_on(&mut self, mut message: Box<Message>, reading: Reading<'_>, found: &mut dyn FnMut(Found)) {
        match message.advance(reading, &mut self.grids) {
            Ok(fields) => {
                let span = message.span();
                for field in fields {
                    found(Found::Field(Box::new(field)));
                }
                self.last_message_bytes = span.len;
                self.state = State::Searching(span.end());
                if reading.from(span.end()).len() < INDICATOR_LEN {
                    self.want(span.end(), 1);
                }
            }
            Err(Stop::Wants(span)) if self.size < span.end() => self.truncated(message.span(), found),
            Err(Stop::Wants(span)) => {
                self.state = State::Within(message);
                self.want(span.offset, span.len);
            }
            Err(Stop::Failed(error)) => self.broken(message.span(), &error, found),
        }
    }

    /// Tells what is wrong with a message, and looks for the next one behind its first letters.
    fn broken(&mut self, span: Span, error: &Error, found: &mut dyn FnMut(Found)) {
        self.end_stray(span.offset, found);
        let kind = match error.kind() {
            ErrorKind::Unsupported => DamageKind::Unsupported,
            _ => DamageKind::Corrupt,
        };
        let len = span.len.min(self.size - span.offset);
        self.tell(Span { len, ..span }, kind, error.message(), found);
        self.skip(span.offset, Told::Yes);
    }

    /// Searches behind the first letters of what is no message.
    fn skip(&mut self, at: u64, told: Told) {
        if self.damages_left == 0 {
            self.stray = None;
            self.state = State::Done;
            return;
        }
        let is_told = matches!(told, Told::Yes);
        let start = self.stray.map_or(at, |stray| stray.start);
        self.stray = Some(Stray { start, is_data: true, is_told });
        self.state = State::Searching(at + storage_len(MAGIC.len()));
    }
}

/// Whether bytes were told of as part of a broken message.
enum Told {
    Yes,
    No,
}

fn damage(span: Span, kind: DamageKind, message: &str) -> Found {
    Found::Damage(Damage { span, kind, message: message.to_owned() })
}
