//! Whole files and ranges of one file, by the engine alone: every item is summed where it is delivered.

use crate::variant::Variant;
use protocol::{Failure, FilesCase, ItemSums, RangesCase, Reader, Ready, item_sum};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use swath::ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Error, Estimate, LaneContext, ObjectRef, PlanContext, Planned,
    RunOptions, Token, Window,
};

/// Largest file that is read whole.
const FILE_BYTES_MAX: u64 = 1 << 40;

/// Ranges of one window: as [`Engine::read_ranges`] has them.
const WINDOW_READS: usize = 256;

/// Whole files, a window each.
pub(crate) fn files(case: &FilesCase, variant: &Variant) -> Result<Ready, Failure> {
    let files = variant.files(&case.root)?;
    let objects: Vec<ObjectRef> = case.keys.iter().map(|key| files.object(key)).collect();
    let details = format!("{} files, {}", objects.len(), variant.describe(&files));
    Ok(ready(Wanted::Files(objects), details, variant))
}

/// Ranges of one file.
pub(crate) fn ranges(case: &RangesCase, variant: &Variant) -> Result<Ready, Failure> {
    let files = variant.files(&case.root)?;
    let (object, offsets) = (files.object(case.key()?), case.offsets()?);
    let details =
        format!("{} ranges of {} bytes, {}", offsets.len(), case.range_len, variant.describe(&files));
    Ok(ready(Wanted::Ranges { object, offsets, len: case.range_len }, details, variant))
}

fn ready(wanted: Wanted, details: String, variant: &Variant) -> Ready {
    let items = Items { wanted, sums: ItemSums::new(), failure: Mutex::new(None) };
    Ready { reader: Box::new(Sums { engine: variant.engine(), items, checksum: 0 }), details }
}

struct Sums {
    engine: Engine,
    items: Items,
    checksum: u64,
}

impl Reader for Sums {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        self.engine.run(&self.items, &RunOptions::default())?;
        self.checksum = self.items.sums.take();
        match self.items.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(Vec::new()),
            Some(error) => Err(error.into()),
        }
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }
}

/// The batch: what is wanted, and the sum of what came.
struct Items {
    wanted: Wanted,
    sums: ItemSums,
    failure: Mutex<Option<Error>>,
}

enum Wanted {
    Files(Vec<ObjectRef>),
    Ranges { object: ObjectRef, offsets: Vec<u64>, len: u64 },
}

impl Items {
    fn count(&self) -> usize {
        match &self.wanted {
            Wanted::Files(objects) => objects.len(),
            Wanted::Ranges { offsets, .. } => offsets.len(),
        }
    }

    /// The items of a window.
    fn window(&self, number: u64) -> Range<usize> {
        let reads = match self.wanted {
            Wanted::Files(_) => 1,
            Wanted::Ranges { .. } => WINDOW_READS,
        };
        let start = number as usize * reads;
        start..self.count().min(start + reads)
    }

    fn fail(&self, error: Error) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Batch for Items {
    fn window_count(&self) -> u64 {
        match &self.wanted {
            Wanted::Files(objects) => objects.len() as u64,
            Wanted::Ranges { offsets, .. } => offsets.len().div_ceil(WINDOW_READS) as u64,
        }
    }

    fn estimate(&self) -> Estimate {
        let reads = self.count() as u64;
        match self.wanted {
            // How large they are is not known.
            Wanted::Files(_) => Estimate { reads, bytes: u64::MAX },
            Wanted::Ranges { len, .. } => Estimate { reads, bytes: reads * len },
        }
    }

    fn plan<'b>(
        &'b self,
        cursor: Cursor,
        _context: &PlanContext<'_>,
        window: &mut Window<'_, 'b>,
    ) -> Planned {
        let items = self.window(cursor.window);
        match &self.wanted {
            Wanted::Files(objects) => {
                for item in items {
                    window.set_object(objects[item].clone());
                    window.read(ByteRange::Whole { len_max: FILE_BYTES_MAX }, Token(item as u64));
                }
            }
            Wanted::Ranges { object, offsets, len } => {
                window.set_object(object.clone());
                for item in items {
                    window.read(ByteRange::Bounded { offset: offsets[item], len: *len }, Token(item as u64));
                }
            }
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        match result {
            Ok(Arrival::Bytes(bytes)) => self.sums.add(lane.cursor.window, token.0, item_sum(bytes)),
            // No read has a target, and none is planned by pieces. The sum of the pass would be wrong, and be seen.
            Ok(Arrival::Placed(_) | Arrival::Piece(_)) => {}
            Err(error) => self.fail(error),
        }
    }

    fn stale(&self, _cursor: Cursor) {}

    fn spoiled(&self, _cursor: Cursor, error: Error, _lane: &mut LaneContext<'_>) {
        self.fail(error);
    }
}
