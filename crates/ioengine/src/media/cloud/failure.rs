//! What a failed request means: an end, or another try.

use super::heard::Heard;
use crate::{Error, ErrorKind};
use http::StatusCode;
use object_store::Error as StoreError;
use object_store::client::HttpError;
use std::error::Error as StdError;
use std::time::Duration;

/// Why a request brought nothing, or not all.
#[derive(Debug)]
pub(super) enum Failure {
    /// No other try would help.
    Final(Error),
    /// Another try may.
    Again(Trouble),
}

/// What went wrong for now.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) kind: TroubleKind,
    /// For people; names no URL.
    pub(super) cause: String,
    /// How long the server wants to be left alone.
    pub(super) asked: Option<Duration>,
}

/// Kinds of trouble, by what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// The server asks for fewer requests.
    Throttled,
    /// The request never reached the server.
    NotSent,
    /// The connection broke, the server failed, or nothing came.
    Transient,
    /// Credentials ran out. The next request is signed with fresh ones.
    Expired,
    /// An answer that makes no sense.
    Odd,
    /// The server answered a range with the whole object.
    RangeIgnored,
}

impl Failure {
    pub(super) fn again(kind: TroubleKind, cause: impl Into<String>) -> Failure {
        Failure::Again(Trouble { kind, cause: cause.into(), asked: None })
    }

    pub(super) fn last(kind: ErrorKind, message: impl Into<String>) -> Failure {
        Failure::Final(Error::new(kind, message.into()))
    }

    /// What an error of `object_store` means. Its own texts name URLs, with their queries: they are not passed on.
    pub(super) fn of(error: &StoreError, heard: &Heard) -> Failure {
        if let Some(ours) = causes(error).find_map(|cause| cause.downcast_ref::<Error>()) {
            return of_credentials(ours);
        }
        let answer = Answer::of(error, heard);
        let status = answer.status.or(heard.status().filter(|status| !status.is_success()));
        match error {
            StoreError::NotFound { .. } => Failure::last(ErrorKind::NotFound, answer.said("no such object")),
            StoreError::Precondition { .. } => {
                Failure::last(ErrorKind::Changed, "the object is not the version that was wanted")
            }
            StoreError::AlreadyExists { .. } => {
                Failure::last(ErrorKind::Changed, "wanted to write where nothing is, found an object")
            }
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => answer.denied(),
            StoreError::NotSupported { .. } if causes(error).any(is_range_ignored) => range_ignored(),
            StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
                Failure::last(ErrorKind::Unsupported, "the service cannot do this")
            }
            StoreError::InvalidPath { source } => Failure::last(ErrorKind::Unsupported, format!("{source}")),
            _ => match status {
                Some(status) => answer.by_status(status, heard),
                None => without_status(error),
            },
        }
    }
}

/// What can be read from the text of an error: `object_store` keeps its type to itself.
#[derive(Default)]
struct Answer {
    status: Option<StatusCode>,
    /// Code and message of the service's own, from the answer's body.
    code: Option<String>,
    message: Option<String>,
}

const STATUS: &str = "Server returned non-2xx status code: ";
const RESPONSE: &str = "Server returned error response: ";

impl Answer {
    fn of(error: &StoreError, heard: &Heard) -> Answer {
        for cause in causes(error) {
            let text = cause.to_string();
            if let Some(rest) = text.strip_prefix(STATUS) {
                let status = rest.get(..3).and_then(|digits| StatusCode::from_bytes(digits.as_bytes()).ok());
                return Answer { status, code: element(rest, "Code"), message: element(rest, "Message") };
            }
            // Of a success whose body tells of a failure.
            if let Some(rest) = text.strip_prefix(RESPONSE) {
                let status = Some(StatusCode::INTERNAL_SERVER_ERROR);
                return Answer { status, code: element(rest, "Code"), message: element(rest, "Message") };
            }
        }
        Answer { status: heard.status().filter(|status| !status.is_success()), ..Answer::default() }
    }

    fn is_code(&self, codes: &[&str]) -> bool {
        self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }

    /// A text of ours, with what the service said.
    fn said(&self, ours: &str) -> String {
        match (&self.code, &self.message) {
            (Some(code), Some(message)) => format!("{ours} ({code}: {message})"),
            (Some(only), None) | (None, Some(only)) => format!("{ours} ({only})"),
            (None, None) => ours.to_owned(),
        }
    }

