//! Stored bytes that contradict the metadata: clear errors for the selections that need them, right values elsewhere.

use crate::written::{Spec, Written};
use std::path::Path;
use swath_codecs::Scratch;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, Error, ErrorKind, ReadOptions, Selection, Store};

/// Two shards of four compressed chunks, their index without a checksum.
fn spec() -> Spec {
    let mut spec = Spec::sharded(&[8, 8], &[4, 8], &[&[2, 4]]);
    spec.levels[0].checksum = false;
    Spec { compressor: Some("zstd"), ..spec }
}

/// One selection for each box of `extents`, in C order.
fn boxes(shape: [u64; 2], extents: [u64; 2]) -> Vec<Selection> {
    let rows = (0..shape[0]).step_by(usize::try_from(extents[0]).unwrap());
    let columns = || (0..shape[1]).step_by(usize::try_from(extents[1]).unwrap());
    let selection =
        |y: u64, x: u64| format!("{y}:{}, {x}:{}", y + extents[0], x + extents[1]).parse().unwrap();
    rows.flat_map(|y| columns().map(move |x| selection(y, x))).collect()
}

/// The entry of an index at the end of a shard.
fn entry(shard: &[u8], entries: usize, number: usize) -> (usize, usize) {
    let index = &shard[shard.len() - entries * 16..];
    let word = |at: usize| {
        usize::try_from(u64::from_le_bytes(index[at * 8..at * 8 + 8].try_into().unwrap())).unwrap()
    };
    (word(number * 2), word(number * 2 + 1))
}

fn set_entry(shard: &mut [u8], entries: usize, number: usize, (offset, len): (u64, u64)) {
    let at = shard.len() - entries * 16 + number * 16;
    shard[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    shard[at + 8..at + 16].copy_from_slice(&len.to_le_bytes());
}

/// Reads `selections` of a damaged copy of `written`: those of `failing` must fail, by the first of them, and all others
/// be right.
fn check(
    written: &Written,
    memory: &MemoryMedium,
    selections: &[Selection],
    failing: &[usize],
) -> Option<Error> {
    let array = Array::open_in(&Store::memory(memory), "").unwrap();
    let lens: Vec<usize> = selections.iter().map(|selection| written.select(selection).len()).collect();
    let mut target = vec![0xA5; lens.iter().sum()];
    let read = array.read_many_into(selections, &mut target, &ReadOptions::default());
    let mut start = 0;
    for (number, (selection, len)) in selections.iter().zip(&lens).enumerate() {
        if !failing.contains(&number) {
            assert_eq!(target[start..start + len], written.select(selection), "selection {number}");
        }
        start += len;
        let single = array.read(selection);
        assert_eq!(single.is_err(), failing.contains(&number), "{number}: {single:?}");
    }
    let Some(first) = failing.first() else {
        read.unwrap();
        return None;
    };
    let error = read.unwrap_err();
    let prefix =
        format!("{} of {} selections failed, number {first} first: ", failing.len(), selections.len());
    assert!(error.message().starts_with(&prefix), "{error}");
    Some(error)
}

/// Checks a damage of the first shard; returns the error.
fn damaged(failing: &[usize], damage: impl FnOnce(&mut Vec<u8>)) -> Option<Error> {
    let written = spec().write();
    let memory = written.memory();
    let mut shard = written.objects["c/0/0"].clone();
    damage(&mut shard);
    memory.put("c/0/0", shard);
    let error = check(&written, &memory, &boxes([8, 8], [2, 4]), failing)?;
    assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, Some("memory/c/0/0")), "{error}");
    Some(error)
}

#[test]
fn a_damaged_chunk_fails_those_who_need_it() {
    let error = damaged(&[2], |shard| {
        let (offset, len) = entry(shard, 4, 2);
        shard[offset + len - 1] ^= 0x40;
    });
    assert!(error.unwrap().message().contains("codec `zstd`"));
    let written = spec().write();
    let memory = written.memory();
    let mut shard = written.objects["c/0/0"].clone();
    let (offset, _) = entry(&shard, 4, 0);
    shard[offset] ^= 1;
    memory.put("c/0/0", shard);
    let mut crops = boxes([8, 8], [1, 8]);
    crops.extend(boxes([8, 8], [8, 2]));
    check(&written, &memory, &crops, &[0, 1, 8, 9]);
}

#[test]
fn a_shard_without_an_index_fails_all_of_it() {
    for len in [0, 1, 63] {
        let error = damaged(&[0, 1, 2, 3], |shard| shard.truncate(len)).unwrap();
        let wanted = ["64 bytes", &len.to_string()];
        assert!(wanted.iter().all(|part| error.message().contains(part)), "{error}");
    }
}

