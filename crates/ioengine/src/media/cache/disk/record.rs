//! What a cached range looks like in a file.
//!
//! A record is a head of [`HEAD_BYTES`], the medium's name and the key (with a zero byte between them), the identity, a
//! CRC-32C of each block of the data, and the data. Numbers are little-endian. The head begins with a CRC-32C of all that
//! comes before the data, and says where it is meant to be, so that bytes that look like a record are none. Each block's checksum is mixed with the head's and the block's number, so that a block of
//! another record, or of another place, is not taken for this one's.

use crate::{Identity, memory_len, storage_len};
use std::sync::Arc;

/// Bytes of a record's fixed part.
pub(super) const HEAD_BYTES: usize = 56;

/// Data is checked in blocks of this, so that a small piece of a long range does not cost reading all of it.
pub(super) const BLOCK_BYTES: u64 = 16 << 10;

/// Begins every record, and names this layout.
const MAGIC: u32 = u32::from_le_bytes(*b"swC1");

/// Names and identities longer than this are not stored.
pub(super) const NAME_BYTES_MAX: usize = 16 << 10;

/// Says that a size is not known.
const UNKNOWN: u64 = u64::MAX;

/// A record without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Record {
    /// The medium's lasting name.
    pub(in super::super) medium: String,
    /// The object's key.
    pub(in super::super) key: String,
    /// The version; `None` where the source names none.
    pub(in super::super) identity: Option<Identity>,
    /// Where the range begins, as the cache counts.
    pub(in super::super) start: u64,
    /// Bytes of data. Zero: what was cached of the object before was dropped.
    pub(in super::super) len: u64,
    /// Of the object, where it is known.
    pub(in super::super) size: Option<u64>,
    /// When the version was confirmed, in ns since 1970.
    pub(in super::super) confirmed_ns: u64,
}

/// A record's place: bytes before its data, its checksum, and those of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) head_bytes: u64,
    pub(super) seal: u32,
    pub(super) blocks: Arc<[u32]>,
}

/// An identity as stored; `None` for one that means nothing to another process.
pub(super) fn identity_bytes(identity: Option<&Identity>) -> Option<Vec<u8>> {
    match identity {
        None => Some(Vec::new()),
        Some(Identity::Tag(tag)) => Some([b"T", tag.as_bytes()].concat()),
        Some(Identity::File(_) | Identity::Version(_)) => None,
    }
}

/// The checksum of one block.
pub(super) fn block_sum(block: &[u8], seal: u32, number: u64) -> u32 {
    // An odd factor, so that all numbers that fit 32 bits give different masks.
    let mask = u32::try_from(number).unwrap_or(0).wrapping_mul(0x9E37_79B1);
    crc_fast::crc32_iscsi(block) ^ seal ^ mask
}

impl Record {
    /// Bytes before the data. `None` where the record is not to be stored.
    pub(super) fn head_len(&self) -> Option<u64> {
        let identity = identity_bytes(self.identity.as_ref())?;
        let sums = self.len.div_ceil(BLOCK_BYTES) * 4;
        Some(storage_len(HEAD_BYTES + self.medium.len() + 1 + self.key.len() + identity.len()) + sums)
    }

    /// The bytes before the data at that place, and what they say. `None` where the record is not to be stored.
    pub(super) fn seal(&self, data: &[u8], place: u64) -> Option<(Vec<u8>, Sealed)> {
        let identity = identity_bytes(self.identity.as_ref())?;
        let name = [self.medium.as_bytes(), &[0], self.key.as_bytes()].concat();
        if NAME_BYTES_MAX < name.len() || NAME_BYTES_MAX < identity.len() || self.medium.contains('\0') {
            return None;
        }
        let block_bytes = memory_len(BLOCK_BYTES).ok()?;
        let blocks: Vec<u32> = data.chunks(block_bytes).map(crc_fast::crc32_iscsi).collect();
        let mut head = Vec::with_capacity(HEAD_BYTES + name.len() + identity.len() + blocks.len() * 4);
        head.extend([0; 4]);
        head.extend(MAGIC.to_le_bytes());
        head.extend(u32::try_from(name.len()).ok()?.to_le_bytes());
        head.extend(u32::try_from(identity.len()).ok()?.to_le_bytes());
        for number in [self.start, self.len, self.size.unwrap_or(UNKNOWN), self.confirmed_ns] {
            head.extend(number.to_le_bytes());
        }
        head.extend(place.to_le_bytes());
        head.extend(&name);
        head.extend(&identity);
        blocks.iter().for_each(|sum| head.extend(sum.to_le_bytes()));
        let seal = crc_fast::crc32_iscsi(head.get(4..)?);
        head.get_mut(..4)?.copy_from_slice(&seal.to_le_bytes());
        let sealed = Sealed { head_bytes: storage_len(head.len()), seal, blocks: masked(blocks, seal) };
        Some((head, sealed))
    }