    fn denied(&self) -> Failure {
        if self.is_code(&EXPIRED) {
            return Failure::again(TroubleKind::Expired, self.said("the credentials ran out"));
        }
        // Tokens that ran out have no code of their own at Google.
        if self.status == Some(StatusCode::UNAUTHORIZED) {
            let text = self.said("the service does not accept the credentials");
            return Failure::again(TroubleKind::Expired, text);
        }
        Failure::last(ErrorKind::PermissionDenied, self.said("the service denies access"))
    }

    fn by_status(&self, status: StatusCode, heard: &Heard) -> Failure {
        let text = self.said(&format!("the service answered {}", status.as_u16()));
        let asked = heard.retry_after();
        let again = |kind| Failure::Again(Trouble { kind, cause: text.clone(), asked });
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => again(TroubleKind::Throttled),
            _ if self.is_code(&["SlowDown", "TooManyRequests", "ServerBusy"]) => {
                again(TroubleKind::Throttled)
            }
            _ if self.is_code(&EXPIRED) => again(TroubleKind::Expired),
            StatusCode::NOT_IMPLEMENTED => Failure::last(ErrorKind::Unsupported, text),
            StatusCode::REQUEST_TIMEOUT => again(TroubleKind::Transient),
            _ if status.is_server_error() || self.is_code(&["RequestTimeout"]) => {
                again(TroubleKind::Transient)
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Failure::last(ErrorKind::NotFound, text),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.denied(),
            StatusCode::PRECONDITION_FAILED => Failure::last(ErrorKind::Changed, text),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Failure::last(ErrorKind::UnexpectedEnd, "the range begins at or past the object's end")
            }
            StatusCode::METHOD_NOT_ALLOWED => Failure::last(ErrorKind::Unsupported, text),
            _ if status.is_redirection() => Failure::last(
                ErrorKind::Unsupported,
                format!("{text}: wanted an answer, found a redirection"),
            ),
            _ => Failure::last(ErrorKind::Io, text),
        }
    }
}

/// Codes of S3 and Azure for signatures and tokens that are too old.
const EXPIRED: [&str; 5] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "TokenRefreshRequired",
    "RequestExpired",
    "InvalidAuthenticationInfo",
];

/// What getting credentials failed with, which names what was looked at and quotes what the user's own source said. No
/// secret is in it: whoever made the error left them out.
fn of_credentials(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Unavailable => Failure::again(TroubleKind::Transient, error.message()),
        _ => Failure::Final(error.clone()),
    }
}

/// Errors that came with no answer, or with one that `object_store` could make nothing of.
fn without_status(error: &StoreError) -> Failure {
    for cause in causes(error) {
        if let Some(http) = cause.downcast_ref::<HttpError>() {
            return of_connection(http);
        }
        let text = cause.to_string();
        if text.starts_with("Received non-partial response") {
            return Failure::again(
                TroubleKind::RangeIgnored,
                "the server ignored the range that was asked for",
            );
        }
        if text.starts_with("Wanted range starting at") {
            return Failure::last(ErrorKind::UnexpectedEnd, text);
        }
        if text.starts_with("Received redirect without LOCATION") {
            return Failure::last(
                ErrorKind::Unsupported,
                "found a redirection to nowhere: the region may be wrong",
            );
        }
    }
    Failure::again(TroubleKind::Odd, innermost(error))
}

/// In the words of the stores that check for it.
fn is_range_ignored(cause: &(dyn StdError + 'static)) -> bool {
    let text = cause.to_string();
    text.starts_with("Received non-partial response") || text.contains("Range request not supported")
}

fn range_ignored() -> Failure {
    Failure::again(TroubleKind::RangeIgnored, "the server ignored the range that was asked for")
}

fn of_connection(error: &HttpError) -> Failure {
    use object_store::client::HttpErrorKind::{Connect, Timeout};
    let (kind, what) = match error.kind() {
        Connect => (TroubleKind::NotSent, "no connection"),
        Timeout => (TroubleKind::Transient, "no answer in time"),
        _ => (TroubleKind::Transient, "the connection broke"),
    };
    Failure::again(kind, format!("{what} ({})", innermost(error)))
}

/// The cause behind all causes, cut to a length for people; without a URL's query.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let text = causes(error).last().map(ToString::to_string).unwrap_or_default();
    let plain = text.split_whitespace().map(|word| if word.contains("://") { "(a URL)" } else { word });
    plain.collect::<Vec<_>>().join(" ").chars().take(TEXT_MAX).collect()
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

/// Text of an element of an XML answer, cut to a length for people. What else such answers hold (keys, strings that were
/// signed) is not for logs.
fn element(body: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.chars().take(TEXT_MAX).collect())
}

