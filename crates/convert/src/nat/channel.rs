//! The twelve channels of SEVIRI.

use serde::{Deserialize, Serialize};

/// A channel, in the order of the format's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Channel {
    /// 0.6 micrometres.
    Vis006,
    /// 0.8 micrometres.
    Vis008,
    /// 1.6 micrometres.
    Ir016,
    /// 3.9 micrometres.
    Ir039,
    /// 6.2 micrometres.
    Wv062,
    /// 7.3 micrometres.
    Wv073,
    /// 8.7 micrometres.
    Ir087,
    /// 9.7 micrometres.
    Ir097,
    /// 10.8 micrometres.
    Ir108,
    /// 12.0 micrometres.
    Ir120,
    /// 13.4 micrometres.
    Ir134,
    /// The broad visible one, of three times the resolution.
    Hrv,
}

impl From<Channel> for &'static str {
    fn from(channel: Channel) -> &'static str {
        channel.name()
    }
}

impl TryFrom<String> for Channel {
    type Error = String;

    fn try_from(name: String) -> Result<Channel, String> {
        Channel::of_name(&name).ok_or_else(|| format!("wanted a channel of SEVIRI, found {name:?}"))
    }
}

impl Channel {
    /// All channels, in order.
    pub const ALL: [Channel; 12] = [
        Channel::Vis006,
        Channel::Vis008,
        Channel::Ir016,
        Channel::Ir039,
        Channel::Wv062,
        Channel::Wv073,
        Channel::Ir087,
        Channel::Ir097,
        Channel::Ir108,
        Channel::Ir120,
        Channel::Ir134,
        Channel::Hrv,
    ];

    /// Its place among [`ALL`](Self::ALL).
    #[must_use]
    pub fn index(self) -> usize {
        Channel::ALL.iter().position(|channel| *channel == self).unwrap_or(0)
    }

    /// Its number in files: 1 to 12.
    pub(super) fn number(self) -> u8 {
        u8::try_from(self.index() + 1).unwrap_or(u8::MAX)
    }

    /// Its usual name, such as `IR_108`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Channel::Vis006 => "VIS006",
            Channel::Vis008 => "VIS008",
            Channel::Ir016 => "IR_016",
            Channel::Ir039 => "IR_039",
            Channel::Wv062 => "WV_062",
            Channel::Wv073 => "WV_073",
            Channel::Ir087 => "IR_087",
            Channel::Ir097 => "IR_097",
            Channel::Ir108 => "IR_108",
            Channel::Ir120 => "IR_120",
            Channel::Ir134 => "IR_134",
            Channel::Hrv => "HRV",
        }
    }

    /// The channel of a name, in whatever case, with or without its underscore.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Channel> {
        let plain = |name: &str| name.replace('_', "").to_ascii_uppercase();
        Channel::ALL.into_iter().find(|channel| plain(channel.name()) == plain(name))
    }

    /// The nominal centre of its band, in micrometres.
    #[must_use]
    pub fn wavelength_micrometres(self) -> f64 {
        const CENTRES: [f64; 12] =
            [0.635, 0.81, 1.64, 3.92, 6.25, 7.35, 8.70, 9.66, 10.80, 12.00, 13.40, 0.75];
        CENTRES.get(self.index()).copied().unwrap_or(f64::NAN)
    }

    /// Whether it sees light of the sun: it is calibrated to reflectances, others to temperatures.
    #[must_use]
    pub fn is_solar(self) -> bool {
        matches!(self, Channel::Vis006 | Channel::Vis008 | Channel::Ir016 | Channel::Hrv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_channels() {
        for channel in Channel::ALL {
            assert_eq!(Channel::of_name(channel.name()), Some(channel));
            assert_eq!(usize::from(channel.number()), channel.index() + 1);
        }
        assert_eq!(Channel::of_name("ir108"), Some(Channel::Ir108));
        assert_eq!(Channel::of_name("IR_109"), None);
    }
}
