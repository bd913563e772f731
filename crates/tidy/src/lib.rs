//! Checks of the house rules that no lint knows: sizes, crate directions, files that may use unsafe.
//!
//! [`check`] looks at a checkout and returns what it found, one line for each breach. Rust sources are not
//! parsed: a small scanner blanks comments and literals, and braces are counted in what is left, which is exact
//! for code that compiles.
//!
//! This crate knows the other crates by name and path only; it links to none of them and to no library.

mod decisions;
mod directions;
mod finding;
mod module_names;
mod repository;
mod sizes;
mod source;
mod unfinished;
mod unsafe_files;

pub use finding::Finding;
pub use repository::Repository;
pub use sizes::long_files;

/// Returns every breach of the house rules in a checkout, in the order of its files within each rule.
///
/// # Errors
///
/// When `cargo tree` cannot be run: the directions between crates are read from its output.
pub fn check(repository: &Repository) -> Result<Vec<Finding>, std::io::Error> {
    let mut findings = sizes::check(repository);
    findings.extend(module_names::check(repository));
    findings.extend(unfinished::check(repository));
    findings.extend(unsafe_files::check(repository));
    findings.extend(decisions::check(repository));
    findings.extend(directions::check(repository)?);
    Ok(findings)
}
