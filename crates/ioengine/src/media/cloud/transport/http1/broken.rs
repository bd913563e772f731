//! What ends a connection before its answer does.

use object_store::client::HttpErrorKind;
use std::error::Error;
use std::{fmt, io};

/// Why no answer, or no whole one, came.
#[derive(Debug)]
pub(in super::super) enum Broken {
    /// The system said so.
    Io(io::Error),
    /// The server closed the connection.
    Closed,
    /// What came is not HTTP, or HTTP of a kind that is not spoken here.
    Malformed(&'static str),
}

impl Broken {
    /// The kind of failure that this is to a request.
    pub(in super::super) fn kind(&self) -> HttpErrorKind {
        match self {
            Broken::Io(error) if error.kind() == io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
            Broken::Malformed(_) => HttpErrorKind::Decode,
            Broken::Io(_) | Broken::Closed => HttpErrorKind::Interrupted,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Io(error) => error.fmt(out),
            Broken::Closed => out.write_str("the connection was closed"),
            Broken::Malformed(problem) => write!(out, "wanted HTTP/1.1, found {problem}"),
        }
    }
}

impl Error for Broken {}
