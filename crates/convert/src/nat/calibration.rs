//! Counts to radiances, reflectances and temperatures.

use super::channel::Channel;
use super::moment::Moment;
use super::record::Record;
use super::satellites::{RADIATION, Satellite, fit};
use crate::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// How many counts there are: numbers of ten bits.
pub const COUNTS: usize = 1024;

/// What pixels are told in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// As they are stored: 0 where nothing was seen, otherwise up to 1023.
    #[default]
    Counts,
    /// mW m-2 sr-1 (cm-1)-1.
    Radiance,
    /// Solar channels as reflectances of a horizontal white surface below an overhead sun, in percent; others as brightness
    /// temperatures, in K.
    ReflectanceOrTemperature,
}

impl Quantity {
    /// Bytes of a pixel: counts are 16-bit integers, others 32-bit floats.
    #[must_use]
    pub fn element_bytes(self) -> usize {
        if self == Quantity::Counts { 2 } else { 4 }
    }
}

/// Which of a header's coefficients make radiances of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoefficientSet {
    /// Those of the on-board calibration.
    #[default]
    Nominal,
    /// Those of the Global Space-based Inter-Calibration System, of each channel that has them: the infrared ones, as a rule. Of
    /// others the nominal ones.
    Gsics,
}

impl CoefficientSet {
    /// Whether it is the one that nobody asks for.
    pub(super) fn is_nominal(&self) -> bool {
        *self == CoefficientSet::Nominal
    }
}

/// What makes radiances of a channel's counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// mW m-2 sr-1 (cm-1)-1 for each count.
    pub slope: f64,
    /// The radiance of count 0.
    pub offset: f64,
    /// The slope that the Global Space-based Inter-Calibration System found, where the file has one.
    pub gsics_slope: Option<f64>,
    /// The radiance of count 0 by that.
    pub gsics_offset: Option<f64>,
    /// Which radiances these are: 1 spectral ones (until May 2008), 2 effective ones, 0 none.
    pub radiance_type: u8,
}

impl Coefficients {
    /// The slope and the offset of a set.
    #[must_use]
    pub fn of(&self, set: CoefficientSet) -> (f64, f64) {
        match (set, self.gsics_slope, self.gsics_offset) {
            (CoefficientSet::Gsics, Some(slope), Some(offset)) => (slope, offset),
            _ => (self.slope, self.offset),
        }
    }

    /// The coefficients of a channel. `processing` is the radiometric processing from its 73rd octet on, where the slopes are;
    /// `production` the list of how channels were processed.
    pub(super) fn read(
        channel: Channel,
        processing: &Record<'_>,
        production: &Record<'_>,
    ) -> Result<Coefficients, Error> {
        /// Octets from the slopes to the feedback.
        const FEEDBACK: usize = 1159;
        let (place, feedback) = (channel.index() * 16, FEEDBACK + channel.index() * 32);
        let (slope, offset) = (processing.f64(place)?, processing.f64(place + 8)?);
        if !slope.is_finite() || !offset.is_finite() {
            let what = format!("{}: a slope of {slope} and an offset of {offset}", channel.name());
            return Err(processing.corrupt(place, &what));
        }
        let gsics_slope = f64::from(processing.f32(feedback + 20)?);
        let gsics_count = f64::from(processing.f32(feedback + 28)?);
        // Both are zero where there are none.
        let is_there = [gsics_slope, gsics_count].iter().all(|number| number.is_finite() && *number != 0.0);
        Ok(Coefficients {
            slope,
            offset,
            gsics_slope: is_there.then_some(gsics_slope),
            gsics_offset: is_there.then_some(gsics_slope * gsics_count),
            radiance_type: production.u8(channel.index())?,
        })
    }
}

/// What counts of one channel of one image are calibrated with.
#[derive(Clone, Copy)]
pub(super) struct Calibration {
    pub(super) satellite: &'static Satellite,
    pub(super) channel: Channel,
    pub(super) coefficients: Coefficients,
    pub(super) set: CoefficientSet,
    /// When the scan began: the distance of the sun is that of the moment.
    pub(super) moment: Moment,
}

impl Calibration {
    /// What each count is. NaN for 0, which stands for no data, and for temperatures of what does not radiate; radiances below
    /// zero are zero.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the file says of which kind its radiances are not; `Invalid` for counts, which need no table.
    pub(super) fn table(&self, quantity: Quantity) -> Result<[f32; COUNTS], Error> {
        let mut table = [f32::NAN; COUNTS];
        let convert = self.conversion(quantity)?;
        let (slope, offset) = self.coefficients.of(self.set);
        for (count, value) in (0u16..).zip(&mut table).skip(1) {
            let radiance = f64::from(count) * slope + offset;
            *value = nearest(convert(radiance.max(0.0)));
        }
        Ok(table)
    }

    fn conversion(&self, quantity: Quantity) -> Result<Box<dyn Fn(f64) -> f64>, Error> {
        match quantity {
            Quantity::Counts => Err(Error::new(ErrorKind::Invalid, "counts are not calibrated")),
            Quantity::Radiance => Ok(Box::new(|radiance| radiance)),
            Quantity::ReflectanceOrTemperature => self.physical(),
        }
    }

