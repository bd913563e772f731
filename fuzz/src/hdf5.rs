//! HDF5 files: what is listed of them, and what their chunks hold behind the filters that the list names.

use crate::{keep_few_open, nodes};
use hdf5_reader::checksum::jenkins_lookup3;
use serde_json::{Value, json};
use std::sync::OnceLock;
use swath_convert::hdf5_references;
use swath_ioengine::{Engine, MemoryMedium};
use swath_zarr_front::{ReferenceTargets, Store};

/// Bytes of chunks that are read of one file.
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Files that inputs may change: those of convert's tests, of each format that libhdf5 writes.
const FILES: [&[u8]; 4] = [
    include_bytes!("../../crates/convert/tests/data/hdf5/earliest.h5"),
    include_bytes!("../../crates/convert/tests/data/hdf5/latest.h5"),
    include_bytes!("../../crates/convert/tests/data/hdf5/user_block.h5"),
    include_bytes!("../../crates/convert/tests/data/hdf5/dimensions.nc"),
];

/// What blocks with a checksum at their end begin with.
const SIGNATURES: [&[u8; 4]; 14] = [
    b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD",
    b"EAIB", b"EASB", b"EADB",
];

/// What a superblock begins with, and its length before its checksum from version 2 on.
const MAGIC: &[u8; 8] = b"\x89HDF\r\n\x1a\n";
const SUPERBLOCK_BYTES: usize = 44;

/// Bytes of a block whose checksum is looked for, at most.
const BLOCK_BYTES_MAX: usize = 4096;

/// Takes bytes as a file, or as changes of one, lists it, and reads what is listed.
///
/// The first byte says what the others are: 0 a file, 1 to 4 changes of one of [`FILES`]. A change is the place where it is made as
/// three bytes, least significant first, the number of its bytes as one, and these. With 128 added to the first byte, the checksums
/// of what is changed are made anew, so that changes reach what lies behind them.
///
/// # Panics
///
/// Where the list is no reference set, or a chunk cannot be read for a reason of our own.
pub fn list_and_read(bytes: &[u8]) {
    keep_few_open();
    let Some((first, rest)) = bytes.split_first() else { return };
    let file = match usize::from(first & 0x7f) {
        0 => rest.to_vec(),
        number => {
            let Some(sound) = FILES.get(number - 1) else { return };
            let mut file = changed(sound, rest);
            if first & 0x80 != 0 {
                blocks(number - 1).iter().for_each(|block| block.seal(&mut file));
            }
            file
        }
    };
    let memory = MemoryMedium::new();
    memory.put("a.h5", file.clone());
    let Ok(references) = hdf5_references(&Engine::global(), &memory.object("a.h5"), None) else { return };
    // What lies in the file is put into the document, so that it is read from there.
    let mut document = references.to_json(&["a.h5"]).expect("a name for the file");
    let keys = document["refs"].as_object_mut().expect("a reference set");
    let mut left = CHUNK_BYTES_MAX;
    keys.retain(|_, value| {
        let Value::Array(part) = value else { return true };
        let [_, offset, len] = &part[..] else { panic!("a part of {part:?}") };
        let (offset, len) = (number(offset), number(len));
        let chunk = &file[offset..offset + len];
        if left < len {
            return false;
        }
        left -= len;
        *value = json!(base64(chunk));
        true
    });
    let targets = ReferenceTargets::new().with_folder("none://");
    let store = Store::references(document.to_string().as_bytes(), targets, "listed");
    assert!(store.is_ok(), "{:?}", store.err());
    nodes::read(store);
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).expect("a place in the file")
}

/// Bytes as references hold them: in base64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = "base64:".to_owned();
    for group in bytes.chunks(3) {
        let bits =
            (0..3).fold(0, |bits, place| bits << 8 | usize::from(group.get(place).copied().unwrap_or(0)));
        let digit = |place: usize| char::from(DIGITS[bits >> (18 - 6 * place) & 63]);
        (0..4).for_each(|place| text.push(if place <= group.len() { digit(place) } else { '=' }));
    }
    text
}

fn changed(sound: &[u8], mut changes: &[u8]) -> Vec<u8> {
    let mut file = sound.to_vec();
    while let Some(([low, middle, high, len], rest)) = changes.split_first_chunk() {
        let at = u32::from_le_bytes([*low, *middle, *high, 0]) as usize % file.len();
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(*len)));
        file[at..].iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        changes = rest;
    }
    file
}

/// A block of a file, and its checksum behind it.
struct Block {
    start: usize,
    end: usize,
}

impl Block {
    fn seal(&self, file: &mut [u8]) {
        let sum = jenkins_lookup3(&file[self.start..self.end]).to_le_bytes();
        file[self.end..self.end + sum.len()].copy_from_slice(&sum);
    }
}

/// The blocks of a file: what begins with a signature and ends before its own checksum.
fn blocks(number: usize) -> &'static [Block] {
    static BLOCKS: OnceLock<Vec<Vec<Block>>> = OnceLock::new();
    let found =
        || FILES.iter().map(|file| (0..file.len()).filter_map(|at| block(file, at)).collect()).collect();
    &BLOCKS.get_or_init(found)[number]
}

fn block(file: &[u8], start: usize) -> Option<Block> {
    let is_sealed = |end: &usize| {
        let sum = file.get(*end..*end + 4);
        sum == Some(&jenkins_lookup3(&file[start..*end]).to_le_bytes())
    };
    let rest = &file[start..];
    let end = if rest.starts_with(MAGIC) {
        Some(start + SUPERBLOCK_BYTES).filter(is_sealed)
    } else if SIGNATURES.iter().any(|signature| rest.starts_with(*signature)) {
        (start + 4..file.len().min(start + BLOCK_BYTES_MAX)).find(is_sealed)
    } else {
        None
    };
    end.map(|end| Block { start, end })
}
