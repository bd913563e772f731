//! Closing files, and hearing what came of it.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;

/// Closes a file. It is closed also where this is an error: of what was written, some may not have arrived.
#[expect(unsafe_code, reason = "files that are dropped are closed without a word")]
pub(super) fn close(file: File) -> io::Result<()> {
    let descriptor = file.into_raw_fd();
    // SAFETY: `into_raw_fd` gave up the descriptor, which was the file's own: nobody uses it any more, and nobody else
    // closes it.
    Ok(unsafe { rustix::io::try_close(descriptor) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_file_is_closed_once() {
        let (one, other) = rustix::pipe::pipe().unwrap();
        let (one, other) = (File::from(one), File::from(other));
        let number = other.as_raw_fd();
        close(other).unwrap();
        // The reader finds the end of the pipe only once the writer is closed.
        let mut found = Vec::new();
        io::Read::read_to_end(&mut &one, &mut found).unwrap();
        assert!(found.is_empty() && one.as_raw_fd() != number);
        close(one).unwrap();
    }
}
