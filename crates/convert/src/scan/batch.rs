//! A batch of the engine that walks through files: each answer says what is read next.

use super::ScanOptions;
use super::parts::{Finished, Parts, cut};
use crate::{Found, Span, Walk};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Files under way, or parts of them: one window and one read at a time each.
pub(super) struct ScanBatch<'a, F> {
    files: Vec<File<'a>>,
    found: F,
}

struct File<'a> {
    object: &'a ObjectRef,
    number: usize,
    size: u64,
    head_bytes: u64,
    stray_bytes_max: u64,
    state: Mutex<Progress>,
}

struct Progress {
    walk: Walk,
    /// The version that the first read was of.
    identity: Option<Identity>,
    /// Where only a part of the file is walked through: which, and what was found in it.
    part: Option<Part>,
}

struct Part {
    number: usize,
    parts: Arc<Parts>,
    found: Vec<Found>,
}

impl<'a, F: Fn(usize, Found) + Send + Sync> ScanBatch<'a, F> {
    /// A batch of files of these sizes, with the places where messages of each are said to begin.
    pub(super) fn new(
        objects: &'a [ObjectRef],
        sizes: Vec<Result<u64, Error>>,
        starts: &[Vec<u64>],
        found: F,
        options: &ScanOptions,
    ) -> ScanBatch<'a, F> {
        let mut files = Vec::new();
        for (number, (object, size)) in objects.iter().zip(sizes).enumerate() {
            let size = match size {
                Ok(size) => size,
                Err(error) => {
                    Walk::new(1, 1).fail(&reason(&error), &mut |next| found(number, next));
                    continue;
                }
            };
            let starts = starts.get(number).map(Vec::as_slice).unwrap_or_default();
            let head_bytes = options.head_bytes.unwrap_or_else(|| head_bytes(&object.medium));
            let stray_bytes_max = options.stray_bytes_max.unwrap_or(STRAY_BYTES_MAX);
            let spans = cut(starts, size);
            let parts = (1 < spans.len()).then(|| Arc::new(Parts::new(spans.len())));
            for (place, span) in spans.into_iter().enumerate() {
                let walk = Walk::within(span, head_bytes).with_stray_bytes_max(stray_bytes_max);
                let part = parts.clone().map(|parts| Part { number: place, parts, found: Vec::new() });
                if walk.wanted().is_some() {
                    let state = Mutex::new(Progress { walk, identity: None, part });
                    files.push(File { object, number, size, head_bytes, stray_bytes_max, state });
                }
            }
        }
        ScanBatch { files, found }
    }

    fn file(&self, window: u64) -> Option<&File<'a>> {
        usize::try_from(window).ok().and_then(|window| self.files.get(window))
    }

    /// Has a file's walk take a step, and goes on with what it wants then. Where the last part of a file is done, tells what is in
    /// all of them, or begins anew with the whole file where they do not fit.
    fn step(
        &self,
        file: &File<'_>,
        lane: &mut LaneContext<'_>,
        step: impl FnOnce(&mut Walk, &mut dyn FnMut(Found)),
    ) {
        let mut progress = file.progress();
        let Progress { walk, part, identity } = &mut *progress;
        match part {
            Some(part) => step(walk, &mut |next| part.found.push(next)),
            None => step(walk, &mut |next| (self.found)(file.number, next)),
        }
        if walk.wanted().is_none()
            && let Some(part) = part.take()
        {
            match part.parts.finish(part.number, part.found, identity.as_ref()) {
                Finished::Part => {}
                Finished::All(found) => found.into_iter().for_each(|next| (self.found)(file.number, next)),
                Finished::Doubtful => {
                    *walk = Walk::within(Span { offset: 0, len: file.size }, file.head_bytes)
                        .with_stray_bytes_max(file.stray_bytes_max);
                    *identity = None;
                }
            }
        }
        if walk.wanted().is_some() {
            lane.follow_up(lane.cursor);
        }
    }
}

impl File<'_> {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is the version that the first read was of.
    fn is_same(&self, identity: Option<&Identity>) -> bool {
        let Some(identity) = identity else { return true };
        self.progress().identity.get_or_insert_with(|| identity.clone()) == identity
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
        let is_same = file.is_same(lane.identity);
        self.step(file, lane, |walk, found| match result {
            Ok(Arrival::Bytes(_)) if !is_same => {
                walk.fail("the file was changed while it was scanned", found)
            }
            Ok(Arrival::Bytes(bytes)) => walk.feed(bytes, found),
            Ok(_) => walk.fail("bytes arrived in another form", found),
            Err(error) => walk.fail(&reason(&error), found),
        });
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, cursor: Cursor, error: Error, lane: &mut LaneContext<'_>) {
        if let Some(file) = self.file(cursor.window) {
            self.step(file, lane, |walk, found| walk.fail(&reason(&error), found));
        }
    }
}
