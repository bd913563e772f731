//! Open files and their identities.

use crate::blocks::Blocks;
use crate::driver::{Caching, Outcome};
use crate::media::positioned::read_at;
use crate::medium::OpenObject;
use crate::resident::Resident;
use crate::{Error, ErrorKind, FileIdentity, Identity};
use std::any::Any;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file whose last change is younger than this is not kept open between batches: some file systems count times in steps of
/// two seconds.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// A file opened for reading.
pub(super) struct OpenFile {
    file: File,
    identity: Identity,
    found: FileIdentity,
    settled: bool,
}

impl OpenFile {
    /// Opens `key` below `directory`.
    pub(super) fn open(directory: &Path, key: &str) -> io::Result<OpenFile> {
        let path = path_of(directory, key)?;
        // Looked at first, as opening a pipe waits for whoever writes to it.
        check_regular(&std::fs::metadata(&path)?)?;
        let file = File::open(&path)?;
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        let found = FileIdentity::of(&metadata);
        let settled = is_settled(found.modified_ns.max(found.changed_ns));
        Ok(OpenFile { file, identity: Identity::File(found), found, settled })
    }

    /// The identity that opening `key` would find.
    pub(super) fn identify(directory: &Path, key: &str) -> io::Result<Identity> {
        let metadata = std::fs::metadata(path_of(directory, key)?)?;
        check_regular(&metadata)?;
        Ok(Identity::File(FileIdentity::of(&metadata)))
    }

    /// Checks that the bytes of the open file are those of when it was opened.
    pub(super) fn verify(&self) -> Result<(), Error> {
        let now = FileIdentity::of(&self.file.metadata().map_err(Error::from_io)?);
        if now.same_bytes(&self.found) {
            return Ok(());
        }
        let message = format!(
            "the file was written to while it was read: it had {} bytes, modified at {} ns, and has {} bytes, modified at {} ns",
            self.found.size, self.found.modified_ns, now.size, now.modified_ns
        );
        Err(Error::new(ErrorKind::Changed, message))
    }

    /// Reads into `target` at `offset`, once.
    pub(super) fn read(&self, _caching: Caching, target: &mut [u8], offset: u64) -> Outcome {
        match read_at(&self.file, target, offset) {
            Ok(read) => Outcome::Filled(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Outcome::Again,
            Err(error) => Outcome::Failed(Error::from_io(error)),
        }
    }

    /// As [`read`](OpenFile::read), where it does not wait; `None` as any may.
    pub(super) fn read_at_once(&self, _target: &mut [u8], _offset: u64) -> Option<Outcome> {
        None
    }
}

impl OpenObject for OpenFile {
    fn size(&self) -> u64 {
        self.found.size
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn is_settled(&self) -> bool {
        self.settled
    }

    fn resident(&self, _bytes: u64) -> Option<Resident<'_>> {
        None
    }

    fn blocks(&self, _bytes: u64) -> Option<Blocks> {
        None
    }

    fn refuse_blocks(&self) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Where a key is. Refuses those that lead out of the directory, other than by a link inside it: on Windows, backslashes and
/// colons do too.
pub(super) fn path_of(directory: &Path, key: &str) -> io::Result<PathBuf> {
    let leads_out = key.starts_with('/') || key.split('/').any(|name| name == "..");
    if leads_out || cfg!(windows) && key.contains(['\\', ':']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a key must stay below its directory"));
    }
    Ok(directory.join(key))
}

/// Reads of what is in memory; `None` as any may wait.
#[cfg(all(feature = "cache", not(target_os = "linux")))]
pub(crate) fn read_cached_at(_file: &File, _target: &mut [u8], _offset: u64) -> Option<io::Result<usize>> {
    None
}

fn check_regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::NotFound, "not a regular file")),
    }
}

fn is_settled(changed_ns: i128) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ns = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or_default();
    ns(SETTLED_AFTER) <= ns(now) - changed_ns
}
