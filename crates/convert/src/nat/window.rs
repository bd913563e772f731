//! What the broad channel sees: half the width of the disc, in a window that moves with the sun.

use super::record::Record;
use crate::Error;

/// Lines and columns of a grid, both from 1, from the south and from the east; the last ones belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The first line.
    pub south: u32,
    /// The last line.
    pub north: u32,
    /// The first column.
    pub east: u32,
    /// The last column.
    pub west: u32,
}

/// Lines and columns of the broad channel's whole image.
pub(super) const HRV_LINES_MAX: u32 = 11_136;

impl Window {
    /// The lower and the upper window, those of them that are windows: an unused one has zeros.
    pub(super) fn read_pair(record: &Record<'_>, at: usize) -> Result<Vec<Window>, Error> {
        let [lower, upper] = [Window::read(record, at)?, Window::read(record, at + 16)?];
        Ok([lower, upper].into_iter().flatten().collect())
    }

    /// Four numbers: south, north, east, west.
    fn read(record: &Record<'_>, at: usize) -> Result<Option<Window>, Error> {
        let number = |place: usize| {
            let number = record.i32(at + place * 4)?;
            Ok::<u32, Error>(u32::try_from(number).unwrap_or(0))
        };
        let window = Window { south: number(0)?, north: number(1)?, east: number(2)?, west: number(3)? };
        let is_range = |first: u32, last: u32| 1 <= first && first <= last && last <= HRV_LINES_MAX;
        let is_window = is_range(window.south, window.north) && is_range(window.east, window.west);
        Ok(is_window.then_some(window))
    }

    /// Columns.
    #[must_use]
    pub fn width(&self) -> u32 {
        (self.west + 1).saturating_sub(self.east)
    }

    /// Whether a line is one of its.
    #[must_use]
    pub fn has_line(&self, line: u32) -> bool {
        (self.south..=self.north).contains(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_windows_are_none() {
        let octets: Vec<u8> =
            [1i32, 8064, 2077, 7644, 0, 0, 0, 0].iter().flat_map(|number| number.to_be_bytes()).collect();
        let windows = Window::read_pair(&Record::new(&octets, 0, "test"), 0).unwrap();
        assert_eq!(windows, [Window { south: 1, north: 8064, east: 2077, west: 7644 }]);
        assert_eq!(windows[0].width(), 5568);
        assert!(windows[0].has_line(8064) && !windows[0].has_line(8065));
        let negative: Vec<u8> = [-1i32; 8].iter().flat_map(|number| number.to_be_bytes()).collect();
        assert_eq!(Window::read_pair(&Record::new(&negative, 0, "test"), 0).unwrap(), []);
    }
}
