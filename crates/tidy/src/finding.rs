use std::fmt;

/// One breach of one rule: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the repository's root, with forward slashes.
    pub path: String,
    /// The line in it, from 1, or 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong and what is wanted, in one line.
    pub message: String,
}

impl Finding {
    pub(crate) fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 0, message: message.into() }
    }

    pub(crate) fn at_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}
