//! Arrays read box by box: the next one is read while the caller works on the last.

use crate::read::ReadOptions;
use crate::region::Region;
use crate::{Array, Error, ErrorKind, Selection};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;
use swath_ioengine::memory_len;

/// How often the waiting caller's interrupt is asked.
const POLL: Duration = Duration::from_millis(50);

/// What is read while a box is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Nothing: one box is in memory at a time.
    None,
    /// The next box.
    One,
}

impl Array {
    /// Reads boxes of the array one after the other and hands each to `visit`, in order: elements in C order and native byte
    /// order. Two boxes are in memory at a time, one of them being read. After an error, of a read or of `visit`, the
    /// control of the options is cancelled.
    ///
    /// ```
    /// use swath_zarr_front::{ArrayBuilder, DataType, Error, ReadOptions, RegionGrid, Store};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let store = Store::memory(&MemoryMedium::new());
    /// let array = ArrayBuilder::new(&[5], DataType::UInt8).chunk_shape(&[2]).create(&store, "a")?;
    /// array.write(&"...".parse()?, &[1, 2, 3, 4, 5])?;
    /// let (grid, mut sum) = (RegionGrid::new(&[5], &[2])?, 0);
    /// let regions = (0..grid.len()).map(|number| grid.region(number));
    /// array.visit_regions(regions, &ReadOptions::default(), &mut |_, bytes| {
    ///     sum += bytes.iter().sum::<u8>();
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first of a read, as of [`Array::read`], or of `visit`; `Cancelled` where the interrupt says so.
    pub fn visit_regions<E: From<Error>>(
        &self,
        regions: impl Iterator<Item = Region> + Send,
        options: &ReadOptions<'_>,
        visit: &mut impl FnMut(&Region, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let boxes = regions.map(|region| region.selection().map(|selection| (region, selection)));
        self.visit_boxes(boxes, Ahead::One, options, visit)
    }

    /// [`visit_regions`](Self::visit_regions), each box with the selection that it is read by.
    pub(crate) fn visit_boxes<E: From<Error>>(
        &self,
        boxes: impl Iterator<Item = Result<(Region, Selection), Error>> + Send,
        ahead: Ahead,
        options: &ReadOptions<'_>,
        visit: &mut impl FnMut(&Region, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (filled, read) = sync_channel(0);
        let (used, empty) = channel();
        let buffers = match ahead {
            Ahead::None => 1,
            Ahead::One => 2,
        };
        for _ in 0..buffers {
            // The receiver is right here.
            let _ = used.send(Vec::new());
        }
        let (control, priority, deadline) = (options.control.clone(), options.priority, options.deadline);
        std::thread::scope(|scope| {
            let work = move || {
                let own = ReadOptions { control, priority, deadline, interrupt: None };
                for next in boxes {
                    let Ok(buffer) = empty.recv() else { return };
                    let read = next.and_then(|(region, selection)| {
                        let buffer = self.read_box(&region, &selection, buffer, &own)?;
                        Ok((region, buffer))
                    });
                    let failed = read.is_err();
                    if filled.send(read).is_err() || failed {
                        return;
                    }
                }
            };
            std::thread::Builder::new()
                .name("swath-read".to_owned())
                .spawn_scoped(scope, work)
                .map_err(|error| Error::new(ErrorKind::Io, format!("no thread to read on: {error}")))?;
            let visited = visit_all(read, &used, options.interrupt, visit);
            if visited.is_err() {
                options.control.cancel();
            }
            drop(used);
            visited
        })
    }

    /// Reads a box into a buffer, which becomes as long as the box.
    fn read_box(
        &self,
        region: &Region,
        selection: &Selection,
        mut buffer: Vec<u8>,
        options: &ReadOptions<'_>,
    ) -> Result<Vec<u8>, Error> {
        let element = swath_ioengine::storage_len(self.data_type().size_bytes());
        let len = memory_len(region.element_count().saturating_mul(element))?;
        buffer.resize(len, 0);
        self.read_many_into(std::slice::from_ref(selection), &mut buffer, options)?;
        Ok(buffer)
    }
}

type Filled = Result<(Region, Vec<u8>), Error>;

fn visit_all<E: From<Error>>(
    boxes: Receiver<Filled>,
    used: &Sender<Vec<u8>>,
    interrupt: Option<&dyn Fn() -> bool>,
    visit: &mut impl FnMut(&Region, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        if interrupt.is_some_and(|interrupt| interrupt()) {
            return Err(Error::new(ErrorKind::Cancelled, "the read was interrupted").into());
        }
        match boxes.recv_timeout(POLL) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(read) => {
                let (region, buffer) = read?;
                visit(&region, &buffer)?;
                // A reader that has read all does not want it back.
                let _ = used.send(buffer);
            }
        }
    }
}
