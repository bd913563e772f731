//! swath from Rust: arrays by `Array::read_many_into`, files and ranges by the engine alone.
//!
//! A variant is words joined by `+`, each of which sets one thing of the engine; see `variant.rs`.

mod arrays;
mod items;
mod variant;

use protocol::{Case, Failure, Kind, Ready, serve};
use std::process::ExitCode;
use variant::Variant;

fn main() -> ExitCode {
    serve("swath-rust", env!("CARGO_PKG_VERSION"), ready)
}

fn ready(case: &Case, variant: Option<&str>) -> Result<Ready, Failure> {
    let variant = Variant::parse(variant.unwrap_or_default())?;
    match &case.kind {
        Kind::Array(array) => arrays::ready(array, &variant),
        Kind::Files(files) => items::files(files, &variant),
        Kind::Ranges(ranges) => items::ranges(ranges, &variant),
    }
}