    /// Bytes before the data, by the record's fixed part; `None` where that is none.
    pub(super) fn head_bytes(fixed: &[u8]) -> Option<usize> {
        let [name, identity] = [number32(fixed, 8)?, number32(fixed, 12)?];
        let len = number64(fixed, 24)?;
        if number32(fixed, 4)? != MAGIC || LEN_MAX < len {
            return None;
        }
        let (name, identity) = (usize::try_from(name).ok()?, usize::try_from(identity).ok()?);
        if NAME_BYTES_MAX < name || NAME_BYTES_MAX < identity {
            return None;
        }
        let blocks = usize::try_from(len.div_ceil(BLOCK_BYTES)).ok()?;
        Some(HEAD_BYTES + name + identity + blocks * 4)
    }

    /// Reads what [`seal`](Record::seal) wrote; `None` for anything else.
    pub(super) fn open(head: &[u8], place: u64) -> Option<(Record, Sealed)> {
        if Record::head_bytes(head)? != head.len() {
            return None;
        }
        let seal = crc_fast::crc32_iscsi(head.get(4..)?);
        if number32(head, 0)? != seal || number64(head, 48)? != place {
            return None;
        }
        let (name_len, identity_len) =
            (usize::try_from(number32(head, 8)?).ok()?, usize::try_from(number32(head, 12)?).ok()?);
        let (name, rest) = head.get(HEAD_BYTES..)?.split_at_checked(name_len)?;
        let (identity, sums) = rest.split_at_checked(identity_len)?;
        let (medium, key) = std::str::from_utf8(name).ok()?.split_once('\0')?;
        let identity = match identity.split_first() {
            None => None,
            Some((b'T', tag)) => Some(Identity::Tag(Arc::from(std::str::from_utf8(tag).ok()?))),
            Some(_) => return None,
        };
        let size = Some(number64(head, 32)?).filter(|size| *size != UNKNOWN);
        let record = Record {
            medium: medium.to_owned(),
            key: key.to_owned(),
            identity,
            start: number64(head, 16)?,
            len: number64(head, 24)?,
            size,
            confirmed_ns: number64(head, 40)?,
        };
        record.start.checked_add(record.len)?;
        let sums = sums.chunks_exact(4).filter_map(|sum| number32(sum, 0)).collect();
        let sealed = Sealed { head_bytes: storage_len(head.len()), seal, blocks: masked(sums, seal) };
        Some((record, sealed))
    }
}

/// No record has more data.
pub(super) const LEN_MAX: u64 = 1 << 30;

/// Checksums of blocks as [`block_sum`] gives them.
fn masked(mut sums: Vec<u32>, seal: u32) -> Arc<[u32]> {
    for (number, sum) in (0u32..).zip(&mut sums) {
        *sum ^= seal ^ number.wrapping_mul(0x9E37_79B1);
    }
    sums.into()
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(len: usize) -> (Record, Vec<u8>) {
        let data: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let record = Record {
            medium: "s3://bucket".to_owned(),
            key: "a/b".to_owned(),
            identity: Some(Identity::Tag(Arc::from("\"1\""))),
            start: 7,
            len: len as u64,
            size: Some(100_000),
            confirmed_ns: 12,
        };
        (record, data)
    }

    #[test]
    fn records_come_back_and_any_changed_byte_is_noticed() {
        for len in [0, 1, 16_384, 40_000] {
            let (record, data) = example(len);
            let (head, sealed) = record.seal(&data, 9).unwrap();
            assert_eq!(Record::head_bytes(&head[..HEAD_BYTES]), Some(head.len()));
            assert_eq!(record.head_len(), Some(head.len() as u64));
            assert_eq!(Record::open(&head, 8), None);
            assert_eq!(Record::open(&head, 9), Some((record, sealed.clone())));
            for (number, block) in (0..).zip(data.chunks(16_384)) {
                assert_eq!(
                    block_sum(block, sealed.seal, number),
                    sealed.blocks[usize::try_from(number).unwrap()]
                );
            }
            for at in 0..head.len() {
                let mut broken = head.clone();
                broken[at] ^= 1 << (at % 8);
                assert_eq!(Record::open(&broken, 9), None, "byte {at}");
            }
        }
    }

    #[test]
    fn identities_of_one_process_are_not_stored() {
        let (mut record, data) = example(5);
        record.identity = Some(Identity::Version(3));
        assert_eq!(record.seal(&data, 9), None);
        record.identity = None;
        let (head, _) = record.seal(&data, 9).unwrap();
        assert_eq!(Record::open(&head, 9).unwrap().0.identity, None);
    }
}
