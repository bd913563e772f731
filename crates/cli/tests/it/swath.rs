//! Running the binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The binary with these arguments, in this directory, its input closed and its outputs to be captured.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swath"));
    command.current_dir(folder).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a finished run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code(), stdout: output.stdout, stderr }
    }
}

impl Ran {
    /// The output of a run that succeeded and had nothing to say besides.
    pub(crate) fn text(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// The same, as JSON on one line.
    pub(crate) fn json(self) -> serde_json::Value {
        let text = self.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The output of a run that found what is wrong and had nothing to say besides.
    pub(crate) fn found(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(1), ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// The one line on standard error of a run that failed with this code and printed nothing.
    pub(crate) fn error(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.len()), (Some(code), 0), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        let line = self.stderr.trim_end().strip_prefix("swath: ").unwrap();
        assert!(!line.contains("panicked") && !line.is_empty());
        line.to_owned()
    }
}

/// Runs the binary in this directory.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    command(folder, arguments).output().unwrap().into()
}
