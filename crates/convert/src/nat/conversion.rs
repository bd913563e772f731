//! What a Zarr group of some files will hold, worked out from their headers.

use super::calibration::Quantity;
use super::channel::Channel;
use super::geometry::Grid;
use super::header::Header;
use super::moment::Moment;
use crate::{Error, ErrorKind};

/// Files of one satellite's view, to be written along time.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// In which quantity pixels are written.
    pub quantity: Quantity,
    /// The headers, by time, each with its number among the files that were given.
    pub files: Vec<(usize, Header)>,
    /// What is written: one variable of all channels that share a grid and a unit.
    pub variables: Vec<Variable>,
}

/// A variable over time, its channels, rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What the names of its own channels and lines end with.
    pub suffix: &'static str,
    /// Its channels; one that has a dimension of its own otherwise.
    pub channels: Vec<Channel>,
}

impl Variable {
    /// Whether it is the broad channel, which has other rows and columns and no dimension of channels.
    #[must_use]
    pub fn is_hrv(&self) -> bool {
        self.channels.contains(&Channel::Hrv)
    }

    /// The names of its dimensions.
    #[must_use]
    pub fn dimensions(&self) -> Vec<String> {
        let names: &[&str] =
            if self.is_hrv() { &["time", "y_hrv", "x_hrv"] } else { &["time", "", "y", "x"] };
        let channel = format!("channel{}", self.suffix);
        names.iter().map(|name| if name.is_empty() { channel.clone() } else { (*name).to_owned() }).collect()
    }
}

impl Conversion {
    /// Puts files together by their nominal times. `channels` are those that are wanted; all that there are where it is empty.
    /// A file that lacks one of them leaves a gap.
    ///
    /// # Errors
    ///
    /// `Unsupported` where files have different projections or parts of the disc, two are of one time, or one says no time;
    /// `Invalid` where no file has a channel that is wanted.
    pub fn new(headers: Vec<Header>, quantity: Quantity, channels: &[Channel]) -> Result<Conversion, Error> {
        let mut files = Vec::with_capacity(headers.len());
        for (number, header) in headers.into_iter().enumerate() {
            let time = header.nominal_start().ok_or_else(|| {
                Error::unsupported(format!("file {number} does not say of which time it is"))
            })?;
            files.push((time, number, header));
        }
        files.sort_by_key(|(time, number, _)| (*time, *number));
        let first = files.first().ok_or_else(|| Error::unsupported("no files: nothing to write"))?;
        for (time, number, header) in &files {
            check_same(&first.2, header).map_err(|what| {
                Error::unsupported(format!(
                    "not one view: file {number}, of {}, has {what} than file {}",
                    told(*time),
                    first.1
                ))
            })?;
        }
        for pair in files.windows(2) {
            if let [(time, one, _), (next, other, _)] = pair
                && time == next
            {
                let what = format!("two files of one time, {}: {one} and {other}", told(*time));
                return Err(Error::unsupported(what));
            }
        }
        let there =
            |channel: &Channel| files.iter().any(|(_, _, header)| header.channels().contains(channel));
        if let Some(lacking) = channels.iter().find(|channel| !there(channel)) {
            let what = format!("no file has the channel {}", lacking.name());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let is_wanted = |channel: &Channel| channels.is_empty() || channels.contains(channel);
        let chosen: Vec<Channel> =
            Channel::ALL.into_iter().filter(|channel| there(channel) && is_wanted(channel)).collect();
        let is_unplaced = |(_, _, header): &&(Moment, usize, Header)| {
            header.channels().contains(&Channel::Hrv) && header.windows().is_empty()
        };
        if let (Some((_, number, _)), true) = (files.iter().find(is_unplaced), chosen.contains(&Channel::Hrv))
        {
            let what = format!("file {number} does not say which columns of the disc lines of HRV are of");
            return Err(Error::unsupported(what));
        }
        let variables = variables(quantity, &chosen);
        let files = files.into_iter().map(|(_, number, header)| (number, header)).collect();
        Ok(Conversion { quantity, files, variables })
    }

    /// The rows and columns of a variable.
    #[must_use]
    pub fn grid(&self, variable: &Variable) -> Option<&Grid> {
        let channel = *variable.channels.first()?;
        self.files
            .iter()
            .map(|(_, header)| header)
            .find(|header| header.channels().contains(&channel))
            .map(|header| header.grid(channel))
    }
}

/// A moment as users write it.
fn told(moment: Moment) -> String {
    format!("{} seconds since 1970", moment.seconds())
}

/// What is different, where something is that a group has once.
fn check_same(one: &Header, other: &Header) -> Result<(), &'static str> {
    if one.projection != other.projection {
        return Err("another projection");
    }
    let both = |channel: Channel| one.channels().contains(&channel) && other.channels().contains(&channel);
    if one.grid(Channel::Ir108) != other.grid(Channel::Ir108) {
        return Err("another part of the disc");
    }
    if both(Channel::Hrv) && one.grid(Channel::Hrv) != other.grid(Channel::Hrv) {
        return Err("another part of the disc in HRV");
    }
    Ok(())
}

fn variables(quantity: Quantity, channels: &[Channel]) -> Vec<Variable> {
    let wide = |is_one: &dyn Fn(Channel) -> bool| {
        channels.iter().copied().filter(|channel| *channel != Channel::Hrv && is_one(*channel)).collect()
    };
    let broad: Vec<Channel> = channels.iter().copied().filter(|channel| *channel == Channel::Hrv).collect();
    let variable = |name: &str, suffix, channels| Variable { name: name.to_owned(), suffix, channels };
    let all = match quantity {
        Quantity::Counts => {
            vec![variable("counts", "", wide(&|_| true)), variable("counts_hrv", "_hrv", broad)]
        }
        Quantity::Radiance => {
            vec![variable("radiance", "", wide(&|_| true)), variable("radiance_hrv", "_hrv", broad)]
        }
        Quantity::ReflectanceOrTemperature => vec![
            variable("reflectance", "_solar", wide(&Channel::is_solar)),
            variable("brightness_temperature", "_thermal", wide(&|channel| !channel.is_solar())),
            variable("reflectance_hrv", "_hrv", broad),
        ],
    };
    all.into_iter().filter(|variable| !variable.channels.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_grouped_by_grid_and_unit() {
        let told = |quantity| -> Vec<(String, usize, String)> {
            let variables = variables(quantity, &Channel::ALL);
            let one = |variable: &Variable| {
                (variable.name.clone(), variable.channels.len(), variable.dimensions().join(" "))
            };
            variables.iter().map(one).collect()
        };
        let owned = |name: &str, count, dimensions: &str| (name.to_owned(), count, dimensions.to_owned());
        assert_eq!(
            told(Quantity::Counts),
            [owned("counts", 11, "time channel y x"), owned("counts_hrv", 1, "time y_hrv x_hrv")]
        );
        assert_eq!(
            told(Quantity::ReflectanceOrTemperature),
            [
                owned("reflectance", 3, "time channel_solar y x"),
                owned("brightness_temperature", 8, "time channel_thermal y x"),
                owned("reflectance_hrv", 1, "time y_hrv x_hrv"),
            ]
        );
        assert_eq!(variables(Quantity::Counts, &[Channel::Hrv]).len(), 1);
    }
}
