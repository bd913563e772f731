//! swath's engine alone: ranges of many objects behind a URL, each summed where it is delivered.
//!
//! The variant is a location; `more` holds `object_bytes`, the length of every object. The case's offsets count through
//! all objects.

use cloud_swath::Location;
use protocol::{Case, Failure, ItemSums, Kind, Reader, Ready, Refused, item_sum, serve};
use std::process::ExitCode;
use std::sync::Mutex;
use swath::ioengine::{ByteRange, Engine, EngineConfig, Error, ObjectRef, RangeRead, RunOptions};

fn main() -> ExitCode {
    serve("swath-ranges", env!("CARGO_PKG_VERSION"), |case: &Case, variant| {
        ready(case, variant.unwrap_or_default())
    })
}

fn ready(case: &Case, variant: &str) -> Result<Ready, Failure> {
    let Kind::Ranges(case) = &case.kind else { return Err(Refused("reads ranges only".to_owned()).into()) };
    let location = Location::open(variant)?;
    let object_bytes = location.number("object_bytes")?;
    let objects: Vec<ObjectRef> = case.keys.iter().map(|key| location.object(key)).collect();
    let read = |offset: u64| RangeRead {
        object: (offset / object_bytes) as usize,
        range: ByteRange::Bounded { offset: offset % object_bytes, len: case.range_len },
    };
    let reads = case.offsets()?.into_iter().map(read).collect();
    let engine = Engine::new(EngineConfig::default());
    let details = format!("Engine::read_ranges, {} lanes", engine.config().limits.lanes);
    Ok(Ready { reader: Box::new(Ranges { engine, objects, reads, checksum: 0 }), details })
}

struct Ranges {
    engine: Engine,
    objects: Vec<ObjectRef>,
    reads: Vec<RangeRead>,
    checksum: u64,
}

impl Reader for Ranges {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        let sums = ItemSums::new();
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let sink = |index: usize, result: Result<&[u8], Error>| match result {
            Ok(bytes) => sums.add(index as u64 >> 8, index as u64, item_sum(bytes)),
            Err(error) => {
                if let Ok(mut failure) = failure.lock() {
                    *failure = Some(error);
                }
            }
        };
        self.engine.read_ranges(&self.objects, &self.reads, sink, &RunOptions::default())?;
        self.checksum = sums.take();
        match failure.into_inner() {
            Ok(None) => Ok(Vec::new()),
            Ok(Some(error)) => Err(error.into()),
            Err(_) => Err("a sink panicked".into()),
        }
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }
}
