//! Files and functions have a size at which they stop, their tests not counted.

use crate::repository::TextFile;
use crate::source::{blanked, code_lines, is_identifier, item_end, line_of, places, without_tests};
use crate::{Finding, Repository};

const FILE_LINES_AIM: usize = 250;
const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.crate_sources().filter(|file| !is_test_file(file)) {
        let code = without_tests(blanked(&file.text));
        let lines = code_lines(&code);
        if FILE_LINES_MAX < lines {
            let message =
                format!("{lines} lines of code; a file stops at {FILE_LINES_MAX}: split it by concept");
            findings.push(Finding::in_file(&file.path, message));
        }
        findings.extend(long_functions(&file.path, &code));
    }
    findings
}

/// Returns a note for every file that is over the size that files aim at, but not over the one where they stop.
#[must_use]
pub fn long_files(repository: &Repository) -> Vec<Finding> {
    repository
        .crate_sources()
        .filter(|file| !is_test_file(file))
        .map(|file| (file, code_lines(&without_tests(blanked(&file.text)))))
        .filter(|(_, lines)| (FILE_LINES_AIM + 1..=FILE_LINES_MAX).contains(lines))
        .map(|(file, lines)| {
            Finding::in_file(&file.path, format!("{lines} lines of code; files aim under {FILE_LINES_AIM}"))
        })
        .collect()
}

/// A module of tests in a file of its own, which its parent includes only under `cfg(test)`.
fn is_test_file(file: &TextFile) -> bool {
    let in_tests_folder = file.path.contains("/tests/");
    let stem = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    in_tests_folder || stem == "tests" || stem.ends_with("_tests")
}

fn long_functions(path: &str, code: &[char]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in places(code, "fn") {
        let name: String = code.iter().skip(start + 3).take_while(|c| is_identifier(**c)).collect();
        // `fn(u8) -> u8` is a type.
        if name.is_empty() {
            continue;
        }
        let (end, has_body) = item_end(code, start);
        let lines = code_lines(&code[start..end]);
        if has_body && FUNCTION_LINES_MAX < lines {
            let message = format!("`{name}` has {lines} lines; a function stops at {FUNCTION_LINES_MAX}");
            findings.push(Finding::at_line(path, line_of(code, start), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::repository;

    fn check_one(path: &str, text: &str) -> Vec<String> {
        check(&repository(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_stops_at_500_lines_of_code() {
        let full = "const A: u8 = 1;\n// not code\n\n".repeat(500);
        assert_eq!(check_one("crates/a/src/lib.rs", &full), [] as [&str; 0]);
        let over = format!("{full}const B: u8 = 1;\n");
        assert_eq!(
            check_one("crates/a/src/lib.rs", &over),
            ["crates/a/src/lib.rs: 501 lines of code; a file stops at 500: split it by concept"]
        );
        assert_eq!(check_one("crates/a/tests/it/main.rs", &over), [] as [&str; 0]);
        assert_eq!(check_one("crates/a/src/lane/tests.rs", &over), [] as [&str; 0]);
    }

    #[test]
    fn tests_are_not_counted() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const A: u8 = 1;\n".repeat(600));
        assert_eq!(check_one("crates/a/src/lib.rs", &tests), [] as [&str; 0]);
    }

    #[test]
    fn a_function_stops_at_70_lines() {
        let function =
            |lines: usize| format!("const A: u8 = 1;\nfn long() {{\n{}}}\n", "    a();\n".repeat(lines));
        assert_eq!(check_one("crates/a/src/lib.rs", &function(68)), [] as [&str; 0]);
        assert_eq!(
            check_one("crates/a/src/lib.rs", &function(69)),
            ["crates/a/src/lib.rs:2: `long` has 71 lines; a function stops at 70"]
        );
    }

    #[test]
    fn long_files_are_noted_before_they_stop() {
        let lines = |count| "const A: u8 = 1;\n".repeat(count);
        let noted = |count| long_files(&repository(&[("crates/a/src/lib.rs", &lines(count))])).len();
        assert_eq!([noted(250), noted(251), noted(500), noted(501)], [0, 1, 1, 0]);
    }
}
