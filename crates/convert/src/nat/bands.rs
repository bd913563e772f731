//! Which lines of a file are read and written together: whole objects, so that each is written once.

use super::conversion::Variable;
use super::layout::HRV_LINES;
use std::ops::Range;

/// Variables whose lines are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BandGroup {
    /// Lines of a band, of which the broad channel has three times as many rows: whole objects of each variable.
    pub(super) lines: u32,
    /// The variables, by their places.
    pub(super) variables: Vec<usize>,
}

/// Puts variables together whose objects fit into the same bands, given the rows of an object of each. Files have so many lines.
pub(super) fn groups(variables: &[(&Variable, u64)], lines: u32) -> Vec<BandGroup> {
    let mut wanted: Vec<(u32, usize)> = variables
        .iter()
        .enumerate()
        .map(|(place, (variable, rows))| (lines_of(variable, *rows, lines), place))
        .collect();
    wanted.sort_by_key(|(lines, place)| (u32::MAX - lines, *place));
    let mut groups: Vec<BandGroup> = Vec::new();
    for (own, place) in wanted {
        // A band that is all of a file holds whatever objects there are.
        match groups.iter_mut().find(|group| group.lines % own == 0 || group.lines == lines) {
            Some(group) => group.variables.push(place),
            None => groups.push(BandGroup { lines: own, variables: vec![place] }),
        }
    }
    for group in &mut groups {
        group.variables.sort_unstable();
    }
    groups
}

/// The least lines that hold whole objects of so many rows; all there are where these are less.
fn lines_of(variable: &Variable, rows: u64, lines: u32) -> u32 {
    let thirds = u64::from(HRV_LINES);
    let wanted = if variable.is_hrv() && rows.is_multiple_of(thirds) { rows / thirds } else { rows };
    u32::try_from(wanted).unwrap_or(u32::MAX).clamp(1, lines.max(1))
}

impl BandGroup {
    /// Its bands of a file, from the north. Each is of lines from 0 in the south.
    pub(super) fn bands(&self, lines: u32) -> impl Iterator<Item = Range<u32>> + use<> {
        let of_band = self.lines;
        (0..lines.div_ceil(of_band)).map(move |band| {
            let end = lines - band * of_band;
            end.saturating_sub(of_band)..end
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat::Channel;

    fn variable(channel: Channel) -> Variable {
        Variable { name: channel.name().to_owned(), suffix: "", channels: vec![channel] }
    }

    fn grouped(rows: &[u64], hrv_rows: u64, lines: u32) -> Vec<(u32, Vec<usize>)> {
        let (one, broad) = (variable(Channel::Ir108), variable(Channel::Hrv));
        let variables: Vec<(&Variable, u64)> =
            rows.iter().map(|rows| (&one, *rows)).chain([(&broad, hrv_rows)]).collect();
        groups(&variables, lines).into_iter().map(|group| (group.lines, group.variables)).collect()
    }

    #[test]
    fn variables_share_bands_that_hold_whole_objects() {
        assert_eq!(grouped(&[232], 232, 3712), [(232, vec![0, 1])]);
        assert_eq!(grouped(&[232, 232], 696, 3712), [(232, vec![0, 1, 2])]);
        assert_eq!(grouped(&[464], 232, 3712), [(464, vec![0, 1])]);
        assert_eq!(grouped(&[200], 232, 3712), [(232, vec![1]), (200, vec![0])]);
        assert_eq!(grouped(&[3800], 100, 3712), [(3712, vec![0, 1])]);
        assert_eq!(grouped(&[100], 232, 100), [(100, vec![0, 1])]);
        assert_eq!(grouped(&[8], 24, 8), [(8, vec![0, 1])]);
    }

    #[test]
    fn bands_begin_in_the_north_and_cover_all_lines() {
        let group = BandGroup { lines: 4, variables: vec![0] };
        assert_eq!(group.bands(10).collect::<Vec<_>>(), [6..10, 2..6, 0..2]);
        assert_eq!(group.bands(5).collect::<Vec<_>>(), [1..5, 0..1]);
        assert_eq!(group.bands(0).count(), 0);
    }
}
