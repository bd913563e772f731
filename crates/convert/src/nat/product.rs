//! The product headers: lines of text before the data header, which say what was selected of an image.

use super::channel::Channel;
use super::record::Record;
use crate::Error;

/// How a file with product headers begins.
const MARK: &[u8] = b"FormatName";

/// Octets of an entry: 30 of its name, 50 of its value.
const ENTRY_BYTES: usize = 80;
const NAME_BYTES: usize = 30;

/// Octets of the main product header.
const MAIN_BYTES: usize = 3674;

/// Octets of both product headers. Files as they are disseminated have none of them: they hold whole images.
pub(super) const PRODUCT_BYTES: usize = MAIN_BYTES + 18 * ENTRY_BYTES;

/// Lines and columns of a whole image, of all channels but the broad one.
pub(super) const LINES_MAX: u32 = 3712;

/// What a file has of an image. Lines are counted from the south, columns from the east, both from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    /// In the order in which a line's packets lie.
    pub(super) channels: Vec<Channel>,
    pub(super) south: u32,
    pub(super) east: u32,
    pub(super) lines: u32,
    /// A multiple of four: the archive adds columns in the west.
    pub(super) columns: u32,
}

impl Selected {
    /// What a file without product headers has.
    fn whole() -> Selected {
        let channels = Channel::ALL.to_vec();
        Selected { channels, south: 1, east: 1, lines: LINES_MAX, columns: LINES_MAX }
    }

    /// Whether lines reach from the image's east to its west.
    pub(super) fn is_whole_width(&self) -> bool {
        self.east == 1 && self.columns == LINES_MAX
    }

    /// Takes the product headers apart, where `start`, the file's first bytes, are some.
    ///
    /// # Errors
    ///
    /// `Corrupt` where a number is none, or lies outside an image.
    pub(super) fn read(start: &[u8]) -> Result<(Selected, usize), Error> {
        if !start.starts_with(MARK) {
            return Ok((Selected::whole(), 0));
        }
        let entries = Entries(Record::new(start, 0, "product header"));
        let (south, north) = (entries.number(10, 1, LINES_MAX)?, entries.number(11, 1, LINES_MAX)?);
        let (east, west) = (entries.number(12, 1, LINES_MAX)?, entries.number(13, 1, LINES_MAX)?);
        // As other readers do: the number of lines says how many there are, not the rectangle.
        let lines = entries.number(14, 1, LINES_MAX)?;
        let (width, at) = ((west + 1).checked_sub(east).filter(|width| *width != 0), Entries::place(13));
        let Some(width) = width else {
            let what =
                format!("the selected rectangle ends in the west at column {west}, and begins at {east}");
            return Err(entries.0.corrupt(at, &what));
        };
        if LINES_MAX < south - 1 + lines {
            let what = format!("{lines} lines from line {south} on (to {north}), of {LINES_MAX}");
            return Err(entries.0.corrupt(Entries::place(14), &what));
        }
        let channels = entries.channels()?;
        let columns = width.next_multiple_of(4);
        Ok((Selected { channels, south, east, lines, columns }, PRODUCT_BYTES))
    }
}

/// The secondary product header's entries, by their numbers.
struct Entries<'a>(Record<'a>);

impl Entries<'_> {
    /// Where the value of an entry begins.
    fn place(entry: usize) -> usize {
        MAIN_BYTES + entry * ENTRY_BYTES + NAME_BYTES
    }

    fn text(&self, entry: usize) -> Result<String, Error> {
        let octets = self.0.octets(Entries::place(entry), ENTRY_BYTES - NAME_BYTES)?;
        let text = String::from_utf8_lossy(octets);
        Ok(text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0').to_owned())
    }

    fn number(&self, entry: usize, least: u32, most: u32) -> Result<u32, Error> {
        let text = self.text(entry)?;
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            let what = format!("wanted a number from {least} to {most}, found {text:?}");
            self.0.corrupt(Entries::place(entry), &what)
        })
    }

    /// The channels that are marked by an `X`.
    fn channels(&self) -> Result<Vec<Channel>, Error> {
        let text = self.text(9)?;
        let marked = Channel::ALL.into_iter().zip(text.bytes()).filter(|(_, mark)| *mark == b'X');
        let channels: Vec<Channel> = marked.map(|(channel, _)| channel).collect();
        if channels.is_empty() {
            let what = format!("wanted an X for each selected channel, found {text:?}");
            return Err(self.0.corrupt(Entries::place(9), &what));
        }
        Ok(channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Product headers with these values of the entries from the selected channels on.
    fn header(values: [&str; 6]) -> Vec<u8> {
        let mut bytes = vec![b' '; PRODUCT_BYTES];
        bytes[..MARK.len()].copy_from_slice(MARK);
        for (entry, value) in (9..).zip(values) {
            let place = Entries::place(entry);
            bytes[place..place + value.len()].copy_from_slice(value.as_bytes());
        }
        bytes
    }

    #[test]
    fn what_was_selected_is_read() {
        let values = ["X-------X--X\n", "1001", "1008\n", "11", "28\0\0", "8"];
        let (selected, bytes) = Selected::read(&header(values)).unwrap();
        assert_eq!(bytes, 5114);
        assert_eq!(selected.channels, [Channel::Vis006, Channel::Ir108, Channel::Hrv]);
        assert_eq!((selected.south, selected.east), (1001, 11));
        assert_eq!((selected.lines, selected.columns), (8, 20));
        assert!(!selected.is_whole_width());
        let (whole, bytes) = Selected::read(b"\x01\x02").unwrap();
        assert_eq!((whole.channels.len(), whole.is_whole_width(), bytes), (12, true, 0));
    }

    #[test]
    fn what_lies_outside_an_image_is_refused() {
        let sound = ["XX-", "3705", "3712", "1", "4", "8"];
        assert!(Selected::read(&header(sound)).is_ok());
        let wrong = [(0, "---"), (1, "0"), (1, "3706"), (3, "5"), (4, "4000"), (5, "many"), (5, "9")];
        for (entry, value) in wrong {
            let mut values = sound;
            values[entry] = value;
            let error = Selected::read(&header(values)).unwrap_err();
            assert!(error.message().starts_with("product header at byte 4"), "{error}");
        }
        assert!(Selected::read(MARK).is_err());
    }
}
