//! Calibrations in files, one for each device.
//!
//! What is in such a file is not trusted: one that is broken, of another version or out of bounds is none.

use super::{CALIBRATION_DEPTHS, Calibration, DeviceKey, Fact, date};
use crate::{CostModel, Error, ErrorKind};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Raised when the meaning of a field changes.
const VERSION: u32 = 1;

/// More characters than any reason needs.
const REASON_CHARS_MAX: usize = 300;

/// No device or memory does less, or more, in a second.
const RATE_BOUNDS: (f64, f64) = (1e-3, 1e12);

/// Nanoseconds of a request: up to 17 minutes.
const REQUEST_COST_BOUNDS: (f64, f64) = (0.0, 1e12);

/// Nanoseconds of a byte: from a petabyte to a kilobyte a second.
const BYTE_COST_BOUNDS: (f64, f64) = (1e-6, 1e6);

/// Lanes that an engine may have.
const LANES_MAX: u32 = 4096;

impl Calibration {
    /// Stores it in the user's cache folder, `$XDG_CACHE_HOME/swath` or else `~/.cache/swath`, in place of an earlier one
    /// of the device, and returns the file. Media that are opened from then on use it.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) where there is neither of these variables; those of the file system.
    pub fn store(&self) -> Result<PathBuf, Error> {
        let folder = cache_folder().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "neither XDG_CACHE_HOME nor HOME is an absolute path")
        })?;
        self.store_in(&folder)
    }

    /// Stores it in this folder, which is made if it is missing, and returns the file. Readers find the file before or
    /// this one, never a part.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn store_in(&self, folder: &Path) -> Result<PathBuf, Error> {
        let path = folder.join(self.device.file_name());
        let partial = folder.join(format!("{}.{}.tmp", self.device.file_name(), std::process::id()));
        let stored = std::fs::create_dir_all(folder).and_then(|()| {
            let mut file = File::create(&partial)?;
            file.write_all(self.to_json().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&partial, &path)
        });
        stored.map_err(|error| {
            // It may never have been made.
            let _ = std::fs::remove_file(&partial);
            Error::from_io(error).with_object(&Arc::from(path.to_string_lossy()))
        })?;
        Ok(path)
    }

    /// As a JSON object of numbers and texts: a text in place of a number is why that was not measured.
    pub fn to_json(&self) -> String {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        add("version", VERSION.into());
        add("device_major", self.device.major.into());
        add("device_minor", self.device.minor.into());
        add("file_system", self.device.file_system.into());
        add("measured_on", self.measured_on.as_str().into());
        add("lanes", self.lanes.into());
        add("cached_ring_reads_per_s", told(&self.cached_ring));
        add("cached_threads_reads_per_s", told(&self.cached_threads));
        add("cached_mapping_reads_per_s", told(&self.cached_mapping));
        let cost = |of: fn(&CostModel) -> f64| told(&self.page_cache.as_ref().map(of).map_err(Clone::clone));
        add("page_cache_request_cost_ns", cost(|cost| cost.request_cost_ns));
        add("page_cache_byte_cost_ns", cost(|cost| cost.byte_cost_ns));
        for (name, rates) in [("direct_4k", &self.direct_4k), ("direct_1m", &self.direct_1m)] {
            for (index, depth) in CALIBRATION_DEPTHS.iter().enumerate() {
                let rate = rates.as_ref().map(|rates| rates[index]).map_err(Clone::clone);
                add(&rate_name(name, *depth), told(&rate));
            }
        }
        format!("{:#}\n", Value::Object(fields))
    }

    /// What [`to_json`](Calibration::to_json) wrote; `None` for anything else, and for values that are out of bounds.
    pub fn from_json(text: &str) -> Option<Calibration> {
        let fields = Stored(serde_json::from_str(text).ok()?);
        if fields.whole("version", VERSION)? != VERSION {
            return None;
        }
        let device = DeviceKey {
            major: fields.whole("device_major", u32::MAX)?,
            minor: fields.whole("device_minor", u32::MAX)?,
            file_system: fields.whole("file_system", u32::MAX)?,
        };
        let rates = |name: &str| {
            let rate = |depth| fields.fact(&rate_name(name, depth), RATE_BOUNDS);
            let [first, second, third] = CALIBRATION_DEPTHS.map(rate);
            Some(all(first?, second?, third?))
        };
        let request = fields.fact("page_cache_request_cost_ns", REQUEST_COST_BOUNDS)?;
        let byte = fields.fact("page_cache_byte_cost_ns", BYTE_COST_BOUNDS)?;
        Some(Calibration {
            device,
            measured_on: fields.text("measured_on").filter(|text| date::is_date(text))?.to_owned(),
            lanes: usize::try_from(fields.whole("lanes", LANES_MAX)?).ok()?,
            cached_ring: fields.fact("cached_ring_reads_per_s", RATE_BOUNDS)?,
            cached_threads: fields.fact("cached_threads_reads_per_s", RATE_BOUNDS)?,
            cached_mapping: fields.fact("cached_mapping_reads_per_s", RATE_BOUNDS)?,
            page_cache: request.and_then(|request_cost_ns| {
                byte.map(|byte_cost_ns| CostModel { request_cost_ns, byte_cost_ns })
            }),
            direct_4k: rates("direct_4k")?,
            direct_1m: rates("direct_1m")?,
        })
    }
}

