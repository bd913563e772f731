//! One object of an array as it is stored: read whole with its version, and replaced where it still is that version.

use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Error as EngineError, ErrorKind as EngineErrorKind, Estimate,
    Identity, LaneContext, Medium, ObjectRef, OpenObject, PlanContext, Planned, PutCondition, RunOptions,
    Token, Window,
};

/// An object's bytes, and their version where the medium knows it.
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) identity: Option<Identity>,
    /// Of a local file: while it is open, no other file has its inode, so that no other version is taken for this one.
    _open: Option<Arc<dyn OpenObject>>,
}

impl Stored {
    /// Reads an object whole; `None` where there is none. One that is replaced meanwhile is read again, some times.
    ///
    /// # Errors
    ///
    /// Those of the medium, an object of more than `len_max` bytes among them.
    pub(super) fn read(engine: &Engine, object: &ObjectRef, len_max: u64) -> Result<Option<Stored>, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Stored::read_once(engine, object, len_max)? {
                Ok(stored) => return Ok(Some(stored)),
                Err(error) if error.kind() == EngineErrorKind::NotFound => return Ok(None),
                Err(error) if error.kind() == EngineErrorKind::Changed && tries < TRIES_MAX => {}
                Err(error) => return Err(Error::from(error)),
            }
        }
    }

    fn read_once(
        engine: &Engine,
        object: &ObjectRef,
        len_max: u64,
    ) -> Result<Result<Stored, EngineError>, Error> {
        let open = match &object.medium {
            Medium::Local(medium) => match medium.open(&object.key) {
                Ok(open) => Some(open),
                Err(error) => return Ok(Err(error)),
            },
            Medium::Remote(_) => None,
        };
        let read = WholeRead { object, len_max, found: Mutex::new(None) };
        engine.run(&read, &RunOptions::default()).map_err(Error::from)?;
        let found = read.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = found.ok_or_else(|| Error::new(ErrorKind::Internal, "a read was never delivered"))?;
        Ok(found.and_then(|(bytes, identity)| match &open {
            Some(open) if identity.as_ref().is_some_and(|identity| identity != open.identity()) => {
                Err(EngineError::new(EngineErrorKind::Changed, "the object was replaced while it was opened"))
            }
            _ => Ok(Stored { bytes, identity, _open: open }),
        }))
    }
}

/// Times that an object is read again, where others replace it while it is read.
const TRIES_MAX: usize = 16;

/// What a try to replace an object came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replaced {
    Done,
    /// It was not what it had been read as any more, and is left alone.
    Changed,
}

/// Writes an object where it still is what was read of it; whatever is there where nothing was read. Media that take no
/// conditions are written to without one: of two writers at once the last one counts there. Past the page cache where that is
/// wanted.
pub(super) fn replace(
    object: &ObjectRef,
    bytes: Bytes,
    read: Option<Option<&Stored>>,
    past_cache: bool,
) -> Result<Replaced, Error> {
    let condition = match read {
        None => PutCondition::Always,
        Some(None) => PutCondition::Absent,
        Some(Some(stored)) => stored.identity.clone().map_or(PutCondition::Always, PutCondition::Matches),
    };
    let medium = &object.medium;
    let written = match past_cache {
        true => medium.put_past_cache(&object.key, std::slice::from_ref(&bytes), &condition),
        false => medium.put(&object.key, bytes.clone(), &condition),
    };
    match written {
        Ok(_) => Ok(Replaced::Done),
        Err(error) if error.kind() == EngineErrorKind::Changed => Ok(Replaced::Changed),
        Err(error) if error.kind() == EngineErrorKind::Unsupported && condition != PutCondition::Always => {
            put(object, bytes).map(|()| Replaced::Done)
        }
        Err(error) => Err(named(error, object)),
    }
}

/// Writes an object, whatever is there.
pub(super) fn put(object: &ObjectRef, bytes: Bytes) -> Result<(), Error> {
    object.medium.put(&object.key, bytes, &PutCondition::Always).map_err(|error| named(error, object))?;
    Ok(())
}

/// Writes an object of pieces one behind the other, whatever is there. Past the page cache where that is wanted.
pub(super) fn put_pieces(object: &ObjectRef, pieces: &[Bytes], past_cache: bool) -> Result<(), Error> {
    match (past_cache, pieces) {
        (false, [one]) => put(object, one.clone()),
        (false, pieces) => put(object, pieces.concat().into()),
        (true, pieces) => {
            let written = object.medium.put_past_cache(&object.key, pieces, &PutCondition::Always);
            written.map(|_| ()).map_err(|error| named(error, object))
        }
    }
}

/// The memory of bytes that nobody else has; they are lost.
pub(super) fn memory_of(mut bytes: Bytes) -> Option<Vec<u8>> {
    // All but one are let go of, as they would be moved to where they lie; without any the memory would be let go of, too.
    bytes.truncate(1);
    bytes.is_unique().then(|| Vec::from(bytes))
}

/// Removes an object; nothing happens where there is none.
pub(super) fn delete(object: &ObjectRef) -> Result<(), Error> {
    object.medium.delete(&object.key).map_err(|error| named(error, object))
}

/// Removes an object where it still is what was read of it; `None` where the medium takes no such condition.
pub(super) fn delete_read(object: &ObjectRef, read: &Stored) -> Result<Option<Replaced>, Error> {
    let Some(identity) = &read.identity else { return Ok(None) };
    match object.medium.delete_version(&object.key, identity) {
        Ok(()) => Ok(Some(Replaced::Done)),
        Err(error) if error.kind() == EngineErrorKind::Changed => Ok(Some(Replaced::Changed)),
        Err(error) if error.kind() == EngineErrorKind::Unsupported => Ok(None),
        Err(error) => Err(named(error, object)),
    }
}

fn named(error: EngineError, object: &ObjectRef) -> Error {
    Error::from(error).with_object(&object.key)
}

/// A batch of one read: all of an object.
struct WholeRead<'a> {
    object: &'a ObjectRef,
    len_max: u64,
    found: Mutex<Option<Result<Found, EngineError>>>,
}

/// Bytes, and the version that they are of.
type Found = (Vec<u8>, Option<Identity>);

impl WholeRead<'_> {
    fn keep(&self, found: Result<Found, EngineError>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }
}

impl Batch for WholeRead<'_> {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: 1, bytes: self.len_max }
    }

    fn plan<'b>(
        &'b self,
        _cursor: Cursor,
        _context: &PlanContext<'_>,
        window: &mut Window<'_, 'b>,
    ) -> Planned {
        window.set_object(self.object.clone());
        window.read(ByteRange::Whole { len_max: self.len_max }, Token(0));
        Planned::Complete
    }

    fn deliver(&self, _token: Token, result: Result<Arrival<'_>, EngineError>, lane: &mut LaneContext<'_>) {
        self.keep(match result {
            Ok(Arrival::Bytes(bytes)) => Ok((bytes.to_vec(), lane.identity.cloned())),
            Ok(Arrival::Placed(_) | Arrival::Piece(_)) => {
                Err(EngineError::new(EngineErrorKind::Internal, "bytes arrived in another form"))
            }
            Err(error) => Err(error),
        });
    }

    fn stale(&self, _cursor: Cursor) {}

    fn spoiled(&self, _cursor: Cursor, error: EngineError, _lane: &mut LaneContext<'_>) {
        self.keep(Err(error));
    }
}
