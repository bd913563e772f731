//! Dependencies between the workspace's crates run one way.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::{Finding, Repository};

/// A crate and the crates of this workspace that it may depend on directly.
struct Rule {
    package: &'static str,
    folder: &'static str,
    may_use: &'static [&'static str],
}

const RULES: [Rule; 9] = [
    Rule { package: "swath-ioengine", folder: "ioengine", may_use: &[] },
    Rule { package: "swath-codecs", folder: "codecs", may_use: &[] },
    Rule { package: "swath-zarr-front", folder: "zarr-front", may_use: &["swath-ioengine", "swath-codecs"] },
    Rule {
        package: "swath-convert",
        folder: "convert",
        may_use: &["swath-ioengine", "swath-codecs", "swath-zarr-front"],
    },
    Rule {
        package: "swath",
        folder: "swath",
        may_use: &["swath-ioengine", "swath-codecs", "swath-zarr-front", "swath-convert"],
    },
    Rule { package: "swath-cli", folder: "cli", may_use: &["swath"] },
    Rule { package: "swath-bindings-py", folder: "bindings-py", may_use: &["swath"] },
    Rule {
        package: "swath-cloud-testing",
        folder: "cloud-testing",
        may_use: &["swath-ioengine", "swath-zarr-front", "swath"],
    },
    Rule { package: "swath-tidy", folder: "tidy", may_use: &[] },
];

pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, io::Error> {
    let mut findings: Vec<Finding> = manifests(repository)
        .filter(|folder| !RULES.iter().any(|rule| rule.folder == *folder))
        .map(|folder| {
            Finding::in_file(
                &format!("crates/{folder}"),
                "has no rule in crates/tidy/src/directions.rs: add one",
            )
        })
        .collect();
    for rule in &RULES {
        let tree = direct_dependencies(&repository.root, rule.package)?;
        findings.extend(check_tree(rule, &tree));
    }
    Ok(findings)
}

fn manifests(repository: &Repository) -> impl Iterator<Item = &str> {
    repository
        .files
        .iter()
        .filter_map(|file| file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
        .filter(|folder| !folder.contains('/'))
}

/// Returns `cargo tree`'s list of what a package, its tests and its build script use directly.
fn direct_dependencies(root: &Path, package: &str) -> Result<String, io::Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["tree", "--locked", "--package", package, "--all-features", "--target", "all"])
        .args(["--edges", "normal,build,dev", "--depth", "1", "--prefix", "none", "--format", "{p}"])
        .output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let reason = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("cargo tree for {package} failed: {}", reason.trim())))
    }
}

/// The tree's first line is the package itself; each further line starts with a dependency's name.
fn check_tree(rule: &Rule, tree: &str) -> Vec<Finding> {
    let allowed = match rule.may_use {
        [] => "no crate of this workspace".to_owned(),
        some => format!("only {}", some.join(", ")),
    };
    let mut names: Vec<&str> =
        tree.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|name| RULES.iter().any(|known| known.package == *name))
        .filter(|name| *name != rule.package && !rule.may_use.contains(name))
        .map(|name| {
            let message = format!("{} depends on {name}; it may use {allowed}", rule.package);
            Finding::in_file(&format!("crates/{}/Cargo.toml", rule.folder), message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let rule = &RULES[0];
        let tree = "swath-ioengine v0.1.0 (/x)\nlibc v0.2.0\nswath-codecs v0.1.0 (/x)\n";
        let found: Vec<String> = check_tree(rule, tree).iter().map(ToString::to_string).collect();
        let wanted = "crates/ioengine/Cargo.toml: swath-ioengine depends on swath-codecs; \
                      it may use no crate of this workspace";
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn allowed_and_foreign_dependencies_pass() {
        let tree = "swath-cli v0.1.0 (/x)\nswath v0.1.0 (/x)\nclap v4.0.0\n";
        assert_eq!(check_tree(&RULES[4], tree), []);
    }

    #[test]
    fn rules_admit_no_cycle() {
        for (index, rule) in RULES.iter().enumerate() {
            let earlier = |name: &&str| RULES[..index].iter().any(|known| known.package == *name);
            assert!(rule.may_use.iter().all(earlier), "{} may use a crate above it", rule.package);
        }
    }
}
