//! A module is named after what it holds; names that hold anything are refused.

use crate::source::{blanked, is_identifier, line_of, places, without_tests};
use crate::{Finding, Repository};

const REFUSED: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "prelude"];

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.crate_sources() {
        let code = without_tests(blanked(&file.text));
        for start in places(&code, "mod") {
            let name: String = code.iter().skip(start + 4).take_while(|c| is_identifier(**c)).collect();
            if REFUSED.contains(&name.as_str()) {
                let message = format!("module `{name}`: name it after what it holds");
                findings.push(Finding::at_line(&file.path, line_of(&code, start), message));
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
    fn modules_that_hold_anything_are_refused() {
        let text =
            "pub mod shard_index;\npub mod utils;\nuse pyo3::prelude::*;\n#[cfg(test)]\nmod helpers {}\n";
        let findings = check(&repository(&[("crates/a/src/lib.rs", text)]));
        assert_eq!(
            findings,
            [Finding::at_line("crates/a/src/lib.rs", 2, "module `utils`: name it after what it holds")]
        );
    }
}
