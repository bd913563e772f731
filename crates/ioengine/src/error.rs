//! The crate's one error type.

use crate::ByteRange;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What went wrong, coarse enough to match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The object does not exist.
    NotFound,
    /// The object exists but may not be read.
    PermissionDenied,
    /// The range reaches past the object's end, or the object ended before its stated size.
    UnexpectedEnd,
    /// The object was replaced or written to while a batch read it.
    Changed,
    /// The batch was cancelled before this read was delivered.
    Cancelled,
    /// The batch's deadline passed before this read was delivered.
    DeadlineExceeded,
    /// A sink or a plan panicked, and the batch it belongs to is poisoned; or a medium did, and the reads that it was
    /// asked for failed.
    Panicked,
    /// A bound of [`Limits`](crate::Limits) or of the request itself was exceeded.
    LimitExceeded,
    /// The medium cannot do what was asked (a listing over a source without one, say).
    Unsupported,
    /// The medium failed for a while (throttled, timed out); the same read may succeed later.
    Unavailable,
    /// Any other failure that the operating system or the medium reported.
    Io,
    /// A broken invariant of the engine itself: a bug.
    Internal,
}

/// An error of the engine: what was wanted, of which object, and what was found.
///
/// Cloning is cheap (a reference count): a merged read that fails hands the same cause to each of its parts.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    object: Option<Arc<str>>,
    range: Option<ByteRange>,
    message: Cow<'static, str>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with a message that says what was wanted and what was found.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Arc::new(Inner { kind, object: None, range: None, message: message.into(), source: None }))
    }

    /// An error from the operating system, with the kind that its code implies.
    pub fn from_io(error: std::io::Error) -> Error {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound | Io::NotADirectory => ErrorKind::NotFound,
            Io::PermissionDenied => ErrorKind::PermissionDenied,
            Io::UnexpectedEof => ErrorKind::UnexpectedEnd,
            Io::TimedOut | Io::ResourceBusy => ErrorKind::Unavailable,
            _ => ErrorKind::Io,
        };
        let mut made = Error::new(kind, error.to_string());
        made.edit(|inner| inner.source = Some(Arc::new(error)));
        made
    }

    /// The same error, naming the object it is about, unless it names one already.
    #[must_use]
    pub fn with_object(mut self, object: &Arc<str>) -> Error {
        if self.0.object.is_none() {
            self.edit(|inner| inner.object = Some(Arc::clone(object)));
        }
        self
    }

    /// The same error, naming the byte range it is about, unless it names one already.
    #[must_use]
    pub fn with_range(mut self, range: ByteRange) -> Error {
        if self.0.range.is_none() {
            self.edit(|inner| inner.range = Some(range));
        }
        self
    }

    fn edit(&mut self, change: impl FnOnce(&mut Inner)) {
        change(Arc::make_mut(&mut self.0));
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was wanted and what was found, without the object and the range.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The object that the error is about, as its medium names it.
    pub fn object(&self) -> Option<&str> {
        self.0.object.as_deref()
    }

    /// The byte range that the error is about.
    pub fn range(&self) -> Option<ByteRange> {
        self.0.range
    }

    /// True when the same read may succeed if it is tried again.
    pub fn is_retryable(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Unavailable | ErrorKind::Changed)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.0.object {
            write!(out, "{object}: ")?;
        }
        if let Some(range) = &self.0.range {
            write!(out, "{range}: ")?;
        }
        out.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Error({:?}: {self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// The error of reads whose medium panicked.
pub(crate) fn medium_panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    Error::new(ErrorKind::Panicked, format!("the medium panicked: {}", panic_message(panic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_object_range_and_cause() {
        let error = Error::new(ErrorKind::UnexpectedEnd, "the object has 10 bytes")
            .with_object(&Arc::from("a/b"))
            .with_range(ByteRange::Bounded { offset: 4, len: 8 });
        assert_eq!(error.to_string(), "a/b: bytes 4..12: the object has 10 bytes");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEnd);
    }

    #[test]
    fn operating_system_errors_keep_their_source() {
        let error = Error::from_io(std::io::Error::from_raw_os_error(2));
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(std::error::Error::source(&error).is_some());
    }
}