#[test]
fn a_wrong_checksum_of_an_index_fails_all_of_it() {
    let written = Spec::sharded(&[8, 8], &[4, 8], &[&[2, 4]]).write();
    let memory = written.memory();
    let mut shard = written.objects["c/1/0"].clone();
    let last = shard.len() - 1;
    shard[last] ^= 1;
    memory.put("c/1/0", shard);
    let error = check(&written, &memory, &boxes([8, 8], [2, 4]), &[4, 5, 6, 7]).unwrap();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, Some("memory/c/1/0")));
    assert!(error.message().contains("crc32c"), "{error}");
}

#[test]
fn entries_must_lie_within_the_shard() {
    let len = spec().write().objects["c/0/0"].len() as u64;
    let entries =
        [(len, 1), (len - 1, 2), (u64::MAX, 1), (u64::MAX - 1, 1), (0, u64::MAX), (7, u64::MAX - 1)];
    for entry in entries {
        let error = damaged(&[1], |shard| set_entry(shard, 4, 1, entry));
        let message = error.unwrap().message().to_owned();
        let found =
            [len.to_string(), format!("points to {} bytes at {}", entry.1, entry.0), "are sound".to_owned()];
        assert!(found.iter().any(|found| message.contains(found)), "{entry:?}: {message}");
    }
    // Longer than any chunk is, though the shard would have as many bytes.
    let error = damaged(&[1], |shard| {
        let index = shard.split_off(shard.len() - 64);
        shard.resize(100_000, 0);
        shard.extend(index);
        set_entry(shard, 4, 1, (0, 90_000));
    });
    assert!(error.unwrap().message().contains("a chunk 90000 bytes, where at most"));
    for offset in [0, u64::MAX] {
        damaged(&[1], |shard| set_entry(shard, 4, 1, (offset, 0)));
    }
}

#[test]
fn entries_may_share_bytes() {
    // What an entry points to is its chunk, whatever else those bytes are.
    let written = spec().write();
    let memory = written.memory();
    let mut shard = written.objects["c/0/0"].clone();
    let (offset, len) = entry(&shard, 4, 0);
    for number in 1..4 {
        set_entry(&mut shard, 4, number, (offset as u64, len as u64));
    }
    memory.put("c/0/0", shard);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let first = array.read(&"0:2, 0:4".parse().unwrap()).unwrap();
    let last = array.read(&"2:4, 4:8".parse().unwrap()).unwrap();
    assert_eq!(first.as_bytes(), written.select(&"0:2, 0:4".parse().unwrap()));
    assert_eq!(last.as_bytes(), first.as_bytes());

    // A chunk of raw bytes that is the index itself.
    let mut spec = Spec::sharded(&[4], &[4], &[&[4]]);
    (spec.levels[0].checksum, spec.element_bytes) = (false, 4);
    let memory = spec.write().memory();
    let mut shard = vec![0; 16];
    set_entry(&mut shard, 1, 0, (0, 16));
    memory.put("c/0", shard.clone());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), shard);
}

#[test]
fn a_damaged_inner_index_fails_those_behind_it() {
    let mut spec = Spec::sharded(&[8, 8], &[8, 8], &[&[4, 8], &[2, 4]]);
    spec.levels[0].checksum = false;
    let written = spec.write();
    let selections = boxes([8, 8], [2, 4]);
    let damaged = |damage: &dyn Fn(&mut Vec<u8>)| {
        let memory = written.memory();
        let mut shard = written.objects["c/0/0"].clone();
        damage(&mut shard);
        memory.put("c/0/0", shard);
        let error = check(&written, &memory, &selections, &[4, 5, 6, 7]).unwrap();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, Some("memory/c/0/0")), "{error}");
        error
    };
    let error = damaged(&|shard| {
        let (offset, len) = entry(shard, 2, 1);
        shard[offset + len - 1] ^= 1;
    });
    assert!(error.message().contains("crc32c"), "{error}");
    let error = damaged(&|shard| set_entry(shard, 2, 1, (0, 67)));
    assert!(error.message().contains("an inner shard of 67 bytes cannot hold its index of 68"), "{error}");
    damaged(&|shard| set_entry(shard, 2, 1, (u64::MAX - 10, 68)));
    damaged(&|shard| set_entry(shard, 2, 1, (100_000, 168)));
}

#[test]
fn an_inner_shard_ends_where_its_entry_says() {
    let mut spec = Spec::sharded(&[4], &[4], &[&[4], &[2]]);
    (spec.levels[0].checksum, spec.levels[1].checksum) = (false, false);
    let written = spec.write();
    let memory = written.memory();
    let mut shard = written.objects["c/0"].clone();
    // The inner shard's own index points behind the inner shard, within the object.
    let (offset, len) = entry(&shard, 1, 0);
    set_entry(&mut shard[..offset + len], 2, 1, (len as u64, 4));
    memory.put("c/0", shard);
    let error = check(&written, &memory, &["0:2".parse().unwrap(), "2:4".parse().unwrap()], &[1]).unwrap();
    assert!(
        error.message().contains(&format!("an inner shard of {len} bytes points to 4 bytes at {len}")),
        "{error}"
    );
}

