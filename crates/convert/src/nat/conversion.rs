//! What a Zarr group of some files will hold, worked out from their headers.

use super::calibration::{CoefficientSet, Quantity};
use super::channel::Channel;
use super::conversion_plan::View;
use super::geometry::Grid;
use super::header::Header;
use super::moment::Moment;
use super::pixel_layout::{Cut, PixelLayout};
use crate::{Error, ErrorKind};

/// Files of one satellite's view, to be written along time.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// In which quantity pixels are written.
    pub quantity: Quantity,
    /// By which coefficients.
    pub coefficients: CoefficientSet,
    /// The headers, by time, each with its number among the files that were given.
    pub files: Vec<(usize, Header)>,
    /// What is written: one variable of all channels that share a grid and a unit.
    pub variables: Vec<Variable>,
    /// Images that the store has before these.
    pub first_new_file: usize,
    /// How pixels are stored.
    pub layout: PixelLayout,
    /// What all images have in common.
    pub view: View,
}

/// What is to be written of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionOptions {
    /// In which quantity pixels are written.
    pub quantity: Quantity,
    /// By which of the header's coefficients; counts need none.
    pub coefficients: CoefficientSet,
    /// The channels that are wanted; all that there are where it is empty.
    pub channels: Vec<Channel>,
    /// How pixels are stored.
    pub layout: PixelLayout,
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
    /// Puts files together by their nominal times. A file that lacks a channel leaves a gap.
    ///
    /// # Errors
    ///
    /// `Unsupported` where files have different projections or parts of the disc, two are of one time, or one says no time;
    /// `Invalid` where no file has a channel that is wanted, for chunks and shards that make no sense, and for
    /// coefficients of what is not calibrated.
    pub fn new(headers: Vec<Header>, options: &ConversionOptions) -> Result<Conversion, Error> {
        let ConversionOptions { channels, .. } = options;
        let timed = by_time(headers)?;
        let sorted = || timed.iter().map(|(_, _, header)| header);
        let view = View::of(sorted()).ok_or_else(|| Error::unsupported("no files: nothing to write"))?;
        let there = |channel: &Channel| sorted().any(|header| header.channels().contains(channel));
        if let Some(lacking) = channels.iter().find(|channel| !there(channel)) {
            let what = format!("no file has the channel {}", lacking.name());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let is_wanted = |channel: &Channel| channels.is_empty() || channels.contains(channel);
        let chosen: Vec<Channel> =
            Channel::ALL.into_iter().filter(|channel| there(channel) && is_wanted(channel)).collect();
        Conversion::assembled(timed, view, ConversionOptions { channels: chosen, ..options.clone() }, 0)
    }

    /// Files by time as a conversion of those channels, where they are of one view, behind so many others.
    pub(super) fn assembled(
        files: Vec<Timed>,
        view: View,
        ConversionOptions { quantity, coefficients, channels, layout }: ConversionOptions,
        first_new_file: usize,
    ) -> Result<Conversion, Error> {
        if quantity == Quantity::Counts && !coefficients.is_nominal() {
            let what = "coefficients of GSICS, and counts, which are not calibrated: wanted radiances, or reflectances and temperatures";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let others = if first_new_file == 0 { "the first one" } else { "those of the store" };
        for (time, number, header) in &files {
            if let Some(what) = view.difference(header) {
                let time = told(*time);
                return Err(Error::unsupported(format!(
                    "not one view: file {number}, of {time}, has {what} than {others}"
                )));
            }
        }
        for pair in files.windows(2) {
            if let [(time, one, _), (next, other, _)] = pair
                && time == next
            {
                let what = format!("two files of one time, {}: {one} and {other}", told(*time));
                return Err(Error::unsupported(what));
            }
        }
        let is_unplaced = |(_, _, header): &&Timed| {
            header.channels().contains(&Channel::Hrv) && header.windows().is_empty()
        };
        if let (Some((_, number, _)), true) =
            (files.iter().find(is_unplaced), channels.contains(&Channel::Hrv))
        {
            let what = format!("file {number} does not say which columns of the disc lines of HRV are of");
            return Err(Error::unsupported(what));
        }
        let variables = variables(quantity, &channels);
        layout.check_codecs(quantity)?;
        layout.check_names(variables.iter().flat_map(Variable::dimensions).collect())?;
        for variable in &variables {
            layout.cut(&variable.dimensions(), &view.shape(variable, 1))?;
        }
        let files = files.into_iter().map(|(_, number, header)| (number, header)).collect();
        Ok(Conversion { quantity, coefficients, files, variables, first_new_file, layout, view })
    }

    /// What a variable's array is cut into.
    pub(super) fn cut(&self, variable: &Variable) -> Result<Cut, Error> {
        self.layout.cut(&variable.dimensions(), &self.view.shape(variable, 1))
    }

    /// The rows and columns of a variable.
    #[must_use]
    pub fn grid(&self, variable: &Variable) -> Option<&Grid> {
        self.view.grid(*variable.channels.first()?)
    }
}

/// A file: its nominal time, its number among those that were given, its header.
pub(super) type Timed = (Moment, usize, Header);

/// Files by their nominal times.
///
/// # Errors
///
/// `Unsupported` where one says no time.
pub(super) fn by_time(headers: Vec<Header>) -> Result<Vec<Timed>, Error> {
    let mut files = Vec::with_capacity(headers.len());
    for (number, header) in headers.into_iter().enumerate() {
        let time = header
            .nominal_start()
            .ok_or_else(|| Error::unsupported(format!("file {number} does not say of which time it is")))?;
        files.push((time, number, header));
    }
    files.sort_by_key(|(time, number, _)| (*time, *number));
    Ok(files)
}

/// A moment as users write it.
pub(super) fn told(moment: Moment) -> String {
    format!("{} seconds since 1970", moment.seconds())
}

/// Channels that share a grid and a unit, as variables.
pub(super) fn variables(quantity: Quantity, channels: &[Channel]) -> Vec<Variable> {
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
