//! This checkout keeps the house rules.

use std::path::Path;

use swath_tidy::{Repository, check};

#[test]
fn the_checkout_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = Repository::load(&root).unwrap();
    assert!(repository.file("crates/tidy/tests/it/main.rs").is_some(), "the checkout was read");
    let findings: Vec<String> = check(&repository).unwrap().iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
