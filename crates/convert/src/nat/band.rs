//! Some lines of a file, with the packets of the channels that are wanted.

use super::channel::Channel;
use super::header::Header;
use super::layout::HRV_LINES;
use super::line::{LINE_HEAD_BYTES, Line};
use super::plan::Region;
use crate::{Damage, DamageKind, Error, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use swath_ioengine::{
    ByteRange, Engine, ErrorKind, Merging, ObjectRef, RangeRead, RunOptions, memory_len, storage_len,
};

/// Which parts of each record are read: packets that touch are one part.
pub(super) struct Parts {
    /// Bytes of a record, in order.
    ranges: Vec<Range<u64>>,
    /// Bytes of all parts.
    stride: usize,
}

/// Lines that were read.
pub(super) struct Band {
    /// The records, by their lines from 0 in the south of the selected ones.
    lines: Range<u32>,
    /// The parts of each record, one behind the other.
    bytes: Vec<u8>,
    /// Records that are not whole, by their numbers within the band, and why.
    lost: BTreeMap<u32, Damage>,
}

impl Parts {
    /// The packets of these channels; those that the file does not have are left out.
    pub(super) fn new(header: &Header, channels: &[Channel]) -> Result<Parts, Error> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for channel in channels {
            let thirds = if *channel == Channel::Hrv { HRV_LINES } else { 1 };
            let Some(start) = header.layout.place(*channel, 0) else { continue };
            let end = start + u64::from(thirds) * header.layout.packet_bytes(*channel);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        let stride = memory_len(ranges.iter().map(|range| range.end - range.start).sum())?;
        Ok(Parts { ranges, stride })
    }

    /// Bytes of all parts of a record.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Where among the parts of a record one of its bytes is.
    fn place(&self, byte: u64) -> Option<usize> {
        let mut before = 0;
        for range in &self.ranges {
            if range.contains(&byte) {
                return usize::try_from(before + byte - range.start).ok();
            }
            before += range.end - range.start;
        }
        None
    }
}

impl Band {
    /// Reads lines, into the memory of another band.
    ///
    /// # Errors
    ///
    /// Those of the storage. Records behind the end of the file are no error, but lost.
    pub(super) fn read(
        engine: &Engine,
        file: &ObjectRef,
        (header, parts): (&Header, &Parts),
        lines: Range<u32>,
        (mut bytes, run): (Vec<u8>, &RunOptions<'_>),
    ) -> Result<Band, Error> {
        let mut reads = Vec::new();
        for line in lines.clone() {
            let start = header.layout.record(line).offset;
            reads.extend(parts.ranges.iter().map(|range| {
                let range = ByteRange::Bounded { offset: start + range.start, len: range.end - range.start };
                RangeRead { object: 0, range }
            }));
        }
        bytes.resize(lines.len() * parts.stride, 0);
        let errors =
            engine.read_ranges_into(std::slice::from_ref(file), &reads, &mut bytes, Merging::ByCost, run)?;
        let mut lost = BTreeMap::new();
        for (read, error) in errors {
            if error.kind() != ErrorKind::UnexpectedEnd {
                return Err(error.into());
            }
            let number = u32::try_from(read / parts.ranges.len().max(1)).unwrap_or(u32::MAX);
            let span = header.layout.record(lines.start.saturating_add(number));
            let message = error.message().to_owned();
            lost.entry(number).or_insert(Damage { span, kind: DamageKind::Truncated, message });
        }
        Ok(Band { lines, bytes, lost })
    }

    /// Unpacks rows of a channel's image, which lie within the band, from north to south. Rows whose lines are damaged are
    /// zeros, and told.
    ///
    /// # Errors
    ///
    /// As [`Header::spans`].
    pub(super) fn unpack(
        &self,
        (header, parts): (&Header, &Parts),
        channel: Channel,
        rows: Range<u32>,
        target: &mut [u16],
    ) -> Result<Vec<Result<Line, Damage>>, Error> {
        let columns = header.grid(channel).columns;
        let region = Region { channel, rows, columns: 0..columns };
        let mut targets = target.chunks_mut(memory_len(u64::from(columns.max(1)))?);
        let mut lines = Vec::new();
        for row in header.rows(&region)? {
            let Some(target) = targets.next() else { break };
            target.fill(0);
            let packet = self.packet(header, parts, channel, row.line);
            let damaged =
                |kind, message: &str| Damage { span: row.packet, kind, message: message.to_owned() };
            let read = packet.and_then(|packet| {
                let head = packet.get(..LINE_HEAD_BYTES as usize).unwrap_or_default();
                let line = header.line(channel, row.line, row.packet, head);
                let line = line.map_err(|error| damaged(DamageKind::Corrupt, error.message()))?;
                if let Some(placement) = &row.placement {
                    let pixels = packet.get(LINE_HEAD_BYTES as usize..).unwrap_or_default();
                    placement.unpack(pixels.get(placement.octets.clone()).unwrap_or_default(), target);
                }
                Ok(line)
            });
            lines.push(read);
        }
        Ok(lines)
    }

    /// The packet of a line of a channel.
    fn packet(&self, header: &Header, parts: &Parts, channel: Channel, line: u32) -> Result<&[u8], Damage> {
        let thirds = if channel == Channel::Hrv { HRV_LINES } else { 1 };
        let number = (line / thirds).saturating_sub(self.lines.start);
        if let Some(damage) = self.lost.get(&number) {
            return Err(damage.clone());
        }
        let place = header.layout.place(channel, line % thirds).and_then(|byte| parts.place(byte));
        let start = place.map(|place| place + number as usize * parts.stride);
        let len = usize::try_from(header.layout.packet_bytes(channel)).unwrap_or(0);
        let found = start.and_then(|start| self.bytes.get(start..)).and_then(|rest| rest.get(..len));
        found.ok_or_else(|| {
            let span = Span { offset: header.layout.record(line / thirds).offset, len: storage_len(len) };
            Damage { span, kind: DamageKind::Unread, message: "the line was not read".to_owned() }
        })
    }

    /// The memory, for another band.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
