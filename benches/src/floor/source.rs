//! The files of a plan: open, or mapped into memory with every page in place.

use protocol::Failure;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::ptr::NonNull;

/// How stored bytes are had.
pub(crate) enum Source {
    /// By a positioned read each.
    Files(Vec<File>),
    /// They are there.
    Mappings(Vec<Mapping>),
}

impl Source {
    /// Opens the files.
    pub(crate) fn files(paths: &[PathBuf]) -> Result<Source, Failure> {
        allow_many_files();
        Ok(Source::Files(paths.iter().map(|path| open(path)).collect::<Result<_, _>>()?))
    }

    /// Maps the files.
    pub(crate) fn mappings(paths: &[PathBuf]) -> Result<Source, Failure> {
        Ok(Source::Mappings(paths.iter().map(|path| Mapping::new(&open(path)?)).collect::<Result<_, _>>()?))
    }

    /// The stored bytes at `offset..offset + len`: in `scratch`, or where they are mapped.
    pub(crate) fn bytes<'a>(
        &'a self,
        file: u32,
        offset: u64,
        len: usize,
        scratch: &'a mut [u8],
    ) -> Result<&'a [u8], Failure> {
        match self {
            Source::Files(files) => {
                let scratch = &mut scratch[..len];
                files[file as usize].read_exact_at(scratch, offset)?;
                Ok(scratch)
            }
            Source::Mappings(mappings) => {
                let start = usize::try_from(offset)?;
                let found = mappings[file as usize].bytes().get(start..start + len);
                Ok(found.ok_or("a chunk reaches past the end of its file")?)
            }
        }
    }
}

fn open(path: &PathBuf) -> Result<File, Failure> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Raises the soft limit of open files to the hard one.
fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a structure that the call fills.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the pointer is to a structure that the call reads.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}

/// A whole file, mapped for reading.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is owned by this value alone, and is only read.
unsafe impl Send for Mapping {}
// SAFETY: shared references only read.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File) -> Result<Mapping, Failure> {
        let len = usize::try_from(file.metadata()?.len())?;
        if len == 0 {
            return Ok(Mapping { start: NonNull::dangling(), len });
        }
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().into());
        }
        let start = NonNull::new(start.cast()).ok_or("a mapping lies at address zero")?;
        Ok(Mapping { start, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped for as long as `self` lives; nothing writes to the files of a bench.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: mapped in `new` with this length, unmapped once.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}