#[test]
fn chunks_of_another_length_are_corrupt() {
    let written = Spec::plain(&[4, 4], &[2, 2]).write();
    let selections = boxes([4, 4], [2, 2]);
    for (len, wanted) in [
        (0, "8 decoded bytes, found 0"),
        (7, "8 decoded bytes, found 7"),
        (9, "9 bytes"),
        (1000, "1000 bytes"),
    ] {
        let memory = written.memory();
        memory.put("c/1/0", vec![0; len]);
        let error = check(&written, &memory, &selections, &[2]).unwrap();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, Some("memory/c/1/0")));
        assert!(error.message().contains(wanted), "{error}");
        assert!(!error.is_retryable());
    }
}

#[test]
fn what_is_not_stored_is_the_fill_value_bit_by_bit() {
    let spec = Spec { element_bytes: 4, ..Spec::sharded(&[4, 4], &[4, 2], &[&[2, 2]]) };
    let written = spec.write();
    let memory = written.memory();
    let mut document = spec.document().1;
    (document["data_type"], document["fill_value"]) = ("float32".into(), "0x7fc0beef".into());
    memory.put("zarr.json", document.to_string());
    memory.remove("c/0/1");
    let mut shard = written.objects["c/0/0"].clone();
    let mut index = vec![0xFF; 32];
    let (offset, len) = entry(&shard[..shard.len() - 4], 2, 0);
    index[..8].copy_from_slice(&(offset as u64).to_le_bytes());
    index[8..16].copy_from_slice(&(len as u64).to_le_bytes());
    let mut encoded = Vec::new();
    index_chain().encode(&index, &mut encoded, &mut Scratch::default()).unwrap();
    let start = shard.len() - encoded.len();
    shard[start..].copy_from_slice(&encoded);
    memory.put("c/0/0", shard);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let read = array.read(&Selection::all()).unwrap();
    let bits: Vec<u32> = read.as_slice::<f32>().unwrap().iter().map(|value| value.to_bits()).collect();
    let fill = 0x7fc0_beef;
    let stored = written.select(&"0:2, 0:2".parse().unwrap());
    let stored: Vec<u32> =
        stored.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
    let rows = [[stored[0], stored[1], fill, fill], [stored[2], stored[3], fill, fill], [fill; 4], [fill; 4]];
    assert_eq!(bits, rows.concat());
}

fn index_chain() -> swath_codecs::Chain {
    use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType};
    let bytes = Codec::from_v3("bytes", &serde_json::json!({"endian": "little"})).unwrap();
    let crc32c = Codec::from_v3("crc32c", &serde_json::json!({})).unwrap();
    let element = Element::number(NumberType::UInt64);
    Chain::compile(&[bytes, crc32c], &ChunkLayout { shape: vec![2, 1, 2], element }).unwrap()
}

#[test]
fn files_that_are_no_chunks() {
    let written = Spec { separator: '.', ..Spec::plain(&[4, 4], &[2, 2]) }.write();
    let folder = written.folder();
    let chunk = folder.path().join("c.0.1");
    let (crop, others) = ("0:2, 2:4".parse().unwrap(), "2:4, :".parse().unwrap());
    let read = |selection: &Selection| Array::open(folder.path()).unwrap().read(selection);
    assert_eq!(read(&crop).unwrap().as_bytes(), written.select(&crop));

    // No chunk, as every reader has it.
    std::fs::remove_file(&chunk).unwrap();
    std::fs::create_dir(&chunk).unwrap();
    assert_eq!(read(&crop).unwrap().as_slice::<u16>().unwrap(), [7; 4]);
    std::fs::remove_dir(&chunk).unwrap();

    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("c.0.1", &chunk).unwrap();
        let error = read(&crop).unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Io, chunk.to_str()), "{error}");
        assert_eq!(read(&others).unwrap().as_bytes(), written.select(&others));
        std::fs::remove_file(&chunk).unwrap();
        forbidden(&chunk, &|| read(&crop));
    }
}

#[cfg(unix)]
fn forbidden(chunk: &Path, read: &dyn Fn() -> Result<swath_zarr_front::ArrayData, Error>) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(chunk, [0; 8]).unwrap();
    std::fs::set_permissions(chunk, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(chunk).is_ok() {
        eprintln!("SKIPPED: this user may read files that nobody may");
        return;
    }
    let error = read().unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Io, chunk.to_str()), "{error}");
    assert!(error.message().contains("ermission"), "{error}");
}