    fn physical(&self) -> Result<Box<dyn Fn(f64) -> f64>, Error> {
        if let Some(irradiance) = self.satellite.irradiance(self.channel) {
            let factor = 100.0 * PI / irradiance * sun_distance(self.moment).powi(2);
            return Ok(Box::new(move |radiance| radiance * factor));
        }
        let lacks = || Error::new(ErrorKind::Internal, "an infrared channel without a band");
        let band = self.satellite.band(self.channel).ok_or_else(lacks)?;
        let [first, second] = RADIATION;
        // The temperature of a black body with this radiance at the central wavenumber.
        let planck = move |radiance: f64| {
            second * band.wavenumber / (first * band.wavenumber.powi(3) / radiance).ln_1p()
        };
        let is_dark = |radiance: f64| radiance <= 0.0;
        match self.coefficients.radiance_type {
            1 => {
                let [square, slope, constant] = fit(self.channel).ok_or_else(lacks)?;
                Ok(Box::new(move |radiance| {
                    let temperature = planck(radiance);
                    let fitted = square * temperature * temperature + slope * temperature + constant;
                    if is_dark(radiance) { f64::NAN } else { fitted }
                }))
            }
            2 => Ok(Box::new(move |radiance| {
                if is_dark(radiance) { f64::NAN } else { (planck(radiance) - band.beta) / band.alpha }
            })),
            other => {
                let name = self.channel.name();
                Err(Error::unsupported(format!("{name}: radiances of type {other}, wanted 1 or 2")))
            }
        }
    }
}

/// The distance of the sun in astronomical units: a circle whose middle is off, which is right to a thousandth.
fn sun_distance(moment: Moment) -> f64 {
    /// Days from noon of the first of January to the perihelion, and of a year.
    const PERIHELION_DAYS: f64 = 3.0;
    const YEAR_DAYS: f64 = 365.256_36;
    1.0 - 0.0167 * (2.0 * PI * (moment.days_since_2000() - PERIHELION_DAYS) / YEAR_DAYS).cos()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the type of the values is what is asked for"
)]
fn nearest(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(channel: Channel, radiance_type: u8) -> Calibration {
        let coefficients =
            Coefficients { slope: 0.2, offset: -10.2, gsics_slope: None, gsics_offset: None, radiance_type };
        let moment = Moment { milliseconds: 1_610_582_400_000 };
        let set = CoefficientSet::Nominal;
        Calibration { satellite: Satellite::of(324).unwrap(), channel, coefficients, set, moment }
    }

    #[test]
    fn radiances_are_a_line_that_ends_at_zero() {
        let table = calibration(Channel::Ir108, 2).table(Quantity::Radiance).unwrap();
        assert!(table[0].is_nan());
        assert_eq!((table[1], table[50], table[51]), (0.0, 0.0, nearest(51.0f64 * 0.2 - 10.2)));
        assert_eq!(table[1023], nearest(1023.0f64 * 0.2 - 10.2));
        assert!(calibration(Channel::Ir108, 2).table(Quantity::Counts).is_err());
    }

    #[test]
    fn coefficients_of_gsics_are_taken_where_they_are() {
        let mut calibration = calibration(Channel::Ir108, 2);
        let nominal = calibration.table(Quantity::Radiance).unwrap();
        calibration.set = CoefficientSet::Gsics;
        let bits = |table: [f32; COUNTS]| table.map(f32::to_bits);
        assert_eq!(bits(calibration.table(Quantity::Radiance).unwrap()), bits(nominal));
        calibration.coefficients.gsics_slope = Some(0.25);
        calibration.coefficients.gsics_offset = Some(-12.5);
        let table = calibration.table(Quantity::Radiance).unwrap();
        // No less than zero: 50 counts are no radiance.
        assert_eq!([table[1], table[50], table[51], table[1023]], [0.0, 0.0, 0.25, 243.25]);
        calibration.set = CoefficientSet::Nominal;
        assert_eq!(bits(calibration.table(Quantity::Radiance).unwrap()), bits(nominal));
    }

    #[test]
    fn temperatures_are_those_of_black_bodies() {
        let table = calibration(Channel::Ir108, 2).table(Quantity::ReflectanceOrTemperature).unwrap();
        assert!(table[0].is_nan() && table[50].is_nan());
        let body = |kelvin: f64| {
            let effective = 0.9983 * kelvin + 0.6256;
            RADIATION[0] * 931.122f64.powi(3) / (RADIATION[1] * 931.122 / effective).exp_m1()
        };
        let radiances = calibration(Channel::Ir108, 2).table(Quantity::Radiance).unwrap();
        let count = radiances.iter().position(|radiance| body(290.0) <= f64::from(*radiance)).unwrap();
        let found = table[count];
        assert!((found - 290.0).abs() < 0.2, "{found}");
        let spectral = calibration(Channel::Ir108, 1).table(Quantity::ReflectanceOrTemperature).unwrap();
        assert!((spectral[count] - found).abs() < 0.5, "{}", spectral[count]);
        let error = calibration(Channel::Ir108, 0).table(Quantity::ReflectanceOrTemperature).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn the_sun_is_nearest_in_january() {
        let distance = |day: i64| sun_distance(Moment { milliseconds: (10_957 + day) * 86_400_000 });
        assert!((distance(3) - 0.9833).abs() < 1e-4 && (distance(185) - 1.0167).abs() < 1e-4);
    }

    #[test]
    fn reflectances_take_no_kind_of_radiance() {
        let table = calibration(Channel::Vis006, 0).table(Quantity::ReflectanceOrTemperature).unwrap();
        let distance = sun_distance(Moment { milliseconds: 1_610_582_400_000 });
        let wanted = PI * 100.0 * (151.0 * 0.2 - 10.2) / 65.2656 * distance * distance;
        assert!((f64::from(table[151]) - wanted).abs() < 1e-4);
    }
}
