//! How long files are.

use crate::HELPER;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Error, ErrorKind, Medium, ObjectRef, with_helpers};

/// Requests at once. Each waits for one round trip, and most of what is scanned is local.
const REQUESTS_MAX: usize = 32;

/// The bytes of each file, asked for at once where that takes requests.
pub(super) fn sizes(files: &[ObjectRef]) -> Vec<Result<u64, Error>> {
    let is_remote = |file: &ObjectRef| matches!(file.medium, Medium::Remote(_));
    if !files.iter().any(is_remote) {
        return files.iter().map(size).collect();
    }
    let unasked = || Mutex::new(Err(Error::new(ErrorKind::Internal, "a size was never asked for")));
    let found: Vec<Mutex<Result<u64, Error>>> = files.iter().map(|_| unasked()).collect();
    let next = AtomicUsize::new(0);
    let ask = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(file), Some(slot)) = (files.get(number), found.get(number)) else { return };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = size(file);
        }
    };
    with_helpers(HELPER, files.len().min(REQUESTS_MAX), |_| ask(), ask);
    found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn size(file: &ObjectRef) -> Result<u64, Error> {
    file.medium.size(&file.key)
}
