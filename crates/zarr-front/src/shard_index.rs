//! Shard indexes: where in a shard each inner chunk lies.

use crate::compiled::Level;
use crate::metadata::IndexLocation;
use crate::{Error, ErrorKind};
use swath_codecs::{Chain, Scratch};
use swath_ioengine::ByteRange;

/// The decoded index of one shard: offset and length of each entry, in bytes from the shard's start.
///
/// Source: Zarr sharding codec specification, version 1.0, "Binary shard format".
#[derive(Debug)]
pub(crate) struct ShardIndex {
    entries: Box<[[u64; 2]]>,
}

/// Offset and length of an inner chunk that is not stored.
pub(crate) const MISSING: [u64; 2] = [u64::MAX, u64::MAX];

impl ShardIndex {
    /// Decodes the stored bytes of an index of `level`.
    pub(crate) fn decode(level: &Level, stored: &[u8], scratch: &mut Scratch) -> Result<ShardIndex, Error> {
        if swath_ioengine::storage_len(stored.len()) != level.index_bytes {
            let message =
                format!("wanted a shard index of {} bytes, found {}", level.index_bytes, stored.len());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        ShardIndex::decode_by(&level.index_chain, stored, scratch)
    }

    /// Decodes the stored bytes of an index by the chain of its codecs.
    pub(crate) fn decode_by(
        chain: &Chain,
        stored: &[u8],
        scratch: &mut Scratch,
    ) -> Result<ShardIndex, Error> {
        let mut bytes = vec![0; chain.decoded_len()];
        chain.decode_into(stored, &mut bytes, scratch)?;
        let (words, _) = bytes.as_chunks::<8>();
        let (entries, _) = words.as_chunks::<2>();
        let entries =
            entries.iter().map(|[offset, len]| [u64::from_ne_bytes(*offset), u64::from_ne_bytes(*len)]);
        Ok(ShardIndex { entries: entries.collect() })
    }

    /// Whether it has as many entries as those of a level.
    #[inline]
    pub(crate) fn is_of(&self, level: &Level) -> bool {
        swath_ioengine::storage_len(self.entries.len()) == level.entry_count
    }

    /// Where entry `number` lies, in bytes from the shard's start; `None` where it is not stored.
    pub(crate) fn entry(&self, number: u64) -> Option<(u64, u64)> {
        let index = usize::try_from(number).ok()?;
        match self.entries.get(index) {
            None | Some(&MISSING) => None,
            Some(&[offset, len]) => Some((offset, len)),
        }
    }

    /// Bytes of memory that the index takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        swath_ioengine::storage_len(self.entries.len() * size_of::<[u64; 2]>())
    }
}

/// The stored bytes of the index in those of a whole shard.
///
/// # Errors
///
/// `Corrupt` for a shard that is shorter than its index.
pub(crate) fn index_within(shard: &[u8], location: IndexLocation, index_bytes: u64) -> Result<&[u8], Error> {
    let index = usize::try_from(index_bytes).ok().and_then(|len| match location {
        IndexLocation::Start => shard.get(..len),
        IndexLocation::End => shard.len().checked_sub(len).and_then(|start| shard.get(start..)),
    });
    index.ok_or_else(|| {
        let message = format!("a shard of {} bytes cannot hold its index of {index_bytes}", shard.len());
        Error::new(ErrorKind::Corrupt, message)
    })
}

/// Where the index of a whole shard object lies.
pub(crate) fn index_range(level: &Level) -> ByteRange {
    match level.index_location {
        IndexLocation::Start => ByteRange::Bounded { offset: 0, len: level.index_bytes },
        IndexLocation::End => ByteRange::Suffix { len: level.index_bytes },
    }
}

/// Where the index of a shard lies that is itself `len` bytes at `offset` of its object.
pub(crate) fn nested_index_range(level: &Level, (offset, len): (u64, u64)) -> Result<ByteRange, Error> {
    let Some(room) = len.checked_sub(level.index_bytes) else {
        let message = format!("an inner shard of {len} bytes cannot hold its index of {}", level.index_bytes);
        return Err(Error::new(ErrorKind::Corrupt, message));
    };
    let offset = match level.index_location {
        IndexLocation::Start => offset,
        IndexLocation::End => offset.saturating_add(room),
    };
    Ok(ByteRange::Bounded { offset, len: level.index_bytes })
}

/// Where a shard lies that is an object of its own, of whatever length.
pub(crate) const WHOLE_OBJECT: (u64, u64) = (0, u64::MAX);

/// Where a part of a shard lies in the object, when the shard is `outer` and the part is relative to it.
#[inline]
pub(crate) fn within(outer: (u64, u64), part: (u64, u64)) -> Result<(u64, u64), Error> {
    let end = part.0.checked_add(part.1);
    match (end, outer.0.checked_add(part.0)) {
        (Some(end), Some(offset)) if end <= outer.1 => Ok((offset, part.1)),
        _ => Err(outside(outer, part)),
    }
}

#[cold]
fn outside(outer: (u64, u64), (offset, len): (u64, u64)) -> Error {
    let message = if outer == WHOLE_OBJECT {
        format!("the shard index points to {len} bytes at {offset}")
    } else {
        format!("the index of an inner shard of {} bytes points to {len} bytes at {offset}", outer.1)
    };
    Error::new(ErrorKind::Corrupt, message)
}
