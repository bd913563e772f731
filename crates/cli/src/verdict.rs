//! What a command that did all it was asked for came to.

/// Whether what was looked at is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is: exit code 0.
    Fine,
    /// It is not, and the output says how: exit code 1.
    Wrong,
}

impl Verdict {
    /// Fine where nothing was found.
    pub(crate) fn of(found: u64) -> Verdict {
        if found == 0 { Verdict::Fine } else { Verdict::Wrong }
    }
}
