//! A batch of the engine that walks through files: each answer says what is read next.

use super::ScanOptions;
use super::sizes::sizes;
use crate::{Found, Walk};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Error, Estimate, Identity, LaneContext, Medium, Merging, ObjectRef,
    PlanContext, Planned, Token, Window, storage_len,
};

/// Bytes read where a message of a local file begins. The sections before the data of all sample messages but those of reduced
/// grids are shorter.
const LOCAL_HEAD_BYTES: u64 = 1 << 10;

/// The same of a remote file, at most: what lies between the heads of short messages costs less than another request.
const REMOTE_HEAD_BYTES_MAX: u64 = 64 << 10;

/// Bytes without a message after which a file is given up, unless the caller says otherwise.
const STRAY_BYTES_MAX: u64 = 64 << 20;

/// Files under way, one window and one read at a time each.
pub(super) struct ScanBatch<'a, F> {
    files: Vec<File<'a>>,
    found: F,
}

struct File<'a> {
    object: &'a ObjectRef,
    number: usize,
    state: Mutex<Progress>,
}

struct Progress {
    walk: Walk,
    /// The version that the first read was of.
    identity: Option<Identity>,
}

impl<'a, F: Fn(usize, Found) + Send + Sync> ScanBatch<'a, F> {
    pub(super) fn new(objects: &'a [ObjectRef], found: F, options: &ScanOptions) -> ScanBatch<'a, F> {
        let mut files = Vec::new();
        for (number, (object, size)) in objects.iter().zip(sizes(objects)).enumerate() {
            let head = options.head_bytes.unwrap_or_else(|| head_bytes(&object.medium));
            let size_known = size.as_ref().copied().unwrap_or(1);
            let stray_bytes_max = options.stray_bytes_max.unwrap_or(STRAY_BYTES_MAX);
            let mut walk = Walk::new(size_known, head).with_stray_bytes_max(stray_bytes_max);
            if let Err(error) = size {
                walk.fail(&reason(&error), &mut |next| found(number, next));
            }
            if walk.wanted().is_some() {
                files.push(File { object, number, state: Mutex::new(Progress { walk, identity: None }) });
            }
        }
        ScanBatch { files, found }
    }

    fn file(&self, window: u64) -> Option<&File<'a>> {
        usize::try_from(window).ok().and_then(|window| self.files.get(window))
    }

    fn fail(&self, cursor: Cursor, error: &Error) {
        if let Some(file) = self.file(cursor.window) {
            file.progress().walk.fail(&reason(error), &mut |next| (self.found)(file.number, next));
        }
    }
}

impl File<'_> {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn head_bytes(medium: &Medium) -> u64 {
    match medium {
        Medium::Local(_) => LOCAL_HEAD_BYTES,
        Medium::Remote(source) => {
            source.cost().gap_bytes_max().clamp(LOCAL_HEAD_BYTES, REMOTE_HEAD_BYTES_MAX)
        }
    }
}

fn reason(error: &Error) -> String {
    error.message().to_owned()
}

impl<F: Fn(usize, Found) + Send + Sync> Batch for ScanBatch<'_, F> {
    fn window_count(&self) -> u64 {
        storage_len(self.files.len())
    }

    /// Nobody knows how many messages there are: a scan belongs on the lanes.
    fn estimate(&self) -> Estimate {
        Estimate { reads: u64::MAX, bytes: u64::MAX }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        if let Some(file) = self.file(cursor.window) {
            window.set_object(file.object.clone());
            window.set_merging(Merging::Never);
            if let Some(span) = file.progress().walk.wanted() {
                window.read(ByteRange::Bounded { offset: span.offset, len: span.len }, Token(cursor.window));
            }
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        let Some(file) = self.file(token.0) else { return };
        let mut progress = file.progress();
        let mut found = |next| (self.found)(file.number, next);
        let bytes = match result {
            Ok(Arrival::Bytes(bytes)) => bytes,
            Ok(_) => return progress.walk.fail("bytes arrived in another form", &mut found),
            Err(error) => return progress.walk.fail(&reason(&error), &mut found),
        };
        if let Some(identity) = lane.identity {
            if progress.identity.as_ref().is_some_and(|first| first != identity) {
                return progress.walk.fail("the file was changed while it was scanned", &mut found);
            }
            progress.identity.get_or_insert_with(|| identity.clone());
        }
        progress.walk.feed(bytes, &mut found);
        if progress.walk.wanted().is_some() {
            lane.follow_up(lane.cursor);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, cursor: Cursor, error: Error, _: &mut LaneContext<'_>) {
        self.fail(cursor, &error);
    }
}
