//! What fails below HTTP, and which kind of error it is to a caller.

use super::http1::Broken;
use super::origin_name::OriginName;
use http::Uri;
use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A failed request or connection, in words. URLs are named without path and query, which may hold signatures. Cloning
/// shares the words: those who wait for one connection all get why it failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    kind: HttpErrorKind,
    message: Arc<str>,
}

impl Failure {
    /// A failure to connect: nothing of a request was sent.
    pub(super) fn connect(message: impl Into<Arc<str>>) -> Failure {
        Failure { kind: HttpErrorKind::Connect, message: message.into() }
    }

    /// A request that cannot be made as it is, or whose answer leads nowhere.
    pub(super) fn request(message: impl Into<Arc<str>>) -> Failure {
        Failure { kind: HttpErrorKind::Request, message: message.into() }
    }

    /// A URI that is no web address. The URI's own text is left out.
    pub(super) fn uri(uri: &Uri, problem: &str) -> Failure {
        let host = uri.host().unwrap_or("no host");
        Failure::request(format!("wanted an http or https URL, found one of {host} with {problem}"))
    }

    /// A connection that ended before an answer began.
    pub(super) fn of_request(error: &hyper::Error, origin: &OriginName) -> Failure {
        let kind = match () {
            () if timed_out(error) => HttpErrorKind::Timeout,
            () if error.is_parse() => HttpErrorKind::Decode,
            () if error.is_user() => HttpErrorKind::Request,
            () => HttpErrorKind::Interrupted,
        };
        let message = format!("no answer from {origin}: {}", chain(error));
        Failure { kind, message: message.into() }
    }

    /// A connection of HTTP/1.1 that ended before an answer began.
    pub(super) fn of_unanswered(error: &Broken, origin: &OriginName) -> Failure {
        Failure { kind: error.kind(), message: format!("no answer from {origin}: {error}").into() }
    }

    /// A body of HTTP/1.1 that did not come to its end.
    pub(super) fn of_broken(error: &Broken, origin: &OriginName) -> Failure {
        let kind = match error.kind() {
            HttpErrorKind::Timeout => HttpErrorKind::Timeout,
            _ => HttpErrorKind::Interrupted,
        };
        Failure { kind, message: format!("the answer of {origin} broke off: {error}").into() }
    }

    /// A body that did not come to its end.
    pub(super) fn of_body(error: &hyper::Error, origin: &OriginName) -> Failure {
        let kind = if timed_out(error) { HttpErrorKind::Timeout } else { HttpErrorKind::Interrupted };
        let message = format!("the answer of {origin} broke off: {}", chain(error));
        Failure { kind, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error for Failure {}

impl From<Failure> for HttpError {
    fn from(failure: Failure) -> HttpError {
        HttpError::new(failure.kind, failure)
    }
}

/// An error and its sources, each said once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for source in sources(error).skip(1) {
        let part = source.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}

/// An error, its source, the source of that, and so on.
pub(super) fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn timed_out(error: &hyper::Error) -> bool {
    let mut causes = sources(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    error.is_timeout() || causes.any(|cause| cause.kind() == io::ErrorKind::TimedOut)
}
