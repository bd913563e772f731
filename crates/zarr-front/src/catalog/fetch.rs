//! Reading parts of one object, of one version.

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

/// Bytes of the object, where its identity tells.
pub(crate) fn size_of(fetched: &Fetched, asked: u64) -> Option<u64> {
    let found = storage_len(fetched.bytes.len());
    match &fetched.identity {
        Some(Identity::File(file)) => Some(file.size),
        // A suffix that is shorter than asked for is all there is.
        _ => (found < asked).then_some(found),
    }
}
