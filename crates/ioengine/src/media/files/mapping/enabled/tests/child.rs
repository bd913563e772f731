//! Runs a test's body in a process of its own: signal handlers are the process's, and some bodies end it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

const CASE: &str = "SWATH_TEST_CASE";

/// Runs `body` in a child, which is this program run for that one test.
#[must_use = "how it ended is what is to be checked"]
pub(in super::super) fn in_child(module: &str, test: &str, body: impl FnOnce()) -> Ended {
    case_in_child(module, test, "only", body)
}

/// As [`in_child`], for a test of several bodies.
#[must_use = "how it ended is what is to be checked"]
pub(in super::super) fn case_in_child(module: &str, test: &str, case: &str, body: impl FnOnce()) -> Ended {
    if let Ok(wanted) = std::env::var(CASE) {
        if wanted == case {
            end_what_hangs();
            body();
            std::process::exit(0);
        }
        return Ended(None);
    }
    let (_, module) = module.split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(CASE, case)
        .output()
        .unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("running 0 tests"),
        "there is no test {module}::{test}"
    );
    Ended(Some((format!("{test}, case {case}"), output)))
}

#[expect(unsafe_code, reason = "alarm")]
fn end_what_hangs() {
    // SAFETY: takes no pointer.
    unsafe { libc::alarm(120) };
}

/// How a child ended; nothing in the child itself.
pub(in super::super) struct Ended(Option<(String, Output)>);

impl Ended {
    pub(in super::super) fn succeeds(self) -> Ended {
        self.exits(0)
    }

    pub(in super::super) fn exits(self, code: i32) -> Ended {
        if let Some((case, output)) = &self.0 {
            assert_eq!(output.status.code(), Some(code), "{case}: {output:#?}");
        }
        self
    }

    pub(in super::super) fn dies_of_a_bus_error(self) -> Ended {
        if let Some((case, output)) = &self.0 {
            assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{case}: {output:#?}");
        }
        self
    }

    /// Checks how often a text stands in what the child wrote to standard error.
    pub(in super::super) fn wrote(self, text: &str, times: usize) -> Ended {
        if let Some((case, output)) = &self.0 {
            let found = String::from_utf8_lossy(&output.stderr).matches(text).count();
            assert_eq!(found, times, "{case}: {output:#?}");
        }
        self
    }
}
