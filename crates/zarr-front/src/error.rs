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
    /// The array, group or object is not there.
    NotFound,
    /// Metadata breaks the Zarr specification, or an argument makes no sense.
    Invalid,
    /// Valid, as far as swath can tell, but something that swath cannot do; the message names it.
    Unsupported,
    /// A selection does not fit the array: an index past the end, too many indices, two ellipses. Python's
    /// `IndexError`.
    OutOfBounds,
    /// Stored bytes (a chunk, a shard index) contradict the metadata or their own checksum.
    Corrupt,
    /// The storage failed; [`Error::is_retryable`] says whether trying again can help.
    Io,
    /// The caller cancelled the operation.
    Cancelled,
    /// The deadline of the operation passed.
    DeadlineExceeded,
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
            Self::OutOfBounds => "out of bounds",
            Self::Corrupt => "corrupt",
            Self::Io => "storage error",
            Self::Cancelled => "cancelled",
            Self::DeadlineExceeded => "deadline exceeded",
            Self::Internal => "internal error",
        }
    }
}

/// An error of this crate: a kind, the object it concerns, one clear line, and what caused it.
///
/// The type is opaque and one pointer wide, so that `Result` stays small; [`kind`](Self::kind) is for code and
/// `Display` is for people. `Display` prints one line: the object, the class, what was wanted and what was found.
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
    /// An error of `kind` whose message says what was wanted and what was found; what makes stores of other formats has errors too.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = one_line(message.into());
        Self(Box::new(Inner { kind, message, object: None, retryable: false, source: None }))
    }

    /// [`ErrorKind::Invalid`].
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// [`ErrorKind::Unsupported`]; the message names the thing that swath cannot do.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// [`ErrorKind::OutOfBounds`].
    pub(crate) fn out_of_bounds(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::OutOfBounds, message)
    }

    /// The same error, naming `object` unless one is named already.
    #[must_use]
    pub fn with_object(mut self, object: &str) -> Self {
        if self.0.object.is_none() && !object.is_empty() {
            self.0.object = Some(object.to_owned());
        }
        self
    }

    /// The same error, its message behind `prefix`.
    pub(crate) fn with_message_prefix(mut self, prefix: &str) -> Self {
        self.0.message = one_line(format!("{prefix}{}", self.0.message));
        self
    }

    /// The same error, about `object`, whatever it named.
    pub(crate) fn about(mut self, object: &str) -> Self {
        self.0.object = Some(object.to_owned());
        self
    }

    /// The same error, with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The same error, marked as worth another try or not; errors start as not worth one.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// The class of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same operation may succeed when it is tried again later.
    ///
    /// False for everything that metadata, arguments or stored bytes cause.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The name of the object (a metadata document, a chunk, an array) that this error concerns, where there is one.
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

/// Keeps the kind, names the codec and keeps the codec's error as the source.
impl From<swath_codecs::Error> for Error {
    fn from(error: swath_codecs::Error) -> Self {
        let kind = match error.kind() {
            swath_codecs::ErrorKind::Unsupported => ErrorKind::Unsupported,
            swath_codecs::ErrorKind::Invalid => ErrorKind::Invalid,
            swath_codecs::ErrorKind::Corrupt | swath_codecs::ErrorKind::Checksum => ErrorKind::Corrupt,
            _ => ErrorKind::Internal,
        };
        // The codec's text is "codec <name>: <class>: <detail>"; this crate's `Display` prints the class itself.
        let (name, text) = (error.codec(), error.to_string());
        let rest = text.strip_prefix(&format!("codec {name}: ")).and_then(|rest| rest.split_once(": "));
        let message = match rest {
            Some((_, detail)) => format!("codec `{name}`: {detail}"),
            None => text,
        };
        Self::new(kind, message).with_source(error)
    }
}

/// Keeps the kind, the object and whether another try may help.
impl From<swath_ioengine::Error> for Error {
    fn from(error: swath_ioengine::Error) -> Self {
        use swath_ioengine::ErrorKind as Engine;
        let kind = match error.kind() {
            Engine::NotFound => ErrorKind::NotFound,
            Engine::UnexpectedEnd | Engine::LimitExceeded => ErrorKind::Corrupt,
            Engine::Cancelled => ErrorKind::Cancelled,
            Engine::DeadlineExceeded => ErrorKind::DeadlineExceeded,
            Engine::Unsupported => ErrorKind::Unsupported,
            Engine::Panicked | Engine::Internal => ErrorKind::Internal,
            _ => ErrorKind::Io,
        };
        let range = error.range().map(|range| format!("{range}: ")).unwrap_or_default();
        let made = Self::new(kind, format!("{range}{}", error.message()));
        let made = made.with_retryable(error.is_retryable()).with_object(error.object().unwrap_or_default());
        made.with_source(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.0.object {
            write!(f, "{object}: ")?;
        }
        write!(f, "{}: {}", self.0.kind.words(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
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

/// Messages quote stored names: whatever those hold, a message stays one line of bounded length.
fn one_line(message: String) -> String {
    const CHARACTERS_MAX: usize = 400;
    let is_plain = message.len() <= CHARACTERS_MAX && !message.contains(char::is_control);
    if is_plain {
        return message;
    }
    let escaped = message.chars().flat_map(|character| {
        let escaped = character.is_control().then(|| character.escape_default());
        let plain = escaped.is_none().then_some(character);
        plain.into_iter().chain(escaped.into_iter().flatten())
    });
    escaped.take(CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_wide_and_can_cross_threads() {
        fn crosses_threads<T: Send + Sync + 'static>() {}
        crosses_threads::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn a_codec_error_keeps_kind_and_source() {
        let codec = swath_codecs::Codec::from_v3("imag\ninary", &serde_json::Value::Null).unwrap_err();
        let error = Error::from(codec);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("imag\\ninary") && error.source().is_some(), "{error}");
        assert_eq!(Error::invalid("é".repeat(1000)).message().chars().count(), 400);
    }

    #[test]
    fn display_is_one_line_with_object_class_and_message() {
        let error =
            Error::unsupported("data type `string`").with_object("t2m/zarr.json").with_object("other");
        assert_eq!(error.to_string(), "t2m/zarr.json: not supported: data type `string`");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.object(), Some("t2m/zarr.json"));
        assert!(!error.is_retryable());
        assert!(error.with_retryable(true).with_source(fmt::Error).source().is_some());
    }
}
