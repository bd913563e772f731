//! Unfinished business is an issue, not a mark in a source.

use crate::source::{line_of, places};
use crate::{Finding, Repository};

/// Put together here, so that this file does not find itself.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.files.iter().filter(|file| !file.path.ends_with(".md")) {
        let text: Vec<char> = file.text.chars().collect();
        for mark in MARKS {
            for start in places(&text, mark) {
                let message = format!("{mark}: finish it, or open an issue and say here what holds now");
                findings.push(Finding::at_line(&file.path, line_of(&text, start), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::repository;

    #[test]
    fn marks_are_found_in_any_source_but_not_in_prose() {
        let marked = format!("ok\n# {}: later\n", MARKS[0]);
        let files = [
            ("demo/run.py", marked.as_str()),
            ("README.md", marked.as_str()),
            ("crates/a/src/lib.rs", "mktemp_XXXXXX"),
        ];
        let findings = check(&repository(&files));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("demo/run.py", 2));
    }
}
