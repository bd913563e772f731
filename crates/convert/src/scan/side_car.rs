//! Side-cars of files: where messages begin, as NOAA's `.idx` and ECMWF's `.index` list it.

use crate::Error;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, Medium, ObjectRef, RangeRead, RunOptions};

/// Bytes of a file whose side-car is asked for: of a shorter one the first reads have most messages, or few are left.
const FILE_BYTES_MIN: u64 = 8 << 20;

/// Bytes of a side-car that is read. A line has some hundred, and a file thousands of messages.
const SIDE_CAR_BYTES_MAX: u64 = 16 << 20;

/// The places at which messages of each remote file begin, in order, as its side-car says; none where it has no side-car, or one
/// that cannot be read.
///
/// # Errors
///
/// `Cancelled` where the caller ended the scan.
pub(super) fn starts(
    engine: &Engine,
    files: &[ObjectRef],
    sizes: &[Result<u64, swath_ioengine::Error>],
    run: &RunOptions<'_>,
) -> Result<Vec<Vec<u64>>, Error> {
    let (mut numbers, mut side_cars) = (Vec::new(), Vec::new());
    for (number, (file, size)) in files.iter().zip(sizes).enumerate() {
        let is_long = size.as_ref().is_ok_and(|size| FILE_BYTES_MIN <= *size);
        if is_long && matches!(file.medium, Medium::Remote(_)) {
            for key in keys(&file.key) {
                numbers.push(number);
                side_cars.push(ObjectRef { medium: file.medium.clone(), key });
            }
        }
    }
    let range = ByteRange::Whole { len_max: SIDE_CAR_BYTES_MAX };
    let reads: Vec<RangeRead> = (0..side_cars.len()).map(|object| RangeRead { object, range }).collect();
    let starts: Mutex<Vec<Vec<u64>>> = Mutex::new(vec![Vec::new(); files.len()]);
    let keep = |read: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let Some(found) = result.ok().and_then(parse) else { return };
        let mut starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = numbers.get(read).and_then(|number| starts.get_mut(*number)) {
            *slot = found;
        }
    };
    engine.read_ranges(&side_cars, &reads, keep, run)?;
    Ok(starts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What side-cars of a file are called: `a.grib2.idx`, and `a.index`.
fn keys(file: &str) -> [Arc<str>; 2] {
    let name = file.rfind('/').map_or(0, |slash| slash + 1);
    let stem = match file.rfind('.') {
        Some(dot) if name < dot => &file[..dot],
        _ => file,
    };
    [format!("{file}.idx").into(), format!("{stem}.index").into()]
}

/// The places that a side-car lists; `None` where a line of it is of neither kind.
fn parse(bytes: &[u8]) -> Option<Vec<u64>> {
    let lines = std::str::from_utf8(bytes).ok()?.lines().filter(|line| !line.trim().is_empty());
    let starts: Option<BTreeSet<u64>> = lines.map(start).collect();
    Some(starts?.into_iter().collect())
}

/// `12:3456:...`, or JSON with `_offset`.
fn start(line: &str) -> Option<u64> {
    if line.starts_with('{') {
        return serde_json::from_str::<Value>(line).ok()?["_offset"].as_u64();
    }
    let (number, rest) = line.split_once(':')?;
    let is_number =
        !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    rest.split(':').next().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_read() {
        let noaa = b"1:0:d=2022101400:PRMSL:mean sea level:anl:\n2.1:995942:d=2022101400:UGRD:1 hybrid level:anl:\n2.2:995942:d=2022101400:VGRD:1 hybrid level:anl:\n";
        assert_eq!(parse(noaa), Some(vec![0, 995_942]));
        let ecmwf = br#"{"param": "2t", "_offset": 70, "_length": 30}
{"param": "10u", "_offset": 0, "_length": 70}
"#;
        assert_eq!(parse(ecmwf), Some(vec![0, 70]));
    }

    #[test]
    fn other_files_are_no_side_cars() {
        for other in
            [&b"<html>not found</html>"[..], b"\x80\x04pickle", b"1:two:", b"{\"offset\": 3}", b"a:3:"]
        {
            assert_eq!(parse(other), None);
        }
        assert_eq!(parse(b""), Some(vec![]));
    }

    #[test]
    fn names_are_beside_the_file() {
        let named = |file| keys(file).map(|key| key.to_string());
        assert_eq!(named("a.b/c.grib2"), ["a.b/c.grib2.idx", "a.b/c.index"]);
        assert_eq!(named("a.b/c"), ["a.b/c.idx", "a.b/c.index"]);
    }
}
