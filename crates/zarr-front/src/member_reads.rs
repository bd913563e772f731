//! Reads of members of an archive that are more, or less, than ranges of it: headers, and members that are compressed.

use crate::catalog::zip::Directory;
use crate::catalog::{Contents, Located};
use crate::contained_reads::{Planned, no_archive};
use crate::groups::Place;
use crate::note::{ChunkPart, Note};
use crate::read_batch::ReadBatch;
use crate::{Error, ErrorKind};
use swath_codecs::Scratch;
use swath_ioengine::{Arrival, LaneContext};

/// What is still to be read before a window can be planned, or in place of its plan.
#[derive(Clone, Debug)]
pub(crate) enum MemberRead {
    /// The header of a member.
    Header(u32),
    /// A shard that is compressed as a member.
    Shard(u32, Place),
}

/// Where inflated members are put.
#[derive(Default)]
pub(crate) struct Inflated(pub(crate) Vec<u8>);

impl Inflated {
    /// Keeps the memory for the lane's next member, unless it is unusually much.
    pub(crate) fn give_back(self, lane: &mut LaneContext<'_>) {
        if self.0.capacity() <= INFLATED_BYTES_KEPT {
            *lane.scratch.get::<Inflated>() = self;
        }
    }
}

/// Memory for inflated members that a lane keeps.
const INFLATED_BYTES_KEPT: usize = 16 << 20;

/// A compressed shard at most: it is inflated whole, in memory.
const PACKED_SHARD_BYTES_MAX: u64 = 1 << 30;

impl ReadBatch<'_> {
    /// What to read of a shard whose bytes are not ranges of its target yet, or never.
    pub(crate) fn contained_shard(&self, contents: &Contents, located: Located) -> Result<Planned, Error> {
        let Located::Member(member) = located else { return Ok(Planned::Missing) };
        let (directory, _) = contents.archive().ok_or_else(no_archive)?;
        if directory.is_plain(member)? {
            return Ok(Planned::Header(member));
        }
        if 1 < self.array.compiled.levels.len() {
            return Err(Error::unsupported("a shard of shards that is compressed in its zip archive"));
        }
        let len = directory.len(member);
        if PACKED_SHARD_BYTES_MAX < len {
            let message = format!("a shard of {len} bytes that is compressed in its zip archive");
            return Err(Error::unsupported(message));
        }
        Ok(Planned::Range(directory.span(member)?, ChunkPart::Whole))
    }

    /// Takes what was read of a member ahead of its chunks, or for all of them.
    #[inline(never)]
    pub(crate) fn member_arrived(
        &self,
        read: &MemberRead,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let directory = self.contained.as_ref().and_then(|contained| contained.contents.archive());
        let Some((directory, _)) = directory else { return };
        let stored = match result {
            Ok(Arrival::Bytes(stored)) => Ok(stored),
            Ok(_) => Err(Error::new(ErrorKind::Internal, "a member arrived without bytes")),
            Err(error) => Err(self.storage_error(error)),
        };
        match read {
            MemberRead::Header(member) => self.header_arrived(directory, *member, stored, lane),
            MemberRead::Shard(member, place) => {
                let mut inflated = std::mem::take(lane.scratch.get::<Inflated>());
                let scratch = lane.scratch.get::<Scratch>();
                let shard =
                    stored.and_then(|stored| directory.unpack(*member, stored, scratch, &mut inflated.0));
                if let Some(note) = lane.note.get::<Note>() {
                    // The next read inflates all of the shard again, whatever is kept of it.
                    note.cached.keep_none();
                }
                match shard {
                    Ok(shard) => self.shard_arrived(place, Ok(Arrival::Bytes(shard)), lane),
                    Err(error) => {
                        self.fail_group(place.group, &error.about(&self.name_of(place)));
                        self.shards.planned(place.group);
                    }
                }
                inflated.give_back(lane);
            }
        }
    }

    /// Takes a member's header; the last one of a window has its chunks planned. Where one is broken, nothing of the window
    /// can be: it would be planned for ever.
    fn header_arrived(
        &self,
        directory: &Directory,
        member: u32,
        stored: Result<&[u8], Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let taken = stored.and_then(|stored| directory.take_header(member, stored));
        let cursor = lane.cursor;
        let Some(note) = lane.note.get::<Note>() else { return };
        if let Err(error) = taken {
            self.fail(&note.placements, &error.with_object(&lane.object.key));
            note.has_failed = true;
        }
        note.inner_left = note.inner_left.saturating_sub(1);
        if note.inner_left == 0 && !note.has_failed {
            lane.follow_up(cursor);
        }
    }
}