/// Where the user's programs keep what they can make again.
pub(super) fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(folder.join("swath"))
}

fn told(fact: &Fact<f64>) -> Value {
    match fact {
        Ok(number) => Value::from(*number),
        Err(reason) => Value::String(reason.chars().take(REASON_CHARS_MAX).collect()),
    }
}

fn rate_name(name: &str, depth: usize) -> String {
    format!("{name}_depth_{depth}_reads_per_s")
}

fn all(first: Fact<f64>, second: Fact<f64>, third: Fact<f64>) -> Fact<[f64; 3]> {
    Ok([first?, second?, third?])
}

/// The fields of a file, looked up by name and checked.
struct Stored(Map<String, Value>);

impl Stored {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| text.chars().count() <= REASON_CHARS_MAX)
    }

    fn fact(&self, name: &str, (least, most): (f64, f64)) -> Option<Fact<f64>> {
        match self.0.get(name)?.as_f64() {
            Some(number) => (least <= number && number <= most).then_some(Ok(number)),
            None => Some(Err(self.text(name)?.to_owned())),
        }
    }

    fn whole(&self, name: &str, most: u32) -> Option<u32> {
        u32::try_from(self.0.get(name)?.as_u64()?).ok().filter(|number| *number <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::example;
    use proptest::prelude::*;

    #[test]
    fn a_calibration_goes_round() {
        assert_eq!(Calibration::from_json(&example().to_json()), Some(example()));
        let nothing = || Err("nothing, \"nothing\"".to_owned());
        let unknown = Calibration { page_cache: nothing().map(|()| CostModel::MEMORY), ..example() };
        let found = Calibration::from_json(&unknown.to_json()).unwrap();
        assert_eq!(found.page_cache, nothing().map(|()| CostModel::MEMORY));
    }

    #[test]
    fn a_calibration_out_of_bounds_is_none() {
        let text = example().to_json();
        for (good, bad) in [
            ("\"version\": 1", "\"version\": 2"),
            ("\"lanes\": 2", "\"lanes\": 2.5"),
            ("\"lanes\": 2", "\"lanes\": -1"),
            ("\"device_major\": 8", "\"device_major\": 1e300"),
            ("\"device_major\": 8", "\"device_major\": \"8\""),
            ("2026-11-21", "yesterday"),
            ("_byte_cost_ns\": 0.1", "_byte_cost_ns\": 0"),
            ("_request_cost_ns\": 300", "_request_cost_ns\": -300"),
            ("1500000.0", "1e400"),
            ("1500000.0", "1e300"),
            ("1500000.0", "null"),
            ("direct_4k_depth_8_", "direct_4k_depth_9_"),
        ] {
            assert!(text.contains(good), "{good}\n{text}");
            assert_eq!(Calibration::from_json(&text.replacen(good, bad, 1)), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_calibration_with_bytes_changed_is_read_or_refused(place in 0usize..900, byte in 0u8..128) {
            let mut bytes = example().to_json().into_bytes();
            if let Some(found) = bytes.get_mut(place) {
                *found = byte;
            }
            let _ = Calibration::from_json(&String::from_utf8(bytes).unwrap());
        }
    }
}
