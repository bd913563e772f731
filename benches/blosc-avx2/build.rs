//! Compiles the C sources of the `blosc-src` package with their AVX2 files.
//!
//! That package's own build script leaves them out unless all of a program is compiled for AVX2, as no wheel and no
//! distribution's package is: there c-blosc is built with them and chooses when it runs. So is this.

use serde_json::Value;
use std::env::{self, VarError};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../Cargo.lock");
    let sources = package_folder("blosc-src")?.join("c-blosc/blosc");
    let mut build = cc::Build::new();
    build.include(variable("DEP_LZ4_INCLUDE")?).define("HAVE_LZ4", None);
    build.include(variable("DEP_ZSTD_INCLUDE")?).define("HAVE_ZSTD", None);
    // The floor shall be fast in tests as well, and the C library is not what they look for faults in.
    build.opt_level(3).warnings(false);
    if variable("CARGO_CFG_TARGET_ARCH")? == "x86_64" {
        build.define("SHUFFLE_SSE2_ENABLED", "1").define("SHUFFLE_AVX2_ENABLED", "1").flag("-mavx2");
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&sources)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    build.files(files).try_compile("blosc_avx2")?;
    Ok(())
}

/// Where a package's sources lie; the lock file says which version.
fn package_folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let output = Command::new(variable("CARGO")?)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &variable("TARGET")?])
        .arg("--manifest-path")
        .arg(Path::new(&variable("CARGO_MANIFEST_DIR")?).join("Cargo.toml"))
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let manifest =
        packages.iter().find(|package| package["name"] == name).map(|package| &package["manifest_path"]);
    let manifest = manifest.and_then(Value::as_str).ok_or_else(|| format!("no package {name}"))?;
    Ok(Path::new(manifest).parent().ok_or("a manifest lies in a folder")?.to_owned())
}

fn variable(name: &str) -> Result<String, VarError> {
    env::var(name).inspect_err(|_| eprintln!("{name} is not set"))
}
