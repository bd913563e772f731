//! The headers of many files.

use super::header::Header;
use crate::HELPER;
use crate::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, ObjectRef, with_helpers};

/// Files whose headers are read at once: each takes five reads that wait for one another, so that far ones mostly wait.
const FILES_AT_ONCE: usize = 16;

impl Header {
    /// Reads the headers of files, 16 at a time: of each its header, or why it has none, in the order of the files.
    ///
    /// # Errors
    ///
    /// `Cancelled` where the interrupt, which is asked before each file, said so. What is wrong with a file is no error.
    pub fn read_all(
        engine: &Engine,
        files: &[ObjectRef],
        interrupt: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Result<Header, Error>>, Error> {
        let next = AtomicUsize::new(0);
        let found: Vec<Mutex<Option<Result<Header, Error>>>> =
            files.iter().map(|_| Mutex::default()).collect();
        let work = || {
            while !interrupt() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let (Some(file), Some(slot)) = (files.get(number), found.get(number)) else { return };
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Header::read(engine, file));
            }
        };
        with_helpers(HELPER, FILES_AT_ONCE.min(files.len()), |_| work(), work);
        let found: Option<Vec<Result<Header, Error>>> =
            found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        let is_cancelled = |header: &Result<Header, Error>| {
            header.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled)
        };
        // Only an interrupt leaves a file out, or ends its reading.
        found
            .filter(|found| !found.iter().any(is_cancelled))
            .ok_or_else(|| Error::new(ErrorKind::Cancelled, "the reading of headers was interrupted"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swath_ioengine::MemoryMedium;

    #[test]
    fn every_file_has_its_answer_in_its_place() {
        let memory = MemoryMedium::new();
        let names: Vec<String> = (0..40).map(|number| format!("{number}.nat")).collect();
        for name in &names {
            memory.put(name, b"no header".to_vec());
        }
        let files: Vec<ObjectRef> = names.iter().map(|name| memory.object(name)).collect();
        let found = Header::read_all(&Engine::global(), &files, &|| false).unwrap();
        assert_eq!(found.len(), 40);
        for (name, found) in names.iter().zip(found) {
            assert_eq!(found.unwrap_err().object(), Some(name.as_str()));
        }
        assert!(Header::read_all(&Engine::global(), &[], &|| false).unwrap().is_empty());
        let error = Header::read_all(&Engine::global(), &files, &|| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
