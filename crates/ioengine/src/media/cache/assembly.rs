//! One answer out of several pieces.

use crate::engine::lock;
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::{Arc, Mutex};

/// What is called with the joined bytes, or with what went wrong first.
type Then = Box<dyn FnOnce(Result<Bytes, Error>) + Send>;

/// Pieces that arrive in any order.
pub(super) struct Assembly {
    state: Mutex<State>,
}

struct State {
    pieces: Vec<Option<Bytes>>,
    missing: usize,
    then: Option<Then>,
}

impl Assembly {
    /// Waits for `count` pieces, at least one.
    pub(super) fn new(count: usize, then: Then) -> Arc<Assembly> {
        let state = State { pieces: vec![None; count], missing: count, then: Some(then) };
        Arc::new(Assembly { state: Mutex::new(state) })
    }

    /// Puts a piece in its place. The last one, or the first that failed, makes the answer, on this thread.
    pub(super) fn put(&self, index: usize, piece: Result<Bytes, Error>) {
        let mut state = lock(&self.state);
        let result = match piece {
            Ok(bytes) => {
                if let Some(slot) = state.pieces.get_mut(index) {
                    *slot = Some(bytes);
                }
                state.missing = state.missing.saturating_sub(1);
                if state.missing != 0 {
                    return;
                }
                join(&mut state.pieces)
            }
            Err(error) => Err(error),
        };
        let then = state.then.take();
        drop(state);
        if let Some(then) = then {
            then(result);
        }
    }
}

fn join(pieces: &mut [Option<Bytes>]) -> Result<Bytes, Error> {
    if let [only] = pieces
        && let Some(bytes) = only.take()
    {
        return Ok(bytes);
    }
    let len = pieces.iter().flatten().map(Bytes::len).sum();
    let mut joined = Vec::with_capacity(len);
    for piece in pieces {
        let lost = || Error::new(ErrorKind::Internal, "a piece of an answer is missing");
        joined.extend_from_slice(&piece.take().ok_or_else(lost)?);
    }
    Ok(joined.into())
}
