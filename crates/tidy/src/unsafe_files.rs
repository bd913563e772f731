//! The files that use unsafe are those that docs/SAFETY.md lists, each with a test that guards it.

use crate::source::{blanked, line_of, places};
use crate::{Finding, Repository};

const LIST: &str = "docs/SAFETY.md";
const FORBIDDING_CRATE: &str = "crates/zarr-front/src/lib.rs";

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(list) = repository.file(LIST) else {
        return vec![Finding::in_file(LIST, "missing: it lists the files that may use unsafe")];
    };
    let rows = rows(&list.text);
    let mut findings: Vec<Finding> = rows.iter().flat_map(|row| check_row(repository, row)).collect();
    findings.extend(unlisted(repository, &rows));
    let forbids =
        repository.file(FORBIDDING_CRATE).is_some_and(|file| file.text.contains("#![forbid(unsafe_code)]"));
    if !forbids {
        findings.push(Finding::in_file(FORBIDDING_CRATE, "this crate must say `#![forbid(unsafe_code)]`"));
    }
    findings
}

/// A line of the list: a file, and the tests that guard it as `path` or `path::test`.
struct Row<'a> {
    line: usize,
    file: &'a str,
    guards: Vec<&'a str>,
}

fn rows(list: &str) -> Vec<Row<'_>> {
    list.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let mut cells = line.strip_prefix("| ")?.split('|');
            let file = quoted(cells.next()?).into_iter().next()?;
            Some(Row { line: index + 1, file, guards: quoted(cells.next().unwrap_or_default()) })
        })
        .collect()
}

/// Returns what stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn check_row(repository: &Repository, row: &Row<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut finding = |message: String| findings.push(Finding::at_line(LIST, row.line, message));
    match repository.file(row.file) {
        None => finding(format!("{} does not exist", row.file)),
        Some(file) if first_unsafe(&file.text).is_none() => {
            finding(format!("{} uses no unsafe: take it off the list", row.file));
        }
        Some(_) => {}
    }
    if row.guards.is_empty() {
        finding(format!("{} names no test that guards it", row.file));
    }
    for guard in &row.guards {
        let (path, test) = guard.split_once("::").unwrap_or((guard, ""));
        let name = test.rsplit("::").next().unwrap_or_default();
        match repository.file(path) {
            None => finding(format!("the test {path} does not exist")),
            Some(file) if !name.is_empty() && !defines(&file.text, name) => {
                finding(format!("{path} has no test `{name}`"));
            }
            Some(_) => {}
        }
    }
    findings
}

fn defines(text: &str, name: &str) -> bool {
    let definitions = [format!("fn {name}("), format!("def {name}("), format!("fn {name}<")];
    definitions.iter().any(|definition| text.contains(definition.as_str()))
}

fn unlisted(repository: &Repository, rows: &[Row<'_>]) -> Vec<Finding> {
    repository
        .rust_files()
        .filter(|file| !rows.iter().any(|row| row.file == file.path))
        .filter_map(|file| {
            let line = first_unsafe(&file.text)?;
            Some(Finding::at_line(&file.path, line, format!("uses unsafe and is not listed in {LIST}")))
        })
        .collect()
}

fn first_unsafe(text: &str) -> Option<usize> {
    let code = blanked(text);
    places(&code, "unsafe").first().map(|place| line_of(&code, *place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::repository;

    const FRONT: (&str, &str) = (FORBIDDING_CRATE, "#![forbid(unsafe_code)]\n");
    const USER: (&str, &str) = ("crates/a/src/ring.rs", "\nfn f() { unsafe { g() } }\n");
    const GUARD: (&str, &str) = ("crates/a/tests/it/ring.rs", "#[test]\nfn holds() {}\n");

    fn check_list(rows: &str, files: &[(&str, &str)]) -> Vec<String> {
        let list = format!("# Files\n\n| file | guarded by | why |\n| --- | --- | --- |\n{rows}");
        let mut all = vec![FRONT, (LIST, list.as_str())];
        all.extend_from_slice(files);
        check(&repository(&all)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_listed_and_guarded_file_passes() {
        let row = "| `crates/a/src/ring.rs` | `crates/a/tests/it/ring.rs::holds` | the ring |\n";
        assert_eq!(check_list(row, &[USER, GUARD]), [] as [&str; 0]);
    }

    #[test]
    fn an_unlisted_file_is_found_and_words_in_prose_are_not() {
        let prose =
            ("crates/a/src/lib.rs", "// unsafe\n#![deny(unsafe_code)]\nconst A: &str = \"unsafe\";\n");
        let wanted = ["crates/a/src/ring.rs:2: uses unsafe and is not listed in docs/SAFETY.md"];
        assert_eq!(check_list("", &[USER, prose]), wanted);
    }

    #[test]
    fn a_row_must_hold() {
        let rows = "| `crates/a/src/gone.rs` | `crates/a/tests/it/gone.rs` | |\n\
                    | `crates/a/src/ring.rs` | `crates/a/tests/it/ring.rs::absent` | |\n\
                    | `crates/a/tests/it/ring.rs` | | |\n";
        let wanted = [
            "docs/SAFETY.md:5: crates/a/src/gone.rs does not exist",
            "docs/SAFETY.md:5: the test crates/a/tests/it/gone.rs does not exist",
            "docs/SAFETY.md:6: crates/a/tests/it/ring.rs has no test `absent`",
            "docs/SAFETY.md:7: crates/a/tests/it/ring.rs uses no unsafe: take it off the list",
            "docs/SAFETY.md:7: crates/a/tests/it/ring.rs names no test that guards it",
        ];
        assert_eq!(check_list(rows, &[USER, GUARD]), wanted);
    }

    #[test]
    fn the_front_end_must_forbid_unsafe() {
        let findings = check(&repository(&[(LIST, ""), (FORBIDDING_CRATE, "//! Zarr.\n")]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, FORBIDDING_CRATE);
    }
}
