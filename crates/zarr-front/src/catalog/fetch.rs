//! Reading parts of one object, of one version, and the versions of many.

use super::absent;
use crate::read_batch::version_range;
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Estimate, Identity, LaneContext, ObjectRef, PlanContext,
    Planned, RunOptions, Token, Window, storage_len,
};

/// Bytes of an object, and the version that they are of, where its medium knows it.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) bytes: Bytes,
    pub(crate) identity: Option<Identity>,
}

/// Reads a range of an object; of the version that is expected, where one is.
///
/// # Errors
///
/// Those of the medium; `Io` where the object is another version.
pub(crate) fn fetch(
    engine: &Engine,
    object: &ObjectRef,
    range: ByteRange,
    expected: Option<&Identity>,
) -> Result<Fetched, Error> {
    let fetch = Fetch { object, range, expected, found: Mutex::new(None) };
    engine
        .run(&fetch, &RunOptions::default())
        .map_err(|error| Error::from(error).with_object(&object.key))?;
    let found = fetch.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a read was never delivered")))
}

struct Fetch<'a> {
    object: &'a ObjectRef,
    range: ByteRange,
    expected: Option<&'a Identity>,
    found: Mutex<Option<Result<Fetched, Error>>>,
}

impl Batch for Fetch<'_> {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: 1, bytes: self.range.len_max() }
    }

    fn plan<'b>(&'b self, _: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        if let Some(identity) = self.expected {
            window.expect_identity(identity.clone());
        }
        window.read(self.range, Token(0));
        Planned::Complete
    }

    fn deliver(
        &self,
        _: Token,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let found = match result {
            Ok(Arrival::Bytes(bytes)) => {
                Ok(Fetched { bytes: Bytes::copy_from_slice(bytes), identity: lane.identity.cloned() })
            }
            Ok(_) => Err(Error::new(ErrorKind::Internal, "bytes arrived in another form")),
            Err(error) => Err(Error::from(error)),
        };
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: swath_ioengine::Error, _: &mut LaneContext<'_>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(Err(error.into()));
    }
}

/// The versions of objects, all asked for at once by the least reads that tell them; `None` where their medium does not know.
///
/// # Errors
///
/// What ended the reads as a whole; for each object, those of the medium.
pub(crate) fn fetch_identities(
    engine: &Engine,
    objects: &[ObjectRef],
) -> Result<Vec<Result<Option<Identity>, Error>>, Error> {
    let lost = || Mutex::new(Err(Error::new(ErrorKind::Internal, "a read was never delivered")));
    let looks = Looks { objects, found: objects.iter().map(|_| lost()).collect() };
    engine.run(&looks, &RunOptions::default())?;
    let found = looks.found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(found.collect())
}

/// Looks at objects, a window each.
struct Looks<'a> {
    objects: &'a [ObjectRef],
    found: Vec<Mutex<Result<Option<Identity>, Error>>>,
}

impl Looks<'_> {
    fn note(&self, cursor: Cursor, found: Result<Option<Identity>, Error>) {
        let slot = usize::try_from(cursor.window).ok().and_then(|number| self.found.get(number));
        if let Some(slot) = slot {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
    }
}

impl Batch for Looks<'_> {
    fn window_count(&self) -> u64 {
        storage_len(self.objects.len())
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: storage_len(self.objects.len()), bytes: storage_len(self.objects.len()) }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let object = usize::try_from(cursor.window).ok().and_then(|number| self.objects.get(number));
        if let Some(object) = object {
            window.set_object(object.clone());
            window.read(version_range(object), Token(0));
        }
        Planned::Complete
    }

    fn deliver(
        &self,
        _: Token,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let found = result.map(|_| lane.identity.cloned()).map_err(|error| absent(Error::from(error)));
        self.note(lane.cursor, found);
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, cursor: Cursor, error: swath_ioengine::Error, _: &mut LaneContext<'_>) {
        self.note(cursor, Err(error.into()));
    }
}

/// Bytes of the object, where its identity tells.
pub(crate) fn size_of(fetched: &Fetched, asked: u64) -> Option<u64> {
    let found = storage_len(fetched.bytes.len());
    match &fetched.identity {
        Some(Identity::File(file)) => Some(file.size),
        // A suffix that is shorter than asked for is all there is.
        _ => (found < asked).then_some(found),
    }
}
