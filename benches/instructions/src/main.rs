//! Hot paths, each run as often as is asked, so that another program can count instructions.
//!
//! `swath-instructions prepare FOLDER` writes the files that some paths read. `swath-instructions PATH ROUNDS FOLDER`
//! checks what the path does, runs it, and prints how many operations `ROUNDS` rounds were. Set-up, the check and a
//! first round are the same whatever `ROUNDS` is: the difference of two runs is operations and nothing else. A path
//! that this machine cannot run ends with status 3 and the reason.

mod arrays;
mod converting;
mod decoding;
mod ranges;
mod stitching;
mod unpacking;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

type Failure = Box<dyn std::error::Error>;

/// Why this machine cannot run a path.
#[derive(Debug)]
struct Unavailable(String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// A path that is set up: one call is one round. Returns the operations of that round.
type Round = Box<dyn FnMut() -> Result<u64, Failure>>;

/// One path by its name, set up and checked.
fn path(name: &str, folder: &Path) -> Result<Round, Failure> {
    match name {
        "plan" => arrays::plan(),
        "one_crop" => arrays::one_crop_of_memory(),
        "one_crop_file" => arrays::one_crop_of_file(folder),
        "claim" => stitching::claim(),
        "stitch_int16" => stitching::stitch(64, 2, 0),
        "stitch_int16_unaligned" => stitching::stitch(64, 2, 23),
        "stitch_float64" => stitching::stitch(64, 8, 0),
        "convert_float64" => converting::cast(),
        "convert_int16" => converting::decode(),
        "convert_masked" => converting::mask(),
        "convert_half" => converting::halve(),
        "convert_channels" => converting::normalise(),
        "convert_means" => converting::means(0),
        "convert_means_unaligned" => converting::means(converting::LEAD),
        "stitch_uint8" => stitching::stitch(32, 1, 0),
        "stitch_uint8_unaligned" => stitching::stitch(32, 1, 11),
        "serve" => ranges::serve(),
        "submit_reap" => ranges::submit_reap(folder, swath::ioengine::FileAccess::IoUring),
        "submit_threads" => ranges::submit_reap(folder, swath::ioengine::FileAccess::PreadThreads),
        "decode_blosc" => decoding::blosc(),
        "encode_blosc" => decoding::encode_blosc(),
        "decode_zstd" => decoding::zstd(),
        "unpack_simple_12" => unpacking::simple_12(),
        "unpack_simple_16" => unpacking::simple_16(),
        "unpack_ccsds" => unpacking::ccsds(),
        "unpack_complex" => unpacking::complex(),
        "unpack_differences" => unpacking::differences(),
        _ => Err(format!("no path of the name {name}").into()),
    }
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let (name, rounds, folder) = match arguments {
        ["prepare", folder] => {
            arrays::write_files(Path::new(folder))?;
            return ranges::write_file(Path::new(folder));
        }
        [name, rounds, folder] => (name, rounds.parse::<u64>()?, Path::new(folder)),
        _ => return Err("wanted `prepare FOLDER` or `PATH ROUNDS FOLDER`".into()),
    };
    let mut round = path(name, folder)?;
    // Caches fill, buffers grow and lanes start here.
    round()?;
    let mut operations = 0;
    for _ in 0..rounds {
        operations += round()?;
    }
    writeln!(std::io::stdout(), "{operations}")?;
    Ok(())
}

/// The status of a path that cannot be run here.
const UNAVAILABLE: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Err(error) = run(&arguments) else { return ExitCode::SUCCESS };
    // Where even this cannot be said the status still tells.
    let _ = writeln!(std::io::stderr(), "{error}");
    if error.is::<Unavailable>() { ExitCode::from(UNAVAILABLE) } else { ExitCode::FAILURE }
}
