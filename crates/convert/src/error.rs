//! The one error type of this crate.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// What went wrong, in the few classes a caller can act on.
///
/// New kinds may be added: match with a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is not there.
    NotFound,
    /// An argument makes no sense.
    Invalid,
    /// Sound, as far as swath can tell, but something that swath cannot read; the message names it.
    Unsupported,
    /// The bytes of a message contradict its format or one another.
    Corrupt,
    /// The storage failed; [`Error::is_retryable`] says whether trying again can help.
    Io,
    /// The caller cancelled the operation, or its deadline passed.
    Cancelled,
    /// A defect in swath itself.
    Internal,
}

impl ErrorKind {
    /// The class in words, as [`Error`]'s `Display` puts it.
    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "not found",
            Self::Invalid => "invalid",
            Self::Unsupported => "not supported",
            Self::Corrupt => "corrupt",
            Self::Io => "storage error",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal error",
        }
    }
}

/// An error of this crate: a kind, the file it concerns, and one line that says what was wanted and what was found.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    object: Option<String>,
    retryable: bool,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let (message, object) = (message.into(), None);
        Error(Box::new(Inner { kind, message, object, retryable: false, source: None }))
    }

    /// [`ErrorKind::Corrupt`].
    pub(crate) fn corrupt(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corrupt, message)
    }

    /// [`ErrorKind::Unsupported`]; the message names the thing that swath cannot read.
    pub(crate) fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// The same error, naming `object` unless one is named already.
    pub(crate) fn with_object(mut self, object: &str) -> Error {
        if self.0.object.is_none() && !object.is_empty() {
            self.0.object = Some(object.to_owned());
        }
        self
    }

    /// The class of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same operation may succeed when it is tried again later. False for everything that bytes or arguments cause.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The name of the file that this error concerns, where there is one.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        self.0.object.as_deref()
    }

    /// The line that `Display` prints, without the object and the class.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// Keeps the kind, the object and whether another try may help.
impl From<swath_ioengine::Error> for Error {
    fn from(error: swath_ioengine::Error) -> Error {
        use swath_ioengine::ErrorKind as Engine;
        let kind = match error.kind() {
            Engine::NotFound => ErrorKind::NotFound,
            Engine::UnexpectedEnd | Engine::LimitExceeded => ErrorKind::Corrupt,
            Engine::Cancelled | Engine::DeadlineExceeded => ErrorKind::Cancelled,
            Engine::Unsupported => ErrorKind::Unsupported,
            Engine::Panicked | Engine::Internal => ErrorKind::Internal,
            _ => ErrorKind::Io,
        };
        let range = error.range().map(|range| format!("{range}: ")).unwrap_or_default();
        let mut made = Error::new(kind, format!("{range}{}", error.message()));
        made.0.retryable = error.is_retryable();
        made = made.with_object(error.object().unwrap_or_default());
        made.0.source = Some(Arc::new(error));
        made
    }
}

/// Keeps the kind, the object and whether another try may help.
impl From<swath_zarr_front::Error> for Error {
    fn from(error: swath_zarr_front::Error) -> Error {
        use swath_zarr_front::ErrorKind as Zarr;
        let kind = match error.kind() {
            Zarr::NotFound => ErrorKind::NotFound,
            Zarr::Invalid | Zarr::OutOfBounds => ErrorKind::Invalid,
            Zarr::Unsupported => ErrorKind::Unsupported,
            Zarr::Corrupt => ErrorKind::Corrupt,
            Zarr::Cancelled | Zarr::DeadlineExceeded => ErrorKind::Cancelled,
            Zarr::Io => ErrorKind::Io,
            _ => ErrorKind::Internal,
        };
        let mut made = Error::new(kind, error.message());
        made.0.retryable = error.is_retryable();
        made = made.with_object(error.object().unwrap_or_default());
        made.0.source = Some(Arc::new(error));
        made
    }
}

/// Keeps the kind, the object and whether another try may help; what came from the Zarr front-end is what it was.
impl From<Error> for swath_zarr_front::Error {
    fn from(error: Error) -> swath_zarr_front::Error {
        use swath_zarr_front::ErrorKind as Zarr;
        let source =
            error.0.source.as_deref().and_then(|source| source.downcast_ref::<swath_zarr_front::Error>());
        if let Some(source) = source {
            return source.clone().with_object(error.object().unwrap_or_default());
        }
        let kind = match error.kind() {
            ErrorKind::NotFound => Zarr::NotFound,
            ErrorKind::Invalid => Zarr::Invalid,
            ErrorKind::Unsupported => Zarr::Unsupported,
            ErrorKind::Corrupt => Zarr::Corrupt,
            ErrorKind::Io => Zarr::Io,
            ErrorKind::Cancelled => Zarr::Cancelled,
            ErrorKind::Internal => Zarr::Internal,
        };
        let made = swath_zarr_front::Error::new(kind, error.message()).with_retryable(error.is_retryable());
        made.with_object(error.object().unwrap_or_default()).with_source(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.0.object {
            write!(out, "{object}: ")?;
        }
        write!(out, "{}: {}", self.0.kind.words(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("object", &self.0.object)
            .field("message", &self.0.message)
            .field("retryable", &self.0.retryable)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_error_keeps_kind_object_and_retry() {
        let engine = swath_ioengine::Error::new(swath_ioengine::ErrorKind::Unavailable, "busy");
        let error = Error::from(engine.with_object(&Arc::from("a.grib")));
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Io, true));
        assert_eq!(error.to_string(), "a.grib: storage error: busy");
        assert!(error.source().is_some());
    }

    #[test]
    fn an_error_goes_to_the_front_end_and_back() {
        use swath_zarr_front::ErrorKind as Zarr;
        let corrupt = Error::corrupt("7 bytes").with_object("a.grib");
        let made = swath_zarr_front::Error::from(corrupt.clone());
        assert_eq!((made.kind(), made.to_string()), (Zarr::Corrupt, corrupt.to_string()));
        assert_eq!(Error::from(made).kind(), ErrorKind::Corrupt);
        // A kind that this crate does not have comes back as it was.
        let late = swath_zarr_front::Error::new(Zarr::DeadlineExceeded, "late");
        assert_eq!(swath_zarr_front::Error::from(Error::from(late)).kind(), Zarr::DeadlineExceeded);
    }
}
