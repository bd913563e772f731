//! What can go wrong, in one opaque error.

use std::borrow::Cow;
use std::fmt;

/// What sort of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The metadata asks for a codec, or a setting of one, that this crate does not have.
    Unsupported,
    /// The metadata contradicts itself, its specification or the chunk's layout.
    Invalid,
    /// Stored bytes are not what the codec writes, or decode to another length than the metadata promises.
    Corrupt,
    /// Stored bytes do not match the checksum stored with them.
    Checksum,
    /// A library failed for want of memory, or a caller passed a slice of the wrong length.
    Internal,
}

/// Why a chunk could not be decoded or encoded, or a codec not be built.
///
/// Its text names the codec, what was wanted and what was found. Eight bytes wide, so that results stay small.
#[derive(Clone)]
pub struct Error(Box<Detail>);

#[derive(Clone)]
struct Detail {
    kind: ErrorKind,
    /// Stored bytes decode to more than there was room for.
    is_too_long: bool,
    codec: Cow<'static, str>,
    message: Cow<'static, str>,
}

impl Error {
    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The codec that failed, by its metadata name; `"chain"` when the failure is of the chain as a whole.
    #[must_use]
    pub fn codec(&self) -> &str {
        &self.0.codec
    }

    pub(crate) fn unsupported(
        codec: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ErrorKind::Unsupported, codec, message)
    }

    pub(crate) fn invalid(
        codec: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ErrorKind::Invalid, codec, message)
    }

    /// A configuration field that holds something else than wanted.
    pub(crate) fn invalid_field(
        codec: &'static str,
        field: &str,
        wanted: &str,
        found: impl fmt::Display,
    ) -> Self {
        Self::invalid(codec, format!("field `{field}`: wanted {wanted}, found {found}"))
    }

    #[cold]
    pub(crate) fn corrupt(
        codec: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ErrorKind::Corrupt, codec, message)
    }

    /// Decoded bytes that are more or fewer than promised.
    #[cold]
    pub(crate) fn wrong_length(codec: &'static str, wanted: Wanted, found: u64) -> Self {
        let is_too_long = (wanted.bytes() as u64) < found;
        Self::corrupt(codec, format!("wanted {wanted} decoded bytes, found {found}")).noting(is_too_long)
    }

    /// Decoded bytes that did not fit, where the library does not say how many there were.
    #[cold]
    pub(crate) fn too_long(codec: &'static str, wanted: Wanted) -> Self {
        Self::corrupt(codec, format!("wanted {wanted} decoded bytes, found more than {}", wanted.bytes()))
            .noting(true)
    }

    /// The error, saying whether stored bytes may be sound and decode to more than there was room for.
    pub(crate) fn noting(mut self, is_too_long: bool) -> Self {
        self.0.is_too_long = is_too_long;
        self
    }

    /// Whether stored bytes may be sound, and decode to more than there was room for.
    pub(crate) fn is_too_long(&self) -> bool {
        self.0.is_too_long
    }

    #[cold]
    pub(crate) fn checksum(codec: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Checksum, codec, message)
    }

    #[cold]
    pub(crate) fn internal(codec: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal, codec, message)
    }

    fn new(
        kind: ErrorKind,
        codec: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Detail { kind, is_too_long: false, codec: codec.into(), message: message.into() }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detail { kind, codec, message, .. } = &*self.0;
        let what = match kind {
            ErrorKind::Unsupported => "not supported",
            ErrorKind::Invalid => "invalid metadata",
            ErrorKind::Corrupt => "corrupt bytes",
            ErrorKind::Checksum => "checksum mismatch",
            ErrorKind::Internal => "internal error",
        };
        write!(f, "codec {codec}: {what}: {message}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("codec", &self.0.codec)
            .field("message", &self.0.message)
            .finish()
    }
}

impl std::error::Error for Error {}

/// How many bytes a stage must decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Exactly so many.
    Exactly(usize),
    /// So many at most, because an earlier codec's output has no fixed length.
    AtMost(usize),
}

impl Wanted {
    /// The number of bytes that a target needs to have room for.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Exactly(bytes) | Self::AtMost(bytes) => bytes,
        }
    }

    /// Whether so many decoded bytes keep the promise.
    pub(crate) fn check(self, codec: &'static str, found: usize) -> Result<(), Error> {
        let kept = match self {
            Self::Exactly(bytes) => found == bytes,
            Self::AtMost(bytes) => found <= bytes,
        };
        if kept { Ok(()) } else { Err(Error::wrong_length(codec, self, found as u64)) }
    }

    /// The same for stored bytes, of a codec that stores a known number of them.
    pub(crate) fn check_stored(self, codec: &'static str, found: usize) -> Result<(), Error> {
        self.check(codec, found)
            .map_err(|_| Error::corrupt(codec, format!("wanted {self} stored bytes, found {found}")))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(bytes) => write!(f, "{bytes}"),
            Self::AtMost(bytes) => write!(f, "at most {bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_codec_wanted_and_found() {
        let error = Error::wrong_length("zstd", Wanted::Exactly(8), 9);
        assert_eq!(error.to_string(), "codec zstd: corrupt bytes: wanted 8 decoded bytes, found 9");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn is_small_and_shareable() {
        fn shareable<T: Send + Sync + Clone + 'static>() {}
        shareable::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
