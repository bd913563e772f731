//! Conversions that are killed at random moments go on, and make the store that one undisturbed run makes.

use crate::convert::message;
use crate::convert_nat::{damage, image};
use crate::swath::{command, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What objects are called that were not whole when their writer was killed: nobody reads them, and `swath validate` lists them.
const UNFINISHED: &str = ".swath-part-";

/// Every object below a folder, by its path there.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let is_unfinished =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED));
            if path.is_dir() {
                left.push(path);
            } else if !is_unfinished {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Numbers that look random: the same of one seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// Converts sources to the store that they make undisturbed, again and again, and kills it at random moments. `SWATH_KILLS` says how
/// often, `SWATH_SEED` when.
fn goes_on_to_the_same_store(folder: &Path, sources: &[&str], options: &[&str], objects_min: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (kills, seed) = (number("SWATH_KILLS").unwrap_or(10), number("SWATH_SEED").unwrap_or(7));
    println!("SWATH_SEED={seed}");
    let mut random = Random(seed.max(1));
    let convert = |target| [&["convert"], sources, &[target], options].concat();
    let started = Instant::now();
    let whole = run(folder, &convert("whole.zarr"));
    let duration = started.elapsed();
    let wanted = contents(&folder.join("whole.zarr"));
    assert!(objects_min < wanted.len(), "{}", wanted.len());
    let told = String::from_utf8(whole.stdout).unwrap();
    let (mut killed, mut went_on) = (0, 0);
    while killed < kills {
        let mut arguments = convert("made.zarr");
        loop {
            let mut child = command(folder, &arguments).spawn().unwrap();
            // The moment of death, not something that is waited for.
            let micros = u64::try_from(duration.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(random.below(micros)));
            let is_over = child.try_wait().unwrap().is_some() || kills <= killed;
            if !is_over {
                child.kill().unwrap();
                killed += 1;
            }
            let output = child.wait_with_output().unwrap();
            if output.status.code().is_some() {
                assert_eq!(String::from_utf8_lossy(&output.stdout), told, "{output:?}");
                break;
            }
            // Before there is a journal nothing was begun.
            if folder.join("made.zarr.journal/plan.json").exists() {
                arguments = vec!["convert", "--resume", "made.zarr"];
                went_on += 1;
            }
        }
        let made = contents(&folder.join("made.zarr"));
        assert!(made == wanted, "{} files, not {}", made.len(), wanted.len());
        fs::remove_dir_all(folder.join("made.zarr")).unwrap();
        fs::remove_dir_all(folder.join("made.zarr.journal")).unwrap();
    }
    println!("{killed} killed, {went_on} of them went on");
}

#[test]
fn killed_conversions_of_grib_go_on_to_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    // Hours of a month, one of them damaged.
    let messages = (0..720u32).flat_map(|hour| {
        let hours = u8::try_from(hour % 240).unwrap();
        let mut bytes = message(hours, u8::try_from(hour / 240 + 1).unwrap());
        if hour == 300 {
            // Fewer values than the grid has points.
            let count = bytes.windows(5).position(|octets| octets == [5, 0, 0, 0, 6]).unwrap() + 4;
            bytes[count] = 5;
        }
        bytes
    });
    fs::write(folder.path().join("a.grib"), messages.collect::<Vec<u8>>()).unwrap();
    goes_on_to_the_same_store(folder.path(), &["a.grib"], &["--shards", "step=8"], 90);
}

#[test]
fn killed_conversions_of_images_go_on_to_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    // Quarters of hours, one of them with a damaged line.
    let names: Vec<String> = (0..24).map(|quarter| format!("{quarter}.nat")).collect();
    for (quarter, name) in (0u8..).zip(&names) {
        let mut bytes = image(quarter + 1, 15 * u32::from(quarter));
        if quarter == 9 {
            damage(&mut bytes);
        }
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    // Not in their order in time.
    let sources: Vec<&str> = names.iter().rev().map(String::as_str).collect();
    goes_on_to_the_same_store(folder.path(), &sources, &[], 24 * 5);
}
