//! What goes before the pixels of a line.

use super::channel::Channel;
use super::moment::Moment;
use super::record::Record;
use crate::Error;

/// Octets of a packet's header.
const PACKET_BYTES: u32 = 22;

/// Octets of what describes a line, with the packet's second header.
const DESCRIPTION_BYTES: u32 = 16 + 27;

/// Octets before the pixels of a line.
pub(super) const LINE_HEAD_BYTES: u32 = PACKET_BYTES + DESCRIPTION_BYTES;

/// What a file says of one line of one channel, after section 7.3 of EUMETSAT's format description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line's number in its grid, from 1 in the south.
    pub number: u32,
    /// When it was seen, on average; `None` where the file does not say.
    pub acquired: Option<Moment>,
    /// What it is based on: 0 not derived, 1 nominal, 2 missing data, 3 corrupted data, 4 replaced or interpolated data.
    pub validity: u8,
    /// How good its radiances are: 0 not derived, 1 nominal, 2 usable, 3 suspect, 4 not to be used.
    pub radiometric_quality: u8,
    /// How good its places are, by the same numbers.
    pub geometric_quality: u8,
}

impl Line {
    /// Takes the head of a line apart, which is to be one of `channel`, with so many octets of pixels.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the packet has another length or channel.
    pub(super) fn read(record: &Record<'_>, channel: Channel, octets: u32) -> Result<Line, Error> {
        let (found, wanted) = (pixel_octets(record)?, octets);
        if found != wanted {
            let what = format!("wanted {wanted} octets of {}'s pixels, found {found}", channel.name());
            return Err(record.corrupt(18, &what));
        }
        let number = record.u8(55)?;
        if number != channel.number() {
            let what = format!("wanted a line of channel {}, found one of {number}", channel.number());
            return Err(record.corrupt(55, &what));
        }
        Ok(Line {
            number: record.u32(51)?,
            acquired: Moment::read(record, 56)?,
            validity: record.u8(62)?,
            radiometric_quality: record.u8(63)?,
            geometric_quality: record.u8(64)?,
        })
    }
}

/// How many octets of pixels a packet says that it has.
///
/// # Errors
///
/// `Corrupt` where it is too short for a line, or longer than any.
pub(super) fn pixel_octets(record: &Record<'_>) -> Result<u32, Error> {
    /// Octets of the longest line: the broad channel's, if it were of the whole width.
    const OCTETS_MAX: u32 = 11_136 / 4 * 5;
    // As in all such packets, the length that is stored is one less.
    let stored = record.u32(18)?;
    let octets = stored.checked_add(1).and_then(|len| len.checked_sub(DESCRIPTION_BYTES));
    octets
        .filter(|octets| (1..=OCTETS_MAX).contains(octets))
        .ok_or_else(|| record.corrupt(18, &format!("wanted the length of a line's packet, found {stored}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Vec<u8> {
        let mut head = vec![0; 65];
        head[18..22].copy_from_slice(&(16u32 + 27 + 25 - 1).to_be_bytes());
        head[51..55].copy_from_slice(&77u32.to_be_bytes());
        (head[55], head[57], head[61]) = (9, 1, 250);
        head[62..].copy_from_slice(&[1, 2, 3]);
        head
    }

    #[test]
    fn heads_of_lines_are_read() {
        let head = head();
        let line = Line::read(&Record::new(&head, 0, "line"), Channel::Ir108, 25).unwrap();
        assert_eq!(line.number, 77);
        assert_eq!((line.validity, line.radiometric_quality, line.geometric_quality), (1, 2, 3));
        assert_eq!(line.acquired.map(|moment| moment.milliseconds), Some(-4382 * 86_400_000 + 250));
    }

    #[test]
    fn what_is_no_such_line_is_refused() {
        let read =
            |head: &[u8], channel, octets| Line::read(&Record::new(head, 500, "line"), channel, octets);
        let error = read(&head(), Channel::Ir108, 20).unwrap_err();
        assert_eq!(error.message(), "line at byte 518: wanted 20 octets of IR_108's pixels, found 25");
        let error = read(&head(), Channel::Ir120, 25).unwrap_err();
        assert_eq!(error.message(), "line at byte 555: wanted a line of channel 10, found one of 9");
        let error = read(&[0; 65], Channel::Ir120, 25).unwrap_err();
        assert!(error.message().ends_with("wanted the length of a line's packet, found 0"), "{error}");
        assert!(read(&head()[..64], Channel::Ir108, 25).is_err());
    }
}
