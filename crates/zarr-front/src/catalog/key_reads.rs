//! Reading keys of a catalog whole: those of one target in common windows, of the version that their places are known of.

use super::{Contents, Located, absent};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_codecs::Scratch;
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Estimate, LaneContext, ObjectRef, PlanContext, Planned,
    RunOptions, Token, Window, storage_len,
};

/// What the keys hold, in their order.
pub(super) struct KeysRead {
    /// `None` for keys that are not there.
    pub(super) found: Vec<Result<Option<Bytes>, Error>>,
    /// An object is another by now than the catalog says.
    pub(super) is_stale: bool,
}

/// Reads all keys whole, each of at most `len_max` bytes.
///
/// # Errors
///
/// What ended the read as a whole.
pub(super) fn read_keys(
    contents: &Contents,
    engine: &Engine,
    keys: &[String],
    len_max: u64,
) -> Result<KeysRead, Error> {
    let reads = KeyReads::new(contents, keys, len_max);
    engine.run(&reads, &RunOptions::default())?;
    let found = reads.found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(KeysRead { found: found.collect(), is_stale: reads.is_stale.into_inner() })
}

struct KeyReads<'a> {
    contents: &'a Contents,
    windows: Vec<KeyWindow>,
    found: Vec<Mutex<Result<Option<Bytes>, Error>>>,
    is_stale: AtomicBool,
}

/// Keys of one target, in the order in which they lie there.
struct KeyWindow {
    object: ObjectRef,
    reads: Vec<KeyRead>,
}

struct KeyRead {
    number: usize,
    located: Located,
    range: ByteRange,
}

/// Keys of one window at most.
const WINDOW_KEYS_MAX: usize = 1024;

impl<'a> KeyReads<'a> {
    fn new(contents: &'a Contents, keys: &[String], len_max: u64) -> KeyReads<'a> {
        let mut located: Vec<(usize, Located)> =
            keys.iter().map(|key| contents.find(key)).enumerate().collect();
        located.sort_by_key(|(_, located)| contents.place(*located));
        let mut found: Vec<Mutex<Result<Option<Bytes>, Error>>> = Vec::new();
        found.resize_with(keys.len(), || Mutex::new(Ok(None)));
        let mut windows: Vec<KeyWindow> = Vec::new();
        let mut last = None;
        for (number, located) in located {
            let (object, range) = match contents.read_of(located, len_max) {
                Ok(Some(read)) => read,
                Ok(None) => continue,
                Err(error) => {
                    found[number] = Mutex::new(Err(error));
                    continue;
                }
            };
            found[number] = Mutex::new(Err(Error::new(ErrorKind::Internal, "never delivered")));
            let read = KeyRead { number, located, range };
            let target = contents.place(located).0;
            match windows.last_mut() {
                Some(window) if last == Some(target) && window.reads.len() < WINDOW_KEYS_MAX => {
                    window.reads.push(read);
                }
                _ => windows.push(KeyWindow { object, reads: vec![read] }),
            }
            last = Some(target);
        }
        KeyReads { contents, windows, found, is_stale: AtomicBool::new(false) }
    }

    fn window(&self, cursor: Cursor) -> Option<&KeyWindow> {
        self.windows.get(usize::try_from(cursor.window).ok()?)
    }

    fn note(&self, read: &KeyRead, found: Result<Bytes, Error>) {
        if let Some(slot) = self.found.get(read.number) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = found.map(Some);
        }
    }
}

impl Batch for KeyReads<'_> {
    fn window_count(&self) -> u64 {
        storage_len(self.windows.len())
    }

    fn estimate(&self) -> Estimate {
        let reads = || self.windows.iter().flat_map(|window| &window.reads);
        let bytes = reads().fold(0u64, |bytes, read| bytes.saturating_add(read.range.len_max()));
        Estimate { reads: storage_len(reads().count()), bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let Some(KeyWindow { object, reads }) = self.window(cursor) else { return Planned::Complete };
        window.set_object(object.clone());
        if let Some(identity) = self.contents.identity() {
            window.expect_identity(identity.clone());
        }
        for (number, read) in reads.iter().enumerate() {
            window.read(read.range, Token(storage_len(number)));
        }
        Planned::Complete
    }

    fn deliver(
        &self,
        token: Token,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let number = usize::try_from(token.0).ok();
        let read = self.window(lane.cursor).zip(number).and_then(|(window, number)| window.reads.get(number));
        let Some(read) = read else { return };
        let mut memory = Vec::new();
        let bytes = match result {
            Ok(Arrival::Bytes(stored)) => {
                self.contents.unpack(read.located, stored, lane.scratch.get::<Scratch>(), &mut memory)
            }
            Ok(_) => Err(Error::new(ErrorKind::Internal, "bytes arrived in another form")),
            Err(error) => Err(absent(Error::from(error))),
        };
        self.note(read, bytes.map(Bytes::copy_from_slice));
    }

    fn stale(&self, _: Cursor) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    fn spoiled(&self, cursor: Cursor, error: swath_ioengine::Error, _: &mut LaneContext<'_>) {
        self.is_stale.store(true, Ordering::Relaxed);
        for read in self.window(cursor).into_iter().flat_map(|window| &window.reads) {
            self.note(read, Err(Error::from(error.clone())));
        }
    }
}
