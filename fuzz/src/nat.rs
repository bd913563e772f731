//! Files in EUMETSAT's native format: what their headers say, and what is read of their lines.

use crate::keep_few_open;
use swath_convert::nat::{
    Channel, CoefficientSet, Conversion, ConversionOptions, Header, Quantity, Region, WriteOptions,
};
use swath_ioengine::{Engine, MemoryMedium, ObjectRef};
use swath_zarr_front::Store;

/// Octets of the product headers, and the offsets in them of the entries that are read: channels, the selected rectangle, lines.
const PRODUCT_BYTES: usize = 5114;
const ENTRIES: [usize; 6] = [4424, 4504, 4584, 4664, 4744, 4824];

/// Octets of an entry that an input has.
const ENTRY_BYTES: usize = 12;

/// Octets of the data header with its packet's headers, and the offsets and lengths of what is read of it.
const HEADER_BYTES: usize = 38 + 445_248;
const PARTS: [(usize, usize); 4] = [(0, 8), (60_135, 30), (386_893, 1716), (408_145, 25)];

/// Pixels of a channel that is read: more would take the memory that all of a run may.
const PIXELS_MAX: u64 = 1 << 18;

/// Takes bytes as what matters of a file: whether it has product headers, their entries, the parts of the data header, and all
/// that follows it. Reads each channel, whole and in part, and writes what there is to Zarr.
///
/// # Panics
///
/// Where counts have more than ten bits, a damaged row holds something, a part differs from the whole, or what was read cannot
/// be written.
pub fn read_parts(bytes: &[u8]) {
    keep_few_open();
    let Some(file) = expanded(bytes) else { return };
    let Ok(header) = Header::of_bytes(&file) else { return };
    let memory = MemoryMedium::new();
    memory.put("a.nat", file);
    let object = memory.object("a.nat");
    let mut pixels = 0;
    for channel in header.channels() {
        let grid = header.grid(channel);
        pixels += u64::from(grid.rows) * u64::from(grid.columns);
        if u64::from(grid.rows) * u64::from(grid.columns) <= PIXELS_MAX {
            whole_and_part(&header, &object, channel);
        }
        let _ = header.calibrated(channel, Quantity::ReflectanceOrTemperature, CoefficientSet::Gsics);
    }
    if pixels <= PIXELS_MAX
        && let Ok(conversion) = Conversion::new(vec![header], &ConversionOptions::default())
    {
        let store = Store::memory(&MemoryMedium::new());
        let written = conversion.write(&Engine::global(), &[object], &store, &WriteOptions::default());
        assert!(written.is_ok(), "{written:?}");
    }
}

fn expanded(bytes: &[u8]) -> Option<Vec<u8>> {
    let (flags, mut rest) = bytes.split_first()?;
    let mut file = Vec::new();
    if flags & 1 == 1 {
        file.resize(PRODUCT_BYTES, b' ');
        file[..10].copy_from_slice(b"FormatName");
        for at in ENTRIES {
            let (entry, more) = rest.split_at_checked(ENTRY_BYTES)?;
            file[at..at + ENTRY_BYTES].copy_from_slice(entry);
            rest = more;
        }
    }
    let start = file.len() + 38;
    file.resize(file.len() + HEADER_BYTES, 0);
    for (offset, len) in PARTS {
        let (part, more) = rest.split_at_checked(len)?;
        file[start + offset..start + offset + len].copy_from_slice(part);
        rest = more;
    }
    file.extend_from_slice(rest);
    Some(file)
}

fn whole_and_part(header: &Header, object: &ObjectRef, channel: Channel) {
    let engine = Engine::global();
    let Ok(whole) = header.read_region(&engine, object, &header.whole(channel)) else { return };
    assert_eq!(whole.counts.len(), whole.rows * whole.columns);
    assert_eq!(whole.lines.len(), whole.rows);
    assert_eq!(whole.lines.iter().filter(|line| line.is_none()).count(), whole.damages.len());
    assert!(whole.counts.iter().all(|count| *count < 1024));
    for (row, line) in whole.counts.chunks(whole.columns.max(1)).zip(&whole.lines) {
        assert!(line.is_some() || row.iter().all(|count| *count == 0));
    }
    let grid = header.grid(channel);
    let (rows, columns) = (grid.rows / 3..grid.rows, grid.columns / 5..grid.columns - grid.columns / 3);
    let region = Region { channel, rows: rows.clone(), columns: columns.clone() };
    let part = header.read_region(&engine, object, &region).expect("a part of what was read");
    for (place, row) in rows.enumerate() {
        // A line that ends within its pixels is damaged as a whole, and may be sound in part.
        if whole.lines[row as usize].is_some() {
            let wanted =
                &whole.counts[row as usize * whole.columns..][columns.start as usize..columns.end as usize];
            assert_eq!(&part.counts[place * part.columns..][..part.columns], wanted);
        }
    }
}
