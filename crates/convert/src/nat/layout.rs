//! Where the lines of a file lie.

use super::channel::Channel;
use super::line::LINE_HEAD_BYTES;
use crate::Span;

/// Lines of the broad channel for each of the others.
pub(super) const HRV_LINES: u32 = 3;

/// The records of a file: each has one line of every channel, and three of the broad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes before the first record.
    pub(super) start: u64,
    /// Records.
    pub(super) lines: u32,
    /// The channels but the broad one, in the order of their packets.
    pub(super) channels: Vec<Channel>,
    /// Octets of pixels in a line of those.
    pub(super) octets: u32,
    /// Octets of pixels in a line of the broad channel, which comes last, where there is one.
    pub(super) hrv_octets: Option<u32>,
}

impl Layout {
    /// Bytes of a packet of a channel.
    pub(super) fn packet_bytes(&self, channel: Channel) -> u64 {
        let octets = if channel == Channel::Hrv { self.hrv_octets.unwrap_or(0) } else { self.octets };
        u64::from(LINE_HEAD_BYTES + octets)
    }

    /// Bytes of a record.
    pub(super) fn record_bytes(&self) -> u64 {
        let broad = self.hrv_octets.map_or(0, |_| u64::from(HRV_LINES) * self.packet_bytes(Channel::Hrv));
        self.hrv_start() + broad
    }

    /// Bytes of a record before the packets of the broad channel.
    pub(super) fn hrv_start(&self) -> u64 {
        swath_ioengine::storage_len(self.channels.len()) * u64::from(LINE_HEAD_BYTES + self.octets)
    }

    /// The bytes of a record, from its first packet on; `line` counts from 0 in the south.
    pub(super) fn record(&self, line: u32) -> Span {
        let len = self.record_bytes();
        Span { offset: self.start + u64::from(line) * len, len }
    }

    /// Bytes before the first behind the last record.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.lines) * self.record_bytes()
    }

    /// Bytes of a record before a line's packet: of a channel, and for the broad one of which of its three. `None` where the
    /// file has no such channel.
    pub(super) fn place(&self, channel: Channel, third: u32) -> Option<u64> {
        let len = self.packet_bytes(channel);
        if channel == Channel::Hrv {
            return self.hrv_octets.map(|_| self.hrv_start() + u64::from(third) * len);
        }
        let place = self.channels.iter().position(|other| *other == channel)?;
        Some(swath_ioengine::storage_len(place) * len)
    }

    /// The packet of a line, which counts from 0 in the south of the channel's own grid.
    pub(super) fn packet(&self, channel: Channel, line: u32) -> Option<Span> {
        let thirds = if channel == Channel::Hrv { HRV_LINES } else { 1 };
        let place = self.place(channel, line % thirds)?;
        let record = self.record(line / thirds);
        Some(Span { offset: record.offset + place, len: self.packet_bytes(channel) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_lie_one_behind_the_other() {
        let layout = Layout {
            start: 1000,
            lines: 2,
            channels: vec![Channel::Vis008, Channel::Ir120],
            octets: 10,
            hrv_octets: Some(30),
        };
        let mut end = 1000;
        for line in 0..2 {
            assert_eq!(layout.record(line).offset, end);
            let broad = (0..3).map(|third| (Channel::Hrv, line * 3 + third));
            for (channel, line) in [(Channel::Vis008, line), (Channel::Ir120, line)].into_iter().chain(broad)
            {
                let span = layout.packet(channel, line).unwrap();
                assert_eq!(span.offset, end, "{channel:?} {line}");
                end = span.end();
            }
        }
        assert_eq!((layout.end(), end), (1000 + 2 * (75 * 2 + 95 * 3), end));
        assert_eq!(layout.end(), end);
        assert_eq!(layout.packet(Channel::Vis006, 0), None);
    }
}