/// Characters of a server's text that are passed on.
const TEXT_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::client::HttpErrorKind;

    fn generic(text: &str) -> StoreError {
        StoreError::Generic { store: "test", source: text.to_owned().into() }
    }

    fn kind(failure: &Failure) -> Result<TroubleKind, ErrorKind> {
        match failure {
            Failure::Final(error) => Err(error.kind()),
            Failure::Again(trouble) => Ok(trouble.kind),
        }
    }

    #[test]
    fn statuses_are_read_from_the_text() {
        let of = |text: &str| kind(&Failure::of(&generic(&format!("{STATUS}{text}")), &Heard::default()));
        assert_eq!(of("503 Service Unavailable: x"), Ok(TroubleKind::Throttled));
        assert_eq!(of("429 Too Many Requests: x"), Ok(TroubleKind::Throttled));
        assert_eq!(of("500 Internal Server Error: <Code>SlowDown</Code>"), Ok(TroubleKind::Throttled));
        assert_eq!(of("500 Internal Server Error: "), Ok(TroubleKind::Transient));
        assert_eq!(of("408 Request Timeout: "), Ok(TroubleKind::Transient));
        assert_eq!(of("400 Bad Request: <Code>ExpiredToken</Code>"), Ok(TroubleKind::Expired));
        assert_eq!(of("400 Bad Request: <Code>RequestTimeout</Code>"), Ok(TroubleKind::Transient));
        assert_eq!(of("400 Bad Request: no"), Err(ErrorKind::Io));
        assert_eq!(of("416 Range Not Satisfiable: "), Err(ErrorKind::UnexpectedEnd));
        assert_eq!(of("301 Moved Permanently: "), Err(ErrorKind::Unsupported));
        assert_eq!(of("501 Not Implemented: "), Err(ErrorKind::Unsupported));
    }

    #[test]
    fn what_getting_credentials_failed_with_is_passed_on() {
        let of = |kind| {
            let ours = Error::new(kind, "no keys today");
            let error = match kind {
                ErrorKind::PermissionDenied => {
                    StoreError::Unauthenticated { path: "a?sig=SECRET".to_owned(), source: Box::new(ours) }
                }
                _ => StoreError::Generic { store: "S3", source: Box::new(ours) },
            };
            Failure::of(&error, &Heard::default())
        };
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Unsupported, ErrorKind::Panicked] {
            match of(kind) {
                Failure::Final(error) => assert_eq!((error.kind(), error.message()), (kind, "no keys today")),
                again @ Failure::Again(_) => panic!("{again:?}"),
            }
        }
        let again = of(ErrorKind::Unavailable);
        assert_eq!(kind(&again), Ok(TroubleKind::Transient));
        assert!(format!("{again:?}").contains("no keys today"));
    }

    #[test]
    fn connections_that_break_are_tried_again() {
        let of = |of| {
            let source = Box::new(HttpError::new(of, std::io::Error::other("reset")));
            kind(&Failure::of(&StoreError::Generic { store: "test", source }, &Heard::default()))
        };
        assert_eq!(of(HttpErrorKind::Connect), Ok(TroubleKind::NotSent));
        assert_eq!(of(HttpErrorKind::Timeout), Ok(TroubleKind::Transient));
        assert_eq!(of(HttpErrorKind::Interrupted), Ok(TroubleKind::Transient));
    }

    #[test]
    fn secrets_in_answers_and_urls_are_not_passed_on() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message><StringToSign>SECRET</StringToSign>";
        let source = generic(&format!("{STATUS}403 Forbidden: {body}")).into();
        let error = StoreError::PermissionDenied { path: "a?sig=SECRET".to_owned(), source };
        for error in [error, generic("cannot reach https://host/a?sig=SECRET now")] {
            let failure = format!("{:?}", Failure::of(&error, &Heard::default()));
            assert!(!failure.contains("SECRET"), "{failure}");
        }
    }
}
